import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import type { CachedList, ReadAt, ResourceCache } from '../../src/storage/cacher/interfaces.js';
import { compacted, StorageError, tooLarge } from '../../src/storage/errors.js';
import type { Backend } from '../../src/storage/interfaces.js';
import { FakeClock } from '../fakes/util/clock.js';
import { FaultProxy } from '../faults/proxy.js';
import { WorkingSet } from '../../src/storage/cacher/tree/working-set.js';
import { attributes, colored, keysOf, page, until, watch, widgets } from './cacher-fixtures.js';
import { commit, embedded, put, RESOURCE, type PreparedStore, type StoreFixture } from './fixtures.js';
import { Interposed } from './interposed.js';
import { pause } from './mongod.js';
import { mongodbFixtures, newDatabase, OpenBackends, PATIENT, sharedReplicaSet } from './mongodb-fixtures.js';

const mongodb = mongodbFixtures();
const fixtures: StoreFixture[] = [embedded, ...mongodb];
const newest: ReadAt = { mode: 'most-recent' };

/** Expects a list to equal the store's state at its revision. */
async function expectWhole(backend: Backend, list: CachedList): Promise<void> {
  const { items } = await backend.list(RESOURCE, { prefix: '', from: '', limit: 0, revision: list.revision });
  expect([list.revision, ...[...list.items()].map(({ key, revision }) => [key, revision])]).toEqual([
    list.revision,
    ...items.map(({ key, revision }) => [key, revision]),
  ]);
}

/** Ways to lose events: the error of the stream, or the number of events that it skips. */
const WAYS: readonly (readonly [string, (after: number) => readonly [Error | undefined, number]])[] = [
  ['the events are no longer kept', (after) => [compacted(after, after + 1), 0]],
  ['the log is said to be shorter than it was', (after) => [tooLarge(after, after - 1), 0]],
  ['a batch does not follow the one before', () => [undefined, 2]],
];

