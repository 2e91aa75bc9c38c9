import { gunzipSync } from 'node:zlib';
import { StorageCacher, type CacherOptions } from '../../src/storage/cacher/cacher.js';
import { WorkingSet } from '../../src/storage/cacher/tree/working-set.js';
import type {
  CachedList,
  CacheListOptions,
  ReadAt,
  Representation,
  ResourceCache,
  TypeStats,
} from '../../src/storage/cacher/interfaces.js';
import { addFacts } from '../../src/apimachinery/json/json.js';
import { encodeObject } from '../../src/storage/encode.js';
import type { Backend, LocalStates } from '../../src/storage/interfaces.js';
import { layered } from '../../src/storage/layered.js';
import { FakeClock } from '../fakes/util/clock.js';
import {
  attributes,
  brief,
  colored,
  identity,
  joined,
  keysOf,
  page,
  Recorder,
  until,
  watch,
  widgets,
} from './cacher-fixtures.js';
import {
  commit,
  corrupt,
  decode,
  embedded,
  put,
  remove,
  RESOURCE,
  type PreparedStore,
  type StoreFixture,
  widget,
} from './fixtures.js';
import { mongodbFixtures, mongodbWithFile } from './mongodb-fixtures.js';

const mongodb = mongodbFixtures();

/** If `warmBytes` is set, objects beyond that many bytes are packed: their bytes are in the store's file only. */
const fixtures: (StoreFixture & { readonly warmBytes?: number })[] = [
  embedded,
  { ...embedded, name: 'embedded, all packed', warmBytes: 0 },
  { ...embedded, name: 'embedded, partly packed', warmBytes: 40_000 },
  ...mongodb,
  ...mongodb.slice(0, 1).flatMap(() => [
    { ...mongodbWithFile, name: 'mongodb, all in the file', warmBytes: 0 },
    { ...mongodbWithFile, name: 'mongodb, partly in the file', warmBytes: 40_000 },
  ]),
];

