import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import { RoutedCacher } from '../../src/storage/cacher/routed-cacher.js';
import type { Backend } from '../../src/storage/interfaces.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { routedBackend, type LogSet } from '../../src/storage/routed-backend.js';
import { EVERYTHING } from '../../src/apimachinery/selectors/selection-predicate.js';
import type { WatchEvent } from '../../src/storage/cacher/interfaces.js';
import { collect, commit, decode, describeEvent, everything, put, remove, RESOURCE } from './fixtures.js';
import { until, withClient } from './mongod.js';
import { hasMongod, mongoOptions } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const HEAVY = 'reports.example.com';
const OWN = new Map([[HEAVY, 'reports']]);
const NONE: ReadonlyMap<string, string> = new Map();

interface Replica extends LogSet {
  readonly backend: Backend;
}

const open: Replica[] = [];

async function replica(options: MongoOptions, overrides: ReadonlyMap<string, string>): Promise<Replica> {
  const main = new MongoBackend({ ...options, overrides });
  const names = new Set(overrides.values());
  const others = new Map([...names].map((log) => [log, new MongoBackend({ ...options, overrides, log })]));
  const backend = routedBackend({ main, others, overrides });
  await backend.open();
  const made = { main, others, overrides, backend };
  open.push(made);
  return made;
}

const stop = (...replicas: Replica[]): Promise<unknown> => Promise.all(replicas.map(({ backend }) => backend.close()));

const heavy = (key: string, expected: number, n: number) => put(key, expected, { n }, HEAVY);

afterEach(() => stop(...open.splice(0)));