describe.each(fixtures)('a cacher that reloads, over $name', (fixture) => {
  let store: PreparedStore;
  let backend: Backend;
  let interposed: Interposed;
  let cacher: StorageCacher;
  let cache: ResourceCache;

  beforeEach(async () => {
    store = await fixture.prepare();
    backend = store.backend();
    await backend.open();
    interposed = new Interposed(backend);
    cacher = new StorageCacher({
      backend: interposed.backend,
      waitMillis: 200_000,
      maxPending: 5,
      // With a file, nothing else may hold the objects' bytes.
      warmth: new WorkingSet(0),
    });
    await cacher.start();
    cache = cacher.add(widgets);
    for (const name of ['a', 'b', 'c']) await commit(backend, put(`x/${name}`, 0));
    await cache.get('x/a', newest);
  });
  afterEach(async () => {
    await cacher.stop();
    await backend.close();
    await store.dispose();
  });

  /** Writes objects without delivering the events to the cacher. */
  const unseen = async (count: number): Promise<number> => {
    interposed.silence();
    let last = 0;
    for (let i = 0; i < count; i++) last = (await commit(backend, put(`y/${i}`, 0, { color: 'red' }))).revision;
    return last;
  };

  test.each(WAYS)('%s: waiting readers get the current state, and none gets the old one', async (way, lose) => {
    const before = cache.revision();
    const last = await unseen(4);
    const ended = await watch(cache, { start: { mode: 'exact', revision: before } });
    expect((await cache.list({ mode: 'any' }, page())).revision).toBe(before);
    let answered = 0;
    const count = <T>(read: Promise<T>): Promise<T> => read.finally(() => answered++);
    const ats: ReadAt[] = [newest, { mode: 'not-older-than', revision: last }, { mode: 'exact', revision: last }];
    const lists = ats.map((at) => count(cache.list(at, page())));
    const selected = count(cache.list(newest, page({ predicate: colored('red') })));
    const gets = ats.map((at) => count(cache.get('y/0', at)));
    const watched = count(watch(cache, { start: newest, initialEventsBookmark: true }));
    await until(() => interposed.asked > 1, 'the question for the newest revision');
    const { listed } = interposed;
    const release = interposed.hold();
    // A batch with missing events ends with one that is delivered.
    if (way.startsWith('a batch')) await commit(backend, put('y/last', 0));
    interposed.lose(...lose(before));
    await until(() => interposed.listed > listed, 'the load');
    await pause(20);
    expect(answered).toBe(0);
    expect(cache.getNow?.('x/a', { mode: 'any' })).toBeUndefined();
    release();
    for (const list of await Promise.all(lists)) {
      expect(list.revision).toBeGreaterThanOrEqual(last);
      await expectWhole(backend, list);
    }
    expect(keysOf(await selected).slice(0, 4)).toEqual(['y/0', 'y/1', 'y/2', 'y/3']);
    for (const object of await Promise.all(gets)) expect(object?.key).toBe('y/0');
    const { events } = await watched;
    await until(() => events.some(({ initialEventsEnd }) => initialEventsEnd), 'the initial events');
    expect(events.slice(0, 7).map(({ object }) => object?.key)).toEqual([
      'x/a',
      'x/b',
      'x/c',
      'y/0',
      'y/1',
      'y/2',
      'y/3',
    ]);
    expect(ended.ends).toEqual(['closed']);
    // The cacher continues after the reload.
    const { revision } = await commit(backend, put('z/z', 0));
    await expectWhole(backend, await cache.list({ mode: 'not-older-than', revision }, page()));
    await until(() => events.at(-1)?.object?.key === 'z/z', 'the next event');
  });

  test('while the newest revision is unavailable, the old state keeps its old revision', async () => {
    const before = cache.revision();
    const last = await unseen(2);
    interposed.refused = 2;
    interposed.lose(compacted(before, last));
    await until(() => interposed.refused < 2, 'the first attempt');
    const old = await cache.list({ mode: 'any' }, page());
    expect([old.revision, ...keysOf(old)]).toEqual([before, 'x/a', 'x/b', 'x/c']);
    await expectWhole(backend, await cache.list({ mode: 'not-older-than', revision: last }, page()));
  });

  test('a load that is overtaken by more events than the cache keeps starts again', async () => {
    const before = cache.revision();
    await unseen(1);
    const release = interposed.hold();
    interposed.lose(compacted(before, before + 1));
    const { listed } = interposed;
    await until(() => interposed.listed > listed, 'the load');
    const waiting = cache.list({ mode: 'any' }, page());
    const stale = await backend.list(RESOURCE, { prefix: '', from: '', limit: 0, revision: 0 });
    interposed.lists.push(() => stale);
    for (let i = 0; i < 9; i++) await commit(backend, put(`w/${i}`, 0));
    const { revision } = await commit(backend, { ...put('w/w', 0), resource: 'other.example.com' });
    await until(() => cacher.stats().types[0]?.revision === revision, 'the events');
    release();
    const list = await waiting;
    expect(list.length).toBe(13);
    await expectWhole(backend, list);
  });

  test('a list older than the delivered events is not returned', async () => {
    const stale = await backend.list(RESOURCE, { prefix: '', from: '', limit: 0, revision: 0 });
    const { revision } = await commit(backend, put('v/v', 0));
    await cache.get('v/v', { mode: 'not-older-than', revision });
    cacher.remove(RESOURCE);
    interposed.lists.push(() => stale);
    const list = await cacher.add(widgets).list({ mode: 'any' }, page());
    await expectWhole(backend, list);
    expect(keysOf(list)).toContain('v/v');
  });

  test('a load that keeps failing is reported to its waiters, and retried for the next reader', async () => {
    const before = cache.revision();
    await unseen(1);
    for (let i = 0; i < 5; i++)
      interposed.lists.push(() => {
        throw new StorageError('unavailable', 'no list today');
      });
    const release = interposed.hold();
    const { listed } = interposed;
    interposed.lose(compacted(before, before + 1));
    await until(() => interposed.listed > listed, 'the load');
    const waiting = expect(cache.list(newest, page())).rejects.toMatchObject({ code: 'unavailable' });
    release();
    await waiting;
    expect(cache.getNow?.('x/a', { mode: 'any' })).toBeUndefined();
    await expectWhole(backend, await cache.list({ mode: 'any' }, page()));
  });

  test('during a load, the store answers reads without a walk; others wait, in limited number and for limited time', async () => {
    const clock = new FakeClock();
    const release = interposed.hold(false);
    const patient = new StorageCacher({ backend: interposed.backend, clock, maxLoadWaits: 2 });
    await patient.start();
    const loading = patient.add(widgets);
    const { revision } = await commit(backend, put('x/d', 0));
    expect((await loading.get('x/d', newest))?.revision).toBe(revision);
    expect(await loading.get('x', newest)).toBeUndefined();
    expect((await loading.get('x/d', { mode: 'exact', revision: revision - 1 }))?.key).toBeUndefined();
    await expect(loading.get('x/d', { mode: 'not-older-than', revision: revision + 1 })).rejects.toMatchObject({
      code: 'too-large',
    });
    const two = await loading.list(newest, page({ limit: 2 }));
    expect([two.revision, two.lastKey, two.remaining, ...keysOf(two)]).toEqual([revision, 'x/b', 2, 'x/a', 'x/b']);
    await expectWhole(backend, await loading.list({ mode: 'exact', revision }, page()));
    const refused = { code: 'initializing', message: 'storage is (re)initializing', info: { downMillis: 3_000 } };
    const waiting = [loading.list({ mode: 'any' }, page()), watch(loading, { start: newest })].map((read) =>
      expect(read).rejects.toMatchObject(refused),
    );
    await until(() => patient.stats().loads.waiting === 2, 'those who wait');
    await expect(loading.list(newest, page())).rejects.toMatchObject({ code: 'initializing' });
    clock.advance(3_000);
    await Promise.all(waiting);
    expect(patient.stats().loads).toEqual({ waiting: 0, refused: 3 });
    release();
    await loading.ready();
    expect(keysOf(await loading.list({ mode: 'any' }, page()))).toEqual(['x/a', 'x/b', 'x/c', 'x/d']);
    await patient.stop();
  });

  test('an event that cannot be applied reloads its type and does not affect others', async () => {
    let broken = 0;
    const others = cacher.add({ ...widgets, resource: 'others.example.com' });
    const recorder = await watch(others);
    cache = cacher.add({
      resource: RESOURCE,
      attributes: (object) => {
        if (broken > 0 && JSON.stringify(object).includes('"bad"') && broken-- > 0) throw new Error('what is this?');
        return attributes(object);
      },
    });
    await cache.ready();
    broken = 1;
    await commit(backend, put('x/bad', 0));
    const { revision } = await commit(backend, { ...put('x/good', 0), resource: 'others.example.com' });
    const list = await cache.list({ mode: 'not-older-than', revision }, page());
    expect(keysOf(list)).toEqual(['x/a', 'x/b', 'x/bad', 'x/c']);
    await until(() => recorder.events.length === 1, 'the event of the other type');
    expect(recorder.ends).toEqual([]);
  });

  test('a reader released in the same step that removes its type gets no empty list', async () => {
    interposed.silence();
    const { revision } = await commit(backend, put('y/y', 0));
    const reads = [1, 2].map(() => cache.list({ mode: 'not-older-than', revision }, page()));
    interposed.lose(undefined);
    await until(() => cache.revision() >= revision || cache.size() > 3);
    cacher.remove(RESOURCE);
    for (const read of await Promise.allSettled(reads)) {
      if (read.status === 'fulfilled') expect(read.value.length).toBe(4);
      else expect(read.reason).toMatchObject({ code: 'closed' });
    }
  });
});

