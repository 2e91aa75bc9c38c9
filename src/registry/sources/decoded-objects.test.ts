import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import { DecodedObjects } from './decoded-objects.js';

const cached = (key: string, revision = 1): CachedObject =>
  ({ key, revision, bytes: new Uint8Array(40) }) as unknown as CachedObject;

let decoded = 0;
const decode = (): KubeObject => ({ metadata: { name: String(decoded++) } });

beforeEach(() => {
  decoded = 0;
});

test('decodes an object once, even if the cache returns a new object each time', () => {
  const objects = new DecodedObjects(100);
  const first = objects.get(cached('a'), decode);
  expect(objects.get(cached('a'), decode)).toBe(first);
  expect(objects.get(cached('a', 2), decode)).not.toBe(first);
  expect(decoded).toBe(2);
});

test('evicts the least recently used objects first', () => {
  const objects = new DecodedObjects(100);
  const first = objects.get(cached('a'), decode);
  objects.get(cached('b'), decode);
  objects.get(cached('a'), decode);
  objects.get(cached('c'), decode);
  expect(objects.get(cached('a'), decode)).toBe(first);
  expect(decoded).toBe(3);
  objects.get(cached('b'), decode);
  expect(decoded).toBe(4);
});
