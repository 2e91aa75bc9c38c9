import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import { DecodedObjects } from './decoded-objects.js';

const cached = (bytes: number): CachedObject => ({ bytes: new Uint8Array(bytes) }) as unknown as CachedObject;

test('decoded once, as long as there is room; the least recently used go first', () => {
  const objects = new DecodedObjects(100);
  let decoded = 0;
  const decode = (): KubeObject => ({ metadata: { name: String(decoded++) } });
  const [a, b, c] = [cached(40), cached(40), cached(40)];
  const first = objects.get(a, decode);
  objects.get(b, decode);
  expect(objects.get(a, decode)).toBe(first);
  expect(decoded).toBe(2);
  objects.get(c, decode);
  expect(objects.get(a, decode)).toBe(first);
  expect(decoded).toBe(3);
  objects.get(b, decode);
  expect(decoded).toBe(4);
});

test('an object that is too large is not kept', () => {
  const objects = new DecodedObjects(100);
  let decoded = 0;
  const decode = (): KubeObject => ({ metadata: { name: String(decoded++) } });
  const large = cached(101);
  objects.get(large, decode);
  objects.get(large, decode);
  expect(decoded).toBe(2);
});