(mongodb.length > 0 ? describe : describe.skip)('a cacher behind a partition', () => {
  const { opened, closeAll } = new OpenBackends();

  test("other replicas write and trim the log: lists that wait for the partition's end are complete", async () => {
    const { members } = await sharedReplicaSet();
    const [member] = members;
    const proxy = await FaultProxy.start(member?.port ?? 0);
    const database = newDatabase();
    const writer = await opened({ uri: member?.directUri ?? '', database, ...PATIENT });
    const options = '&heartbeatFrequencyMS=500&connectTimeoutMS=60000';
    const backend = await opened({ uri: proxy.uri(options), database, ...PATIENT });
    const cacher = new StorageCacher({ backend, waitMillis: 200_000 });
    try {
      await cacher.start();
      const cache = cacher.add(widgets);
      let writes = 0;
      await commit(writer, put('a/first', 0));
      await cache.get('a/first', newest);
      for (const cut of [
        () => {
          proxy.cut();
        },
        () => {
          proxy.swallow();
        },
      ]) {
        cut();
        let last = 0;
        for (let i = 0; i < 50; i++) last = (await commit(writer, put(`a/${writes++}`, 0))).revision;
        await writer.compact(last);
        const waiting = Array.from({ length: 5 }, () => cache.list({ mode: 'not-older-than', revision: last }, page()));
        const consistent = cache.list(newest, page()).catch(() => undefined);
        proxy.pass();
        proxy.reset();
        for (const list of await Promise.all(waiting)) await expectWhole(writer, list);
        const list = await consistent;
        if (list !== undefined) await expectWhole(writer, list);
        await expectWhole(writer, await cache.list({ mode: 'not-older-than', revision: last }, page()));
      }
    } finally {
      await cacher.stop();
      await closeAll();
      await proxy.close();
    }
  });
});