describe.each(fixtures)('cacher over $name', (fixture) => {
  let store: PreparedStore;
  let backend: Backend;
  let cacher: StorageCacher;
  let cache: ResourceCache;

  const start = async (options: Partial<CacherOptions> = {}): Promise<void> => {
    const { warmBytes } = fixture;
    const warmth = warmBytes === undefined ? {} : { warmth: new WorkingSet(warmBytes) };
    cacher = new StorageCacher({ backend, ...warmth, ...options });
    await cacher.start();
    cache = cacher.add(widgets);
  };
  const restart = async (options: Partial<CacherOptions> = {}): Promise<void> => {
    await cacher.stop();
    await start(options);
  };
  const newest = { mode: 'most-recent' } as const;
  const fill = async (count: number, namespace = 'a'): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, (_, i) =>
        commit(
          backend,
          put(`${namespace}/k${String(i).padStart(5, '0')}`, 0, { i, color: i % 10 === 0 ? 'red' : 'blue' }),
        ),
      ),
    );
  };

  beforeEach(async () => {
    store = await fixture.prepare();
    backend = store.backend();
    await backend.open();
    await start();
  });
  afterEach(async () => {
    await cacher.stop();
    await backend.close();
    await store.dispose();
  });

  test('serves existing objects and new writes', async () => {
    await commit(backend, put('a/b', 0, { n: 1 }));
    await restart();
    expect(decode(await cache.get('a/b', { mode: 'any' }))).toMatchObject({ spec: { n: 1 } });
    await commit(backend, put('a/b', 2, { n: 2 }));
    await commit(backend, put('a/c', 0));
    const object = await cache.get('a/b', newest);
    expect(object?.decode()).toMatchObject({ metadata: { resourceVersion: '3' }, spec: { n: 2 } });
    expect(cache.size()).toBe(2);
    expect(cache.peek('a/c')?.revision).toBe(4);
    expect([...cache.peekAll('a/')].map((item) => item.key)).toEqual(['a/b', 'a/c']);
    await commit(backend, remove('a/c', 4));
    expect(await cache.get('a/c', newest)).toBeUndefined();
    expect(cache.revision()).toBe(5);
  });

  test('a read waits for its revision, up to a time limit', async () => {
    await restart({ waitMillis: 200_000 });
    await cache.ready();
    const waiting = cache.get('a/b', { mode: 'not-older-than', revision: 2 });
    await commit(backend, put('a/b', 0));
    expect((await waiting)?.revision).toBe(2);
    await restart({ waitMillis: 100 });
    await cache.ready();
    await expect(cache.get('a/b', { mode: 'not-older-than', revision: 9 })).rejects.toMatchObject({
      code: 'too-large',
      info: { revision: 9, current: 2 },
    });
    await expect(cache.list({ mode: 'exact', revision: 9 }, page())).rejects.toMatchObject({ code: 'too-large' });
  });

  test('lists from the cache have the revision of the last change of their type', async () => {
    const clock = new FakeClock();
    await restart({ clock });
    const shown = async (at: ReadAt, limit = 0): Promise<number> => (await cache.list(at, page({ limit }))).revision;
    const another = async (): Promise<number> => {
      await commit(backend, { ...put(`a/${String(own)}`, 0), resource: 'example.com/others' });
      own++;
      // Reading one object does not advance the revision of its type.
      await cache.get('a/b', { mode: 'not-older-than', revision: own });
      return own;
    };
    await commit(backend, put('a/b', 0));
    let own = await shown(newest);
    const first = own;
    const second = await another();
    expect([await shown({ mode: 'any' }), await shown({ mode: 'any' }, 5)]).toEqual([first, first]);
    expect(await shown({ mode: 'not-older-than', revision: first })).toBe(first);
    expect(await shown({ mode: 'not-older-than', revision: second })).toBe(second);
    const third = await another();
    expect(await shown({ mode: 'any' })).toBe(second);
    expect([await shown(newest), await shown({ mode: 'any' })]).toEqual([third, third]);
    const fourth = await another();
    clock.advance(61_000);
    expect(await shown({ mode: 'any' })).toBe(fourth);
  });

  test('a read that does not wait is rejected at once, unless the store has the revision', async () => {
    await restart({ waitMillis: 600_000 });
    await cache.ready();
    const refused = { code: 'too-large', info: { revision: 9, current: 1, atOnce: true } };
    const later = { mode: 'not-older-than', revision: 9, atOnce: true } as const;
    await expect(cache.get('a/b', later)).rejects.toMatchObject(refused);
    await expect(cache.list({ ...later, mode: 'exact' }, page())).rejects.toMatchObject(refused);
    expect(await cache.get('a/b', { ...later, revision: 1 })).toBeUndefined();
    await commit(backend, put('a/b', 0));
    expect((await cache.get('a/b', { ...later, revision: 2 }))?.revision).toBe(2);
  });

  test('getNow returns only what is available without waiting', async () => {
    await commit(backend, put('a/b', 0));
    await restart({ waitMillis: 200_000 });
    expect(cache.getNow?.('a/b', { mode: 'any' })).toBeUndefined();
    await cache.ready();
    expect(cache.getNow?.('a/b', { mode: 'any' })?.revision).toBe(2);
    expect(cache.getNow?.('a/c', { mode: 'any' })).toBeUndefined();
    expect(cache.getNow?.('a/b', { mode: 'not-older-than', revision: 2 })?.revision).toBe(2);
    expect(cache.getNow?.('a/b', { mode: 'not-older-than', revision: 3 })).toBeUndefined();
    expect(cache.getNow?.('a/b', { mode: 'exact', revision: 2 })).toBeUndefined();
    await commit(backend, put('a/b', 2));
    // It never returns a state older than an acknowledged write.
    expect(cache.getNow?.('a/b', newest)?.revision ?? 3).toBe(3);
    expect((await cache.get('a/b', newest))?.revision).toBe(3);
    expect(cache.getNow?.('a/b', newest)?.revision).toBe(backend.revisionNow());
    await cacher.stop();
    expect(cache.getNow?.('a/b', { mode: 'any' })).toBeUndefined();
  });

  const everyChunk = async (list: CachedList): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of list.gzipChunks(identity)) chunks.push(chunk);
    return chunks.length === 0 ? '' : gunzipSync(Buffer.concat(chunks)).toString();
  };

  test('whole and partial lists contain the bytes of their items', async () => {
    await fill(1000);
    await fill(300, 'b');
    const cases = [
      page(),
      page({ prefix: 'b/' }),
      page({ prefix: 'a/', from: 'a/k00150', limit: 333 }),
      page({ limit: 1 }),
      page({ prefix: 'none/' }),
    ];
    for (const options of [...cases, ...cases]) {
      const list = await cache.list(newest, options);
      const items = [...list.items()];
      expect(items).toHaveLength(list.length);
      const expected = items.map((item) => Buffer.from(item.bytes).toString()).join(',');
      expect(joined(list, identity)).toBe(expected);
      expect(joined(list, brief)).toBe(items.map((item) => `"${item.key}@${item.revision}"`).join(','));
      expect(await everyChunk(list)).toBe(expected);
      expect(
        items.every(
          (item) =>
            item.key ===
            (decode(item)['metadata'] as { namespace: string; name: string }).namespace +
              '/' +
              (decode(item)['metadata'] as { name: string }).name,
        ),
      ).toBe(true);
    }
    const whole = await cache.list(newest, page());
    expect([whole.length, whole.remaining, whole.lastKey]).toEqual([1300, 0, undefined]);
    const part = await cache.list(newest, page({ prefix: 'a/', limit: 400 }));
    expect([part.length, part.remaining, part.lastKey]).toEqual([400, 600, 'a/k00399']);
    expect([...whole.chunks(identity)].length).toBeLessThan(30);
  });

  test('objects flagged as incomplete are rendered, among others that are not', async () => {
    await fill(40);
    const object = widget('a/k00020', { color: 'red' });
    addFacts(object, { incomplete: true });
    const write = {
      ...put('a/k00020', (await cache.get('a/k00020', newest))?.revision ?? 0),
      value: encodeObject(object),
    };
    await commit(backend, write);
    const completed: Representation = {
      ...identity,
      render: (item) => (item.incomplete ? Buffer.from(`"completed ${item.key}"`) : item.bytes),
    };
    const check = async (): Promise<void> => {
      for (const options of [page(), page({ from: 'a/k00019', limit: 3 }), page({ limit: 5 })]) {
        const list = await cache.list(newest, options);
        const parts = [...list.items()].map((item) =>
          item.key === 'a/k00020' ? '"completed a/k00020"' : Buffer.from(item.bytes).toString(),
        );
        expect(joined(list, completed)).toBe(parts.join(','));
      }
      const read = await cache.get('a/k00020', newest);
      expect(Buffer.from(read?.render(completed) ?? []).toString()).toBe('"completed a/k00020"');
    };
    await check();
    await restart();
    await check();
  });

  test('unchanged blocks keep their bytes, and only changed ones are rebuilt', async () => {
    await fill(1000);
    // Blocks of packed leaves are kept from the second list on.
    await cache.list(newest, page()).then((list) => [...list.chunks(identity)]);
    const first = [...(await cache.list(newest, page())).chunks(identity)];
    const again = [...(await cache.list(newest, page())).chunks(identity)];
    expect(again.slice(1).every((chunk, i) => chunk === first[i + 1])).toBe(true);
    const object = await cache.get('a/k00500', newest);
    await commit(backend, put('a/k00500', object?.revision ?? 0, { changed: true }));
    const list = await cache.list(newest, page());
    const changed = [...list.chunks(identity)];
    expect(changed.filter((chunk) => first.slice(1).includes(chunk))).toHaveLength(first.length - 2);
    expect(Buffer.concat(changed).toString()).toBe(
      [...list.items()].map((item) => Buffer.from(item.bytes).toString()).join(','),
    );
    expect(Buffer.from(object?.bytes ?? []).toString()).toContain('"i":500');
  });

  test('selectors choose items and report whether more may follow', async () => {
    await fill(100);
    const list = await cache.list(newest, page({ predicate: colored('red') }));
    expect(keysOf(list)).toEqual(Array.from({ length: 10 }, (_, i) => `a/k000${i}0`));
    expect([list.remaining, list.lastKey]).toEqual([0, undefined]);
    const part = await cache.list(newest, page({ predicate: colored('red'), limit: 3, from: 'a/k00005' }));
    expect(keysOf(part)).toEqual(['a/k00010', 'a/k00020', 'a/k00030']);
    expect([part.remaining, part.lastKey]).toEqual([undefined, 'a/k00030']);
    const named = {
      everything: false,
      name: 'k00007',
      matches: (_: unknown, fields: Readonly<Record<string, string>>) => fields['metadata.name'] === 'k00007',
    };
    expect(keysOf(await cache.list(newest, page({ predicate: named, prefix: 'a/' })))).toEqual(['a/k00007']);
    expect(keysOf(await cache.list(newest, page({ predicate: named })))).toEqual(['a/k00007']);
    expect(keysOf(await cache.list(newest, page({ predicate: named, prefix: 'a/', from: 'a/k00008' })))).toEqual([]);
  });

  test('past states are listed exactly, from snapshots and from the backend', async () => {
    await restart({ historyEvents: 20 });
    await cache.ready();
    await fill(30);
    const states: string[] = [];
    for (let i = 0; i < 30; i++) {
      const key = `a/k${String(i).padStart(5, '0')}`;
      await commit(backend, i % 3 === 0 ? remove(key, i + 2) : put(key, i + 2, { second: i }));
      const list = await cache.list(newest, page());
      states[list.revision] = joined(list, brief);
    }
    for (let revision = 32; revision <= 61; revision++) {
      const list = await cache.list({ mode: 'exact', revision }, page());
      expect(list.revision).toBe(revision);
      expect(joined(list, brief)).toBe(states[revision]);
      const part = await cache.list({ mode: 'exact', revision }, page({ limit: 5 }));
      expect(keysOf(part)).toEqual(keysOf(list).slice(0, 5));
      expect([part.remaining, part.lastKey]).toEqual([list.length - 5, keysOf(list)[4]]);
    }
    await backend.compact(50);
    await expect(cache.list({ mode: 'exact', revision: 33 }, page())).rejects.toMatchObject({ code: 'compacted' });
  });

  test('watches deliver the initial state and every change, once and in order', async () => {
    await fill(3);
    const all = await watch(cache, { initialEventsBookmark: true });
    await until(() => all.events.length === 4);
    await commit(backend, put('a/k00001', 3, { color: 'red' }));
    await commit(backend, put('b/x', 0));
    await commit(backend, remove('a/k00002', 4));
    await until(() => all.events.length === 7);
    expect(all.lines()).toEqual([
      'ADDED a/k00000 2',
      'ADDED a/k00001 3',
      'ADDED a/k00002 4',
      'BOOKMARK  4',
      'MODIFIED a/k00001 5',
      'ADDED b/x 6',
      'DELETED a/k00002 7',
    ]);
    expect(all.events[3]?.initialEventsEnd).toBe(true);
    expect(decode(all.events[6]?.object)).toMatchObject({
      metadata: { name: 'k00002', resourceVersion: '7' },
      spec: { i: 2 },
    });
    const from = await watch(cache, { start: { mode: 'exact', revision: 5 } });
    const later = await watch(cache, { start: { mode: 'exact', revision: 8 } });
    await until(() => from.events.length === 2);
    await commit(backend, put('b/y', 0));
    await commit(backend, put('b/z', 0));
    await until(() => from.events.length === 4 && later.events.length === 1);
    expect(from.lines()).toEqual(['ADDED b/x 6', 'DELETED a/k00002 7', 'ADDED b/y 8', 'ADDED b/z 9']);
    expect(later.lines()).toEqual(['ADDED b/z 9']);
  });

  test('watches of a namespace, an object, a name, and a selector get matching events only', async () => {
    await cache.ready();
    const start = { mode: 'exact', revision: 1 } as const;
    const named = {
      everything: false,
      name: 'x',
      matches: (_: unknown, fields: Readonly<Record<string, string>>) => fields['metadata.name'] === 'x',
    };
    const recorders = {
      namespace: await watch(cache, { start, prefix: 'a/' }),
      object: await watch(cache, { start, prefix: 'a/', key: 'a/x' }),
      name: await watch(cache, { start, predicate: named }),
      red: await watch(cache, { start, predicate: colored('red') }),
      redToo: await watch(cache, { start, predicate: colored('red', 'c=red') }),
      redThree: await watch(cache, { start, predicate: colored('red', 'c=red') }),
      redInA: await watch(cache, { start, prefix: 'a/', predicate: colored('red', 'c=red') }),
    };
    await until(() => cacher.stats().types[0]?.watchers === 7);
    await commit(backend, put('a/x', 0, { color: 'blue' }));
    await commit(backend, put('b/x', 0, { color: 'red' }));
    await commit(backend, put('a/x', 2, { color: 'red' }));
    await commit(backend, put('a/x', 4, { color: 'red', n: 1 }));
    await commit(backend, put('a/x', 5, { color: 'blue', n: 2 }));
    await commit(backend, put('ab/y', 0, { color: 'red' }));
    await commit(backend, remove('ab/y', 7));
    await commit(backend, remove('a/x', 6));
    await until(() => recorders.namespace.events.length === 5 && recorders.red.events.length === 6);
    expect(recorders.namespace.lines()).toEqual([
      'ADDED a/x 2',
      'MODIFIED a/x 4',
      'MODIFIED a/x 5',
      'MODIFIED a/x 6',
      'DELETED a/x 9',
    ]);
    expect(recorders.object.lines()).toEqual(recorders.namespace.lines());
    expect(recorders.name.lines()).toEqual(['ADDED a/x 2', 'ADDED b/x 3', ...recorders.namespace.lines().slice(1)]);
    expect(recorders.red.lines()).toEqual([
      'ADDED b/x 3',
      'ADDED a/x 4',
      'MODIFIED a/x 5',
      'DELETED a/x 6',
      'ADDED ab/y 7',
      'DELETED ab/y 8',
    ]);
    expect(recorders.redToo.lines()).toEqual(recorders.red.lines());
    expect(recorders.redThree.events[0]).toBe(recorders.redToo.events[0]);
    expect(recorders.redInA.lines()).toEqual(['ADDED a/x 4', 'MODIFIED a/x 5', 'DELETED a/x 6']);
    // An object that stops matching is sent in its previous state, with the revision at which it stopped.
    expect(decode(recorders.red.events[3]?.object)).toMatchObject({
      metadata: { resourceVersion: '6' },
      spec: { color: 'red', n: 1 },
    });
  });

  test('a watch from before the cached history reads the log, and fails as compacted if that is too old', async () => {
    await restart({ historyEvents: 10 });
    await cache.ready();
    await fill(60);
    const early = await watch(cache, { start: { mode: 'exact', revision: 2 }, predicate: colored('red') });
    const all = await watch(cache, { start: { mode: 'exact', revision: 11 } });
    await commit(backend, put('z/z', 0, { color: 'red' }));
    await until(() => all.events.length === 51 && early.events.length === 6);
    expect(all.events.map((event) => event.revision)).toEqual(Array.from({ length: 51 }, (_, i) => i + 12));
    expect(early.events.map((event) => event.object?.key)).toEqual([
      'a/k00010',
      'a/k00020',
      'a/k00030',
      'a/k00040',
      'a/k00050',
      'z/z',
    ]);
    await backend.compact(30);
    await expect(watch(cache, { start: { mode: 'exact', revision: 29 } })).rejects.toMatchObject({ code: 'compacted' });
    const edge = await watch(cache, { start: { mode: 'exact', revision: 30 } });
    await until(() => edge.events.length === 32);
  });

  test('watches that start under load miss no event and repeat none', async () => {
    const total = 2000;
    await cache.ready();
    const recorders: { recorder: Recorder; from: number }[] = [];
    let written = 0;
    const writers = Array.from({ length: 20 }, async (_, w) => {
      for (let i = 0; i < total / 20; i++) {
        const key = `n${w % 4}/k${w}-${i % 9}`;
        const current = await backend.get(RESOURCE, key);
        await commit(
          backend,
          i % 13 === 12 && current !== undefined
            ? remove(key, current.revision)
            : put(key, current?.revision ?? 0, { i }),
        );
        written++;
      }
    });
    while (written < total) {
      const from = cache.revision();
      recorders.push({ recorder: await watch(cache, { start: { mode: 'exact', revision: from } }), from });
      recorders.push({ recorder: await watch(cache, { initialEventsBookmark: true }), from: -1 });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await Promise.all(writers);
    const end = await backend.currentRevision();
    await until(() =>
      recorders.every(({ recorder, from }) => recorder.events.at(-1)?.revision === end || from === end),
    );
    const final = new Map([...cache.peekAll('')].map((item) => [item.key, item.revision]));
    for (const { recorder, from } of recorders) {
      if (from >= 0) {
        expect(recorder.events.map((event) => event.revision)).toEqual(
          Array.from({ length: end - from }, (_, i) => from + 1 + i),
        );
        continue;
      }
      const bookmark = recorder.events.findIndex((event) => event.initialEventsEnd);
      const at = recorder.events[bookmark]?.revision ?? 0;
      expect(recorder.events.slice(bookmark + 1).map((event) => event.revision)).toEqual(
        Array.from({ length: end - at }, (_, i) => at + 1 + i),
      );
      const state = new Map<string, number>();
      for (const event of recorder.events) {
        if (event.type === 'DELETED') state.delete(event.object?.key ?? '');
        else if (event.type !== 'BOOKMARK') state.set(event.object?.key ?? '', event.revision);
      }
      expect(state).toEqual(final);
    }
    expect(recorders.length).toBeGreaterThan(4);
  });

  test('a full watcher catches up once it has room, and is ended if it lags too far', async () => {
    await restart({ maxBacklog: 50 });
    await cache.ready();
    const recorder = new Recorder();
    recorder.room = 1;
    await watch(cache, { start: { mode: 'exact', revision: 1 } }, recorder);
    for (let i = 0; i < 20; i++) await commit(backend, put(`a/k${i}`, 0));
    expect(recorder.events).toHaveLength(1);
    recorder.room = Infinity;
    recorder.watcher?.resume();
    await until(() => recorder.events.length === 20);
    expect(recorder.events.map((event) => event.revision)).toEqual(Array.from({ length: 20 }, (_, i) => i + 2));
    recorder.room = 1;
    for (let i = 0; i < 60; i++) await commit(backend, put(`b/k${i}`, 0));
    await until(() => recorder.ends.length === 1);
    expect(recorder.ends).toEqual(['slow']);
    expect(cacher.stats().types[0]?.watchers).toBe(0);
  });

  test('without snapshots (ListFromCacheSnapshot off), past states are read from the backend at once', async () => {
    await restart({ snapshots: false });
    await cache.ready();
    await commit(backend, put('a/b', 0, { n: 1 }));
    await commit(backend, put('a/b', 2, { n: 2 }));
    await cache.get('a/b', { mode: 'not-older-than', revision: 3 });
    const asked = jest.spyOn(backend, 'list');
    const { revision } = await cache.list({ mode: 'exact', revision: 2 }, page());
    expect([revision, asked.mock.calls.length]).toEqual([2, 1]);
  });

  test('past states stay in memory for 75 s, and then are read from the backend', async () => {
    const clock = new FakeClock();
    await restart({ clock });
    await cache.ready();
    await commit(backend, put('a/b', 0, { n: 1 }));
    await commit(backend, put('a/b', 2, { n: 2 }));
    await cache.get('a/b', { mode: 'not-older-than', revision: 3 });
    const asked = jest.spyOn(backend, 'list');
    const past = async (): Promise<number> => (await cache.list({ mode: 'exact', revision: 2 }, page())).revision;
    clock.advance(74_000);
    expect([await past(), asked.mock.calls.length]).toEqual([2, 0]);
    clock.advance(2_000);
    expect([await past(), asked.mock.calls.length]).toEqual([2, 1]);
  });

  test('bookmarks are sent about once a minute and shortly before the end', async () => {
    const clock = new FakeClock();
    await restart({ clock });
    await cache.ready();
    const recorder = await watch(cache, {
      start: { mode: 'exact', revision: 1 },
      bookmarks: true,
      deadline: clock.monotonic() + 150_000,
    });
    const without = await watch(cache, { start: { mode: 'exact', revision: 1 } });
    await commit(backend, put('a/b', 0, {}, 'others'));
    await until(() => cache.revision() === 2);
    await new Promise((resolve) => setTimeout(resolve, 20));
    clock.advance(59_000);
    expect(recorder.lines()).toEqual([]);
    clock.advance(2_000);
    expect(recorder.lines()).toEqual(['BOOKMARK  2']);
    clock.advance(60_000);
    expect(recorder.lines()).toEqual(['BOOKMARK  2', 'BOOKMARK  2']);
    clock.advance(25_000);
    expect(recorder.events).toHaveLength(2);
    clock.advance(4_000);
    expect(recorder.events).toHaveLength(3);
    expect(without.events).toEqual([]);
  });

  test('an object that cannot be decoded does not affect the others', async () => {
    await fill(3);
    await corrupt(backend, RESOURCE, 'a/k00001', Buffer.from('{"half'));
    await restart();
    await cache.ready();
    expect(cache.peek('a/k00001')?.undecodable).toBe(true);
    expect(() => cache.peek('a/k00001')?.decode()).toThrow(expect.objectContaining({ code: 'corrupt' }) as Error);
    expect((await cache.get('a/k00002', newest))?.decode()).toMatchObject({ spec: { i: 2 } });
    await expect(cache.list(newest, page())).rejects.toMatchObject({ code: 'corrupt' });
    expect(keysOf(await cache.list(newest, page({ from: 'a/k00002' })))).toEqual(['a/k00002']);
    const recorder = await watch(cache, { start: { mode: 'exact', revision: 5 } });
    await commit(backend, remove('a/k00001', 5));
    expect(keysOf(await cache.list(newest, page()))).toEqual(['a/k00000', 'a/k00002']);
    await until(() => recorder.events.length === 1);
    expect(recorder.lines()).toEqual(['DELETED a/k00001 6']);
  });

  test('a repeated selection is up to date after every change', async () => {
    await fill(300);
    const chosen = (options: Partial<CacheListOptions>, at: ReadAt = newest): Promise<string[]> =>
      cache.list(at, page(options)).then(keysOf);
    const red = colored('red', 'red');
    for (let round = 0; round < 6; round++) {
      const before = await chosen({ predicate: red });
      const revision = cache.revision();
      const key = `a/k${String(40 * round + (round % 2)).padStart(5, '0')}`;
      const known = cache.peek(key)?.revision ?? 0;
      await commit(
        backend,
        round === 2 ? remove(key, known) : put(key, known, { color: round % 2 === 0 ? 'blue' : 'red' }),
      );
      await commit(backend, put(`a/n${round}`, 0, { color: 'red' }));
      const wanted = [{}, { prefix: 'a/n' }, { from: 'a/k00100' }, { limit: 2 }, { from: 'a/k00040', limit: 3 }];
      for (const options of wanted) {
        const anew = await chosen({ ...options, predicate: colored('red') });
        expect(await chosen({ ...options, predicate: red })).toEqual(anew);
      }
      expect(await chosen({ predicate: red })).not.toEqual(before);
      expect(await chosen({ predicate: red }, { mode: 'exact', revision })).toEqual(before);
    }
  });

  test('redefining a type selects its objects again; removing it ends its watchers', async () => {
    await fill(20);
    const other = {
      resource: RESOURCE,
      attributes: (object: Parameters<typeof attributes>[0]) => ({
        ...attributes(object),
        fields: { 'spec.color': 'green' },
      }),
    };
    for (const id of [undefined, 'green'])
      expect((await cache.list(newest, page({ predicate: colored('green', id) }))).length).toBe(0);
    cacher.add(other);
    for (const id of [undefined, 'green'])
      expect((await cache.list(newest, page({ predicate: colored('green', id) }))).length).toBe(20);
    const recorder = await watch(cache);
    cacher.remove(RESOURCE);
    expect(recorder.ends).toEqual(['closed']);
    await expect(cache.list(newest, page())).rejects.toMatchObject({ code: 'closed' });
    expect((await cacher.add(widgets).list(newest, page())).length).toBe(20);
  });

  test('reports the number of objects in memory', async () => {
    const { warmBytes } = fixture;
    await fill(500);
    await cache.list(newest, page());
    const [type] = cacher.stats().types;
    const inMemory = type?.inMemory() ?? -1;
    expect(type?.objects).toBe(500);
    if (warmBytes === undefined) expect(inMemory).toBe(500);
    else expect(inMemory).toBeLessThan(200);
    if (warmBytes !== 0) expect(inMemory).toBeGreaterThan(0);
  });

  if (fixture.warmBytes !== undefined) {
    test('packs what arrived during a load', async () => {
      let finish = (): void => undefined;
      const finished = new Promise<void>((resolve) => (finish = resolve));
      const slowly = (resource: string): LocalStates | undefined => {
        const states = backend.localStates?.of(resource);
        if (states === undefined) return undefined;
        const walk: LocalStates['walk'] = async (visit) => {
          const revision = await states.walk(visit);
          await finished;
          return revision;
        };
        return { ...states, walk };
      };
      await restart({ backend: layered(backend, { localStates: { of: slowly } }) });
      const ready = cache.ready();
      await fill(500);
      const stats = (): TypeStats | undefined => cacher.stats().types[0];
      await until(() => (stats()?.revision ?? 0) >= 501);
      finish();
      await ready;
      expect(stats()?.objects).toBe(500);
      expect(stats()?.inMemory()).toBeLessThan(200);
    });
  }

  test('derived bytes stay within their budget', async () => {
    await restart({ budgetBytes: 10_000 });
    await fill(1000);
    for (let i = 0; i < 3; i++) joined(await cache.list(newest, page()), brief);
    const { budget } = cacher.stats();
    expect(budget.bytes).toBeLessThanOrEqual(10_000);
    expect(budget.evictions).toBeGreaterThan(0);
  });

  test.each(['the last object goes', 'the type goes'])('derived bytes are dropped when %s', async (what) => {
    await fill(3);
    const shown = async (): Promise<string> => joined(await cache.list(newest, page()), brief);
    await shown();
    // The joined bytes of before are kept for the next list.
    await commit(backend, put('a/k00000', 2, { color: 'red' }));
    await cache.list(newest, page());
    expect(cacher.stats().budget.bytes).toBeGreaterThan(0);
    if (what === 'the type goes') cacher.remove(RESOURCE);
    else {
      for (const [i, revision] of [5, 3, 4].entries()) await commit(backend, remove(`a/k0000${String(i)}`, revision));
      await cache.list(newest, page());
    }
    expect(cacher.stats().budget.bytes).toBe(0);
  });
});
