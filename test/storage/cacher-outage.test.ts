import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import type { CachedList, ReadAt, ResourceCache, WhileAway } from '../../src/storage/cacher/interfaces.js';
import { StorageError } from '../../src/storage/errors.js';
import type { Backend } from '../../src/storage/interfaces.js';
import { keysOf, page, until, watch, widgets } from './cacher-fixtures.js';
import { commit, embedded, put, type PreparedStore } from './fixtures.js';
import { Interposed } from './interposed.js';

const recent = (whileAway?: WhileAway): ReadAt => ({ mode: 'most-recent', whileAway });

describe('a cacher whose store does not answer', () => {
  let store: PreparedStore;
  let backend: Backend;
  let interposed: Interposed;
  let cacher: StorageCacher;
  let cache: ResourceCache;
  const outage: { age: number | undefined; within: <T>(ask: () => Promise<T>) => Promise<T> } = {
    age: undefined,
    within: (ask) =>
      outage.age === undefined ? ask() : Promise.reject(new StorageError('unavailable', 'MongoDB has not answered')),
  };
  const codeOf = (answer: Promise<unknown>): Promise<unknown> =>
    answer.then(
      () => 'answered',
      (error: unknown) => (error instanceof StorageError ? error.code : error),
    );
  const list = (at: ReadAt, prefix = ''): Promise<CachedList> => cache.list(at, page({ prefix }));

  beforeEach(async () => {
    outage.age = undefined;
    store = await embedded.prepare();
    backend = store.backend();
    await backend.open();
    interposed = new Interposed(backend);
    cacher = new StorageCacher({ backend: interposed.backend, outage });
    await cacher.start();
    cache = cacher.add(widgets);
    for (const name of ['x/a', 'x/b', 'y/c']) await commit(backend, put(name, 0));
    await cache.get('y/c', recent());
    outage.age = 5_000;
  });
  afterEach(async () => {
    await cacher.stop();
    await backend.close();
    await store.dispose();
  });

  test('refuses what has to be the newest state', async () => {
    expect(await codeOf(list(recent()))).toBe('unavailable');
    expect(await codeOf(cache.get('x/a', recent()))).toBe('unavailable');
    outage.age = undefined;
    expect(keysOf(await list(recent()))).toEqual(['x/a', 'x/b', 'y/c']);
  });

  test('serves what memory has: any state, one that is not older, an exact one, and a watch from there', async () => {
    const { revision } = await list({ mode: 'any' });
    for (const at of [{ mode: 'any' }, { mode: 'not-older-than', revision }, { mode: 'exact', revision }] as const)
      expect([at.mode, keysOf(await list(at))]).toEqual([at.mode, ['x/a', 'x/b', 'y/c']]);
    expect((await cache.get('x/a', { mode: 'any' }))?.key).toBe('x/a');
    const recorder = await watch(cache, { start: { mode: 'exact', revision } });
    await commit(backend, put('x/d', 0));
    await until(() => recorder.events.length > 0);
    recorder.watcher?.stop();
  });

  test('shows the newest known state where that is asked for', async () => {
    expect(keysOf(await list(recent('newest-known')))).toEqual(['x/a', 'x/b', 'y/c']);
    expect((await cache.get('x/a', recent('newest-known')))?.key).toBe('x/a');
  });

  test('says that a place is empty, and nothing about one that is not', async () => {
    expect(keysOf(await list(recent('if-empty'), 'z/'))).toEqual([]);
    expect(await codeOf(list(recent('if-empty'), 'x/'))).toBe('unavailable');
  });
});