described('types with separate logs', () => {
  test('each log has its own revisions and delivers only its own types', async () => {
    const options = await mongoOptions();
    const { backend, main, others } = await replica(options, OWN);
    expect((await commit(backend, put('a/x', 0))).revision).toBe(2);
    expect((await commit(backend, heavy('a/x', 0, 1))).revision).toBe(2);
    expect((await commit(backend, heavy('a/x', 2, 2))).revision).toBe(3);
    expect((await commit(backend, put('a/y', 0))).revision).toBe(3);
    expect((await commit(backend, remove('a/x', 3, HEAVY))).revision).toBe(4);
    expect([RESOURCE, HEAVY].map((resource) => backend.routing?.logOf(resource))).toEqual(['', 'reports']);
    const log = others.get('reports');
    if (log === undefined) throw new Error('there is no such log');
    expect([await main.currentRevision(), await log.currentRevision()]).toEqual([3, 4]);
    expect((await collect(main, 1, 2)).map((event) => `${event.resource} ${describeEvent(event)}`)).toEqual([
      `${RESOURCE} 2 ADDED a/x`,
      `${RESOURCE} 3 ADDED a/y`,
    ]);
    expect((await collect(log, 1, 3)).map((event) => `${event.resource} ${describeEvent(event)}`)).toEqual([
      `${HEAVY} 2 ADDED a/x`,
      `${HEAVY} 3 MODIFIED a/x was 2`,
      `${HEAVY} 4 DELETED a/x was 3`,
    ]);
    expect(await backend.list(HEAVY, { ...everything, revision: 3 })).toMatchObject({
      revision: 3,
      items: [{ key: 'a/x' }],
    });
    expect(await backend.list(HEAVY, everything)).toMatchObject({ revision: 4, items: [] });
    expect(await backend.list(RESOURCE, everything)).toMatchObject({
      revision: 3,
      items: [{ key: 'a/x' }, { key: 'a/y' }],
    });
  });

  test('two replicas share both logs through their caches', async () => {
    const options = await mongoOptions();
    const [one, two] = [await replica(options, OWN), await replica(options, OWN)];
    const cachers = [one, two].map((each) => new RoutedCacher(each, {}));
    const attributes = () => ({ labels: undefined, fields: {} });
    for (const cacher of cachers) await cacher.start();
    try {
      const seen: string[] = [];
      const caches = cachers.map((cacher) => [RESOURCE, HEAVY].map((resource) => cacher.add({ resource, attributes })));
      const watched = caches[1]?.[1];
      const receive = (events: readonly WatchEvent[]): boolean => {
        seen.push(...events.map(({ type, revision }) => `${type} ${revision}`));
        return true;
      };
      const watch = {
        prefix: '',
        predicate: EVERYTHING,
        start: { mode: 'most-recent' },
        initialEventsBookmark: false,
        bookmarks: false,
        deadline: Infinity,
      } as const;
      await watched?.watch(watch, { receive, ended: () => undefined });
      for (let i = 0; i < 5; i++) {
        await commit(one.backend, put(`a/k${i}`, 0));
        await commit(i % 2 === 0 ? one.backend : two.backend, heavy(`a/k${i}`, 0, i));
      }
      await commit(one.backend, put('a/last', 0));
      const page = { prefix: '', from: '', limit: 0, predicate: EVERYTHING };
      for (const [plain, own] of caches) {
        expect(await plain?.list({ mode: 'most-recent' }, page)).toMatchObject({ revision: 7, length: 6 });
        expect(await own?.list({ mode: 'most-recent' }, page)).toMatchObject({ revision: 6, length: 5 });
      }
      await until('the watch has five events', () => seen.length >= 5);
      expect(seen).toEqual([2, 3, 4, 5, 6].map((revision) => `ADDED ${revision}`));
      expect(cachers[0]?.stats().types.map(({ resource, revision, objects }) => [resource, revision, objects])).toEqual(
        [
          [RESOURCE, 7, 6],
          [HEAVY, 6, 5],
        ],
      );
      expect(cachers[0]?.healthy()).toEqual({ ok: true, reason: '' });
    } finally {
      await Promise.all(cachers.map((cacher) => cacher.stop()));
    }
  });

  test('a type that gets a log and loses it keeps its objects, and no revision is used twice', async () => {
    const options = await mongoOptions();
    let now = await replica(options, NONE);
    for (let i = 0; i < 5; i++) await commit(now.backend, heavy(`a/k${i}`, 0, i));
    await commit(now.backend, put('a/other', 0));
    await stop(now);

    now = await replica(options, OWN);
    const moved = await now.backend.list(HEAVY, everything);
    expect(moved.revision).toBe(8);
    expect(moved.items.map(({ key, revision }) => [key, revision])).toEqual(
      [0, 1, 2, 3, 4].map((i) => [`a/k${i}`, i + 2]),
    );
    await expect(now.backend.list(HEAVY, { ...everything, revision: 5 })).rejects.toMatchObject({ code: 'compacted' });
    await expect(now.backend.list(HEAVY, { ...everything, revision: 9 })).rejects.toMatchObject({ code: 'too-large' });
    const own = now.others.get('reports');
    expect(() => own?.events(6, new AbortController().signal)).toThrow('revision 6 is no longer kept');
    for (let i = 0; i < 4; i++)
      expect((await commit(now.backend, heavy('a/k0', i === 0 ? 2 : 8 + i, i))).revision).toBe(9 + i);
    // The events in the main log are unchanged.
    expect((await commit(now.backend, put('a/other', 7, { n: 1 }))).revision).toBe(8);
    expect((await collect(now.main, 1, 7)).map((event) => event.revision)).toEqual([2, 3, 4, 5, 6, 7, 8]);
    await stop(now);

    now = await replica(options, NONE);
    const back = await now.backend.list(HEAVY, everything);
    expect(back.revision).toBe(13);
    expect(back.items).toHaveLength(5);
    expect(decode(back.items[0])).toMatchObject({ metadata: { resourceVersion: '12' }, spec: { n: 3 } });
    await expect(now.backend.list(RESOURCE, { ...everything, revision: 8 })).rejects.toMatchObject({
      code: 'compacted',
    });
    expect((await commit(now.backend, heavy('a/k0', 12, 9))).revision).toBe(14);
    expect((await collect(now.main, 13, 1)).map(describeEvent)).toEqual(['14 MODIFIED a/k0 was 12']);
  });

  test('another setting is refused while a server has the old one', async () => {
    const options = await mongoOptions();
    const [first, second] = [await replica(options, OWN), await replica(options, OWN)];
    await commit(first.backend, heavy('a/x', 0, 1));
    for (const overrides of [NONE, new Map([[HEAVY, 'other']]), new Map([...OWN, [RESOURCE, 'reports']])]) {
      await stop(first);
      const refused = replica(options, overrides);
      await expect(refused).rejects.toMatchObject({
        code: 'unusable',
        message: expect.stringMatching(
          /^the MongoDB database \S+ cannot be used: another server uses other log overrides for .*"reports\.example\.com#reports"\): keep that setting, or stop all servers/,
        ) as string,
      });
      const again = await replica(options, OWN);
      await stop(again);
    }
    expect((await commit(second.backend, heavy('a/x', 2, 2))).revision).toBe(3);
    await stop(second);
    const other = await replica(options, new Map([[HEAVY, 'other']]));
    expect((await commit(other.backend, heavy('a/x', 3, 3))).revision).toBe(5);
  });

  test('the next start finishes an interrupted move', async () => {
    const options = await mongoOptions();
    let now = await replica(options, NONE);
    for (let i = 0; i < 5; i++) await commit(now.backend, heavy(`a/k${i}`, 0, i));
    await stop(now);
    now = await replica(options, OWN);
    await stop(now);
    await withClient(options.uri, async (client) => {
      const db = client.db(options.database);
      const meta = db.collection<{ _id: string; pending?: string[]; revision?: number }>('meta');
      await meta.updateOne({ _id: 'logs' }, { $set: { pending: ['reports'] } });
      await meta.deleteOne({ _id: 'base.reports' });
    });
    now = await replica(options, OWN);
    expect((await commit(now.backend, heavy('a/k0', 2, 1))).revision).toBe(9);
  });

  test("one budget limits the derived bytes of all logs' caches", async () => {
    const logs = await replica(await mongoOptions(), OWN);
    const cacher = new RoutedCacher(logs, { budgetBytes: 12_345 });
    await cacher.start();
    expect(cacher.stats().budget.limit).toBe(12_345);
    await cacher.stop();
    const alone = new StorageCacher({ backend: logs.main, budgetBytes: 12_345 });
    expect(alone.stats().budget).toEqual(cacher.stats().budget);
  });
});
