import { encodeObject } from '../../src/storage/encode.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import type { PendingWrite } from '../../src/storage/mongodb/commit/batch.js';
import { KnownStates } from '../../src/storage/mongodb/following/known-states.js';
import { readMissingStates, statesBefore } from '../../src/storage/mongodb/commit/states-before.js';
import type { EncodedObject } from '../../src/storage/interfaces.js';
import { collect, commit, decode, everything, put, remove, RESOURCE, widget } from './fixtures.js';
import { withClient } from './mongod.js';
import { hasMongod, mongoOptions, OpenBackends, settled } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const { opened, closeAll } = new OpenBackends();

afterEach(closeAll);

/** Returns the number of queries for objects of the type during the work. */
async function questions({ uri, database }: MongoOptions, work: () => Promise<unknown>): Promise<number> {
  return withClient(uri, async (client) => {
    const db = client.db(database);
    await db.command({ profile: 2 });
    await work();
    await db.command({ profile: 0 });
    const asked = await db.collection('system.profile').countDocuments({ op: 'query', ns: `${database}.${RESOURCE}` });
    await db.dropCollection('system.profile');
    return asked;
  });
}

const keysOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `a/k${String(i).padStart(3, '0')}`);

described('reads of single objects', () => {
  test('concurrent reads are batched', async () => {
    const options = await mongoOptions();
    const backend = await opened(options);
    const keys = keysOf(150);
    const written = await Promise.all(keys.map((key, i) => commit(backend, put(key, 0, { i }))));
    const wanted = [...keys, ...keys, 'a/none'];
    const asked = await questions(options, async () => {
      const found = await Promise.all(wanted.map((key) => backend.get(RESOURCE, key)));
      expect(found.map((each) => each?.revision)).toEqual([...written, ...written, undefined].map((w) => w?.revision));
      expect(found.slice(0, 150).map((each) => decode(each)['spec'])).toEqual(keys.map((_, i) => ({ i })));
    });
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThan(10);
  });

  test('each returns the writes committed before it was requested', async () => {
    const options = await mongoOptions();
    const [one, two] = [await opened(options), await opened(options)];
    let { revision } = await commit(one, put('a/x', 0, { n: 0 }));
    for (let n = 1; n <= 30; n++) {
      // These reads are in flight during the write.
      const early = Array.from({ length: 5 }, () => two.get(RESOURCE, 'a/x'));
      ({ revision } = await commit(one, put('a/x', revision, { n })));
      const late = Array.from({ length: 5 }, () => two.get(RESOURCE, 'a/x'));
      for (const found of await Promise.all(late)) expect(found?.revision).toBe(revision);
      for (const found of await Promise.all(early)) expect(found?.revision).toBeGreaterThanOrEqual(revision - 1);
    }
  });
});

