import { encodeObject } from '../../storage/encode.js';
import type { Backend, StoredObject, WriteRequest, WriteResult } from '../../storage/interfaces.js';
import { encodedBytes } from '../../storage/object-bytes.js';
import { LiveCopy } from './live-copy.js';

const TYPE = 'widgets.example.com';
const FIRST = 100;

const encoded = (name: string, n: number) =>
  encodeObject({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name, uid: name }, spec: { n } });

class FakeBackend implements Pick<Backend, 'list' | 'get' | 'write'> {
  readonly objects = new Map<string, StoredObject>();
  readonly writes: string[] = [];
  private revision = FIRST;

  set(key: string, revision: number, n: number): void {
    const value = encoded(key, n);
    this.objects.set(key, { key, revision, bytes: encodedBytes(value, revision), flags: 0 });
  }

  list: Backend['list'] = (_, { from, limit }) => {
    const all = [...this.objects.values()].filter(({ key }) => key >= from).sort((a, b) => (a.key < b.key ? -1 : 1));
    const items = all.slice(0, limit);
    return Promise.resolve({ items, revision: this.revision, more: all.length > limit, remaining: 0 });
  };

  get: Backend['get'] = (_, key) => Promise.resolve(this.objects.get(key));

  write({ key, expected, value }: WriteRequest): Promise<WriteResult> {
    const current = this.objects.get(key);
    if ((current?.revision ?? 0) !== expected) return Promise.resolve({ outcome: 'conflict', current });
    const revision = ++this.revision;
    this.writes.push(`${value === undefined ? 'delete' : 'put'} ${key}`);
    const object = { key, revision, bytes: value ? encodedBytes(value, revision) : new Uint8Array(), flags: 0 };
    if (value === undefined) this.objects.delete(key);
    else this.objects.set(key, object);
    return Promise.resolve({ outcome: 'committed', object });
  }
}

function setUp() {
  const backend = new FakeBackend();
  backend.set('a', 7, 1);
  backend.set('b', 9, 1);
  const state = { closed: true };
  const copy = new LiveCopy({ backend, first: FIRST, isFollowing: () => state.closed });
  return { backend, copy, state };
}

test('changes in the cluster become ordinary writes', async () => {
  const { backend, copy } = setUp();
  expect([...(await copy.revisions(TYPE))]).toEqual([
    ['a', 7],
    ['b', 9],
  ]);
  await copy.put(TYPE, [
    { key: 'a', revision: 20, value: encoded('a', 2) },
    { key: 'c', revision: 21, value: encoded('c', 1) },
  ]);
  await copy.put(TYPE, [{ key: 'a', revision: 22, value: encoded('a', 3) }]);
  await copy.remove(TYPE, ['b', 'gone']);
  expect(backend.writes).toEqual(['put a', 'put c', 'put a', 'delete b']);
});

test('the next leader writes only what differs', async () => {
  const { backend, copy } = setUp();
  await copy.revisions(TYPE);
  await copy.put(TYPE, [{ key: 'a', revision: 20, value: encoded('a', 2) }]);
  const next = new LiveCopy({ backend, first: FIRST, isFollowing: () => true });
  expect([...(await next.revisions(TYPE))]).toEqual([
    ['a', 0],
    ['b', 9],
  ]);
  await next.put(TYPE, [{ key: 'a', revision: 20, value: encoded('a', 2) }]);
  expect(backend.writes).toEqual(['put a']);
  await next.put(TYPE, [{ key: 'a', revision: 23, value: encoded('a', 4) }]);
  expect(backend.writes).toEqual(['put a', 'put a']);
});

test('writes of other clients are not overwritten', async () => {
  const { backend, copy } = setUp();
  await copy.revisions(TYPE);
  backend.set('a', 150, 5);
  backend.objects.delete('b');
  await expect(copy.put(TYPE, [{ key: 'a', revision: 20, value: encoded('a', 2) }])).rejects.toThrow(
    'widgets.example.com a was changed by another client',
  );
  await expect(copy.remove(TYPE, ['b'])).rejects.toThrow('was changed by another client');
  expect(backend.writes).toEqual([]);
});

test('nothing is written once the type takes writes', async () => {
  const { backend, copy, state } = setUp();
  await copy.revisions(TYPE);
  state.closed = false;
  await expect(copy.put(TYPE, [{ key: 'a', revision: 20, value: encoded('a', 2) }])).rejects.toThrow(
    'no longer follows the cluster',
  );
  await expect(copy.revisions(TYPE)).rejects.toThrow('no longer follows the cluster');
  expect(backend.writes).toEqual([]);
});