described('the state that a write starts from', () => {
  test('is not read if the caller has it and a cache knows that it is the newest', async () => {
    const options = await mongoOptions();
    const keys = keysOf(40);
    const writer = await opened(options);
    const written = await Promise.all(keys.map((key) => commit(writer, put(key, 0, { n: 0 }))));
    await settled(writer);
    const other = await opened(options);
    const asOf = await other.currentRevision();
    const revisions = new Map(written.map(({ key, revision }) => [key, revision]));
    other.knownRevisions.consult((_, key) => ({ revision: revisions.get(key) ?? 0, asOf }));
    const asked = await questions(options, async () => {
      for (const [i, previous] of written.entries()) {
        const request = { ...(i % 2 === 0 ? put : remove)(previous.key, previous.revision), previous };
        expect(await other.write(request)).toMatchObject({ outcome: 'committed' });
        expect(await other.write(put(`new/k${i}`, 0))).toMatchObject({ outcome: 'committed' });
      }
    });
    expect(asked).toBe(0);
    const events = (await collect(other, 1, 120)).slice(40).filter(({ key }) => key.startsWith('a/'));
    for (const event of events) {
      const before = written.find(({ key }) => key === event.key);
      expect([event.previous?.revision, decode(event.previous)]).toEqual([before?.revision, decode(before)]);
      if (event.type === 'DELETED') {
        const { metadata, ...rest } = decode(event.object);
        expect(rest).toMatchObject({ spec: { n: 0 } });
        expect(metadata).toMatchObject({ resourceVersion: String(event.revision) });
      }
    }
    const untold = await opened(options);
    const current = await untold.get(RESOURCE, 'new/k0');
    await settled(other);
    expect(await questions(options, () => commit(untold, put('new/k0', current?.revision ?? 0)))).toBe(1);
  });

  test('is read if a cache lags behind what this replica has evicted', async () => {
    const options = await mongoOptions();
    const writer = await opened(options);
    const { revision } = await commit(writer, put('a/x', 0));
    await settled(writer);
    const other = await opened(options);
    other.knownRevisions.consult(() => ({ revision: 0, asOf: revision - 1 }));
    expect(await other.write(put('a/x', 0))).toMatchObject({ outcome: 'conflict', current: { revision } });
  });

  test('is not trusted if another replica has written since', async () => {
    const options = await mongoOptions();
    const writer = await opened(options);
    const previous = await commit(writer, put('a/changed', 0, { n: 1 }));
    const gone = await commit(writer, put('a/gone', 0));
    const same = await commit(writer, put('a/same', 0));
    const newest = await commit(writer, put('a/changed', previous.revision, { n: 2 }));
    await commit(writer, remove('a/gone', gone.revision));
    const reported = await opened(options);
    const results = await Promise.all([
      reported.write({ ...put('a/changed', previous.revision, { n: 3 }), previous }),
      reported.write({ ...remove('a/gone', gone.revision), previous: gone }),
      reported.write({ ...remove('a/same', same.revision), previous: same }),
    ]);
    expect(results).toMatchObject([
      { outcome: 'conflict', current: { revision: newest.revision } },
      { outcome: 'conflict', current: undefined },
      { outcome: 'committed' },
    ]);
    // `previous` has another revision than the expected one, so it is ignored.
    const wrong = { ...remove('a/changed', newest.revision), previous };
    expect(await reported.write(wrong)).toMatchObject({ outcome: 'committed' });
    const last = (await collect(writer, 1, 7)).at(-1);
    expect([last?.key, last?.previous?.revision, decode(last?.previous)['spec']]).toEqual([
      'a/changed',
      newest.revision,
      { n: 2 },
    ]);
  });

  test('is found for more objects than fit in memory', async () => {
    const keys = keysOf(20);
    const known = new KnownStates(1, 1, () => undefined);
    const pending = keys.map((key): PendingWrite => ({
      request: remove(key, 7),
      since: 0,
      deadline: Infinity,
      resolve: () => undefined,
      reject: () => undefined,
    }));
    const object = (key: string) => ({ key, revision: 7, bytes: new Uint8Array(100), flags: 0 });
    const current = { read: () => Promise.resolve(new Map(keys.map((key) => [key, object(key)]))) };
    const read = await readMissingStates(pending, { known, current, follower: { catchUp: () => Promise.resolve() } });
    const states = statesBefore(pending, known, read);
    expect([...states.values()].map((state) => state.object?.revision)).toEqual(keys.map(() => 7));
    expect(pending.map(({ request }) => known.before(request))).toEqual(keys.map(() => undefined));
  });

  test('counts toward the size of a commit', async () => {
    const options = await mongoOptions();
    const writer = await opened(options);
    const text = 'x'.repeat(1 << 20);
    const value = (key: string): EncodedObject => encodeObject(widget(key, { text }));
    const keys = keysOf(30);
    const written = await Promise.all(
      keys.map((key) => commit(writer, { resource: RESOURCE, key, expected: 0, value: value(key) })),
    );
    const other = await opened(options);
    await Promise.all(
      written.map((previous) => commit(other, { ...remove(previous.key, previous.revision), previous })),
    );
    expect((await other.list(RESOURCE, everything)).items).toEqual([]);
    await withClient(options.uri, async (client) => {
      const log = client.db(options.database).collection('log');
      const commits = await log.distinct('batch', { 'entries.type': 'DELETED' });
      expect(commits.length).toBeGreaterThanOrEqual(30 / 5);
    });
  });
});
