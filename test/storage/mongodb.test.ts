import type { LogEvent } from '../../src/storage/interfaces.js';
import type { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { collect, commit, decode, describeEvent, everything, put, remove, RESOURCE } from './fixtures.js';
import { Mongod, pause, ReplicaSet, until, withClient } from './mongod.js';
import {
  hasMongod,
  mongodPath,
  mongoOptions,
  newDatabase,
  observer,
  OpenBackends,
  PATIENT,
} from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const { opened, openedAtLast, closeAll } = new OpenBackends();

afterEach(closeAll);

interface Counts {
  done: number;
  unknown: number;
  failed: number;
}

const noCounts = (): Counts => ({ done: 0, unknown: 0, failed: 0 });

/** Increments a counter repeatedly by compare-and-swap. Counts successes, failures, and unknown outcomes. */
async function increment(
  backend: MongoBackend,
  key: string,
  enough: () => boolean,
  counts = noCounts(),
): Promise<Counts> {
  let current = await backend.get(RESOURCE, key).catch(() => undefined);
  while (!enough()) {
    const n = current === undefined ? 0 : (decode(current)['spec'] as { n: number }).n;
    try {
      const result = await backend.write(put(key, current?.revision ?? 0, { n: n + 1 }));
      if (result.outcome === 'committed') {
        counts.done++;
        current = result.object;
      } else {
        current = result.current;
      }
    } catch (error) {
      if ((error as { code?: string }).code === 'unknown-outcome') counts.unknown++;
      else counts.failed++;
      await pause(50);
      current = await backend.get(RESOURCE, key).catch(() => current);
    }
  }
  return counts;
}

function counter(events: readonly LogEvent[], key: string): number[] {
  return events.filter((event) => event.key === key).map((event) => (decode(event.object)['spec'] as { n: number }).n);
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** Reads the log from one backend and checks that it is consecutive and that each counter goes up by one. */
async function consistentLog(backend: MongoBackend, keys: readonly string[]): Promise<readonly LogEvent[]> {
  const newest = await backend.currentRevision();
  const events = await collect(backend, 1, newest - 1);
  expect(events.map((event) => event.revision)).toEqual(upTo(newest - 1).map((n) => n + 1));
  for (const key of keys) {
    const values = counter(events, key);
    expect(values).toEqual(upTo(values.length));
    const current = await backend.get(RESOURCE, key);
    expect((decode(current)['spec'] as { n: number }).n).toBe(values.length);
  }
  return events;
}

described('replicas on one MongoDB', () => {
  test('contending writers lose no update and read the same order', async () => {
    const options = await mongoOptions();
    const backends = await Promise.all([opened(options), opened(options), opened(options)]);
    const keys = ['a/x', 'a/y', 'b/z'];
    const total = 40;
    const controller = new AbortController();
    const seen = backends.map(() => [] as string[]);
    const readers = backends.map(async (backend, i) => {
      for await (const batch of backend.events(1, controller.signal)) seen[i]?.push(...batch.map(describeEvent));
    });
    await Promise.all(
      backends.flatMap((backend) =>
        keys.map(async (key) => {
          let done = 0;
          const counts = await increment(backend, key, () => done++ >= total);
          expect([counts.unknown, counts.failed]).toEqual([0, 0]);
        }),
      ),
    );
    const [first] = backends;
    const events = await consistentLog(first, keys);
    expect(events.length).toBeGreaterThanOrEqual(total * keys.length);
    await until('all have seen it', () => seen.every((each) => each.length >= events.length));
    for (const each of seen) expect(each).toEqual(events.map(describeEvent));
    for (const backend of backends) {
      const list = await backend.list(RESOURCE, { ...everything, revision: events.length });
      expect(list.items.map((item) => [item.key, item.revision])).toEqual(
        (await first.list(RESOURCE, { ...everything, revision: events.length })).items.map((i) => [i.key, i.revision]),
      );
    }
    controller.abort();
    await Promise.all(readers);
  });

  test('a replica rejects no write because of events it has not received yet', async () => {
    const options = await mongoOptions();
    const [one, two] = [await opened(options), await opened(options)];
    for (let i = 0; i < 50; i++) {
      const created = await commit(one, put('a/b', 0, { i }));
      const updated = await commit(two, put('a/b', created.revision, { i: i + 1000 }));
      expect(await two.currentRevision()).toBe(updated.revision);
      await commit(one, remove('a/b', updated.revision));
      await commit(two, put(`c/${i}`, 0));
      expect(await one.write(put(`c/${i}`, 0))).toMatchObject({ outcome: 'conflict', current: { key: `c/${i}` } });
    }
  });

  test('a replica neither creates nor deletes an object that another one has', async () => {
    const options = await mongoOptions();
    const [one, two] = [await opened(options), await opened(options)];
    for (let i = 0; i < 30; i++) {
      const { revision } = await commit(one, put(`a/k${i}`, 0, { i }));
      // The other replica may not have received the event. Then it treats the object as one that it creates itself.
      const results = await Promise.all([two.write(put(`a/k${i}`, 0)), two.write(remove(`a/k${i}`, revision + 1))]);
      for (const result of results) expect(result).toMatchObject({ outcome: 'conflict', current: { revision } });
    }
  });

  test('two busy replicas both make progress', async () => {
    const options = await mongoOptions();
    const backends = await Promise.all([opened(options), opened(options)]);
    const tallies = backends.map(noCounts);
    // Neither stops before both have made progress.
    const enough = (): boolean => tallies.every(({ done }) => done >= 200);
    await Promise.all(
      backends.flatMap((backend, b) =>
        Array.from({ length: 16 }, (_, w) => increment(backend, `b${b}/w${w}`, enough, tallies[b])),
      ),
    );
    expect(tallies).toMatchObject(backends.map(() => ({ unknown: 0, failed: 0 })));
    expect(await backends[0].currentRevision()).toBe(1 + tallies.reduce((sum, { done }) => sum + done, 0));
  });

  test('a replica that was away longer than the history gets an error and recovers', async () => {
    const options = await mongoOptions();
    const writer = await opened(options);
    const other = await opened(options);
    for (let i = 0; i < 20; i++) await commit(writer, put(`a/k${i}`, 0, { i }));
    await writer.compact(15);
    const late = await opened(options);
    await expect(collect(late, 5, 1)).rejects.toMatchObject({ code: 'compacted' });
    await expect(other.list(RESOURCE, { ...everything, revision: 7 })).rejects.toMatchObject({ code: 'compacted' });
    expect((await other.list(RESOURCE, everything)).items).toHaveLength(20);
    expect((await collect(other, 16, 5)).map((event) => event.revision)).toEqual([17, 18, 19, 20, 21]);
  });

  test('history and tombstones are trimmed automatically after the window', async () => {
    const options = { ...(await mongoOptions()), historyMillis: 1_000 };
    const [one, two] = [await opened(options), await opened(options)];
    await commit(one, put('a/b', 0, { n: 1 }));
    await commit(one, remove('a/b', 2));
    await commit(two, put('a/c', 0, { n: 2 }));
    await withClient(options.uri, async (client) => {
      const db = client.db(options.database);
      const log = db.collection<{ _id: number }>('log');
      // The time of MongoDB advances with its writes.
      const passes = (): Promise<unknown> => db.collection('time').insertOne({});
      const leaves = (what: string, left: () => boolean | Promise<boolean>): Promise<void> =>
        until(what, async () => (await passes()) !== undefined && left());
      await leaves('it has left', () => [one, two].every((backend) => backend.compactedRevision() >= 4));
      await commit(two, put('a/d', 0, { n: 3 }));
      await leaves('it is trimmed', async () => (await log.countDocuments({ _id: { $lte: 4 } })) === 0);
      await leaves('nothing is left of it', async () => (await db.collection(RESOURCE).countDocuments()) === 2);
    });
    for (const backend of [one, two]) {
      await expect(backend.list(RESOURCE, { ...everything, revision: 3 })).rejects.toMatchObject({ code: 'compacted' });
      expect((await backend.list(RESOURCE, everything)).items.map(({ revision }) => revision)).toEqual([4, 5]);
    }
  });

  test('the change stream delivers the writes of other replicas, without polling', async () => {
    const options = await mongoOptions();
    const failures: unknown[] = [];
    const writer = await opened(options);
    const uri = `${options.uri}&appName=listener`;
    const other = await opened({
      ...options,
      uri,
      observer: observer({ streamFailed: (_, error) => failures.push(error) }),
    });
    await withClient(options.uri, async (client) => {
      const db = client.db(options.database);
      // A stream begins with one read of the log, which has ended when an event has arrived.
      await commit(writer, put('a/first', 0));
      await collect(other, 1, 1);
      await db.command({ profile: 2 });
      const seen = collect(other, 2, 41);
      for (let i = 0; i < 41; i++) await commit(writer, put(`a/k${i}`, 0));
      expect((await seen).map((event) => event.revision)).toEqual(upTo(41).map((n) => n + 2));
      await db.command({ profile: 0 });
      // One stream exists all the time, and the log is not queried.
      const profile = db.collection('system.profile');
      expect(await profile.countDocuments({ appName: 'listener', op: 'getmore' })).toBeGreaterThan(0);
      const asked = { appName: 'listener', ns: `${options.database}.log`, op: { $in: ['query', 'command'] } };
      expect(await profile.distinct('command', asked)).toEqual([]);
    });
    expect(failures).toEqual([]);
  });

  test('the smallest connection pool that a URI can ask for is enough', async () => {
    const options = await mongoOptions();
    const backend = await opened({ ...options, uri: `${options.uri}&maxPoolSize=1` });
    for (let i = 0; i < 3; i++) {
      const { revision } = await commit(backend, put(`a/k${i}`, 0));
      expect(await backend.currentRevision()).toBe(revision);
    }
    await until('the change stream is followed', () => backend.health.following().ok);
  });
});

described('faults', () => {
  let set: ReplicaSet;
  let options: MongoOptions;
  let lone: ReplicaSet;
  beforeAll(async () => {
    const flags = ['--replSet', 'rs0', '--setParameter', 'enableTestCommands=1'];
    lone = await ReplicaSet.of([await Mongod.start(mongodPath(), flags)]);
  });
  afterAll(() => lone.dispose());
  const on = (one: ReplicaSet): void => {
    set = one;
    options = { uri: set.uri, database: newDatabase(), ...PATIENT };
  };
  afterEach(closeAll);

  test('after repeated kills of mongod, no acknowledged write is lost, and no write is there twice', async () => {
    on(lone);
    const backends = await Promise.all([opened(options), opened(options)]);
    const keys = ['a/p', 'a/q', 'a/r', 'a/s'];
    let over = false;
    const results = backends.flatMap((backend, b) =>
      keys.slice(2 * b, 2 * b + 3).map((key) => ({ backend, key, counts: noCounts() })),
    );
    const running = Promise.all(results.map(({ backend, key, counts }) => increment(backend, key, () => over, counts)));
    const doneOf = (key: string): number =>
      results.reduce((sum, result) => sum + (result.key === key ? result.counts.done : 0), 0);
    const getOn = async (): Promise<void> => {
      const before = keys.map(doneOf);
      await until('all counters go up', () => keys.every((key, i) => doneOf(key) > (before[i] ?? 0) + 2));
    };
    const [mongod] = set.members;
    for (let round = 0; round < 3; round++) {
      await getOn();
      await mongod?.kill('SIGKILL');
      await pause(200);
      await mongod?.launch();
    }
    await getOn();
    over = true;
    await running;
    const [first] = backends;
    const events = await consistentLog(first, keys);
    for (const key of keys) {
      const of = results.filter((result) => result.key === key).map((result) => result.counts);
      const done = of.reduce((sum, counts) => sum + counts.done, 0);
      const unknown = of.reduce((sum, counts) => sum + counts.unknown, 0);
      const applied = counter(events, key).length;
      expect(done).toBeGreaterThan(0);
      expect(applied).toBeGreaterThanOrEqual(done);
      expect(applied).toBeLessThanOrEqual(done + unknown);
    }
  });

  test('the primary steps down: writes and streams continue on the next one', async () => {
    const members = await ReplicaSet.start(mongodPath(), 3);
    on(members);
    try {
      const backends = await Promise.all([opened(options), opened(options)]);
      const [writer, other] = backends;
      const controller = new AbortController();
      const seen: number[] = [];
      const reader = (async () => {
        for await (const batch of other.events(1, controller.signal))
          seen.push(...batch.map((event) => event.revision));
      })();
      let over = false;
      const counts = noCounts();
      const running = increment(writer, 'a/p', () => over, counts);
      const getOn = async (): Promise<void> => {
        const { done } = counts;
        await until('the counter goes up', () => counts.done > done + 5);
      };
      await getOn();
      await set.command({ replSetStepDown: 3, force: true }).catch(() => undefined);
      await set.command({ ping: 1 });
      await getOn();
      over = true;
      await running;
      const events = await consistentLog(writer, ['a/p']);
      expect(counts.failed).toBe(0);
      expect(events.length).toBeGreaterThanOrEqual(counts.done);
      expect(events.length).toBeLessThanOrEqual(counts.done + counts.unknown);
      await until('the other one has seen it', () => seen.length >= events.length);
      expect(seen).toEqual(events.map((event) => event.revision));
      controller.abort();
      await reader;
    } finally {
      await closeAll();
      await members.dispose();
    }
  });

  test('an interrupted change stream misses no event', async () => {
    on(lone);
    const [writer, other] = [await opened(options), await opened(options)];
    const seen = collect(other, 1, 150);
    for (let i = 0; i < 150; i++) {
      await commit(writer, put(`a/k${i}`, 0, { i }));
      if (i % 30 === 10) await killStreams(set);
    }
    expect((await seen).map((event) => event.revision).slice(0, 150)).toEqual(upTo(150).map((n) => n + 1));
  });

  test('without MongoDB, writes and reads fail in time, and they recover with it', async () => {
    on(lone);
    await commit(await opened(options), put('a/b', 0, { n: 1 }));
    await closeAll();
    const hasty = { ...options, selectMillis: 300, writeMillis: 1_000 };
    const backend = await openedAtLast(hasty);
    const [mongod] = set.members;
    await mongod?.kill('SIGKILL');
    const began = Date.now();
    await expect(backend.write(put('a/c', 0))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(backend.get(RESOURCE, 'a/b')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(backend.health.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(backend.currentRevision()).rejects.toMatchObject({ code: 'unavailable' });
    // By default the driver waits half a minute each time.
    expect(Date.now() - began).toBeLessThan(60_000);
    const leaving = await opened(hasty).catch(() => undefined);
    expect(leaving).toBeUndefined();
    await mongod?.launch();
    await set.command({ ping: 1 });
    await until('it answers again', () => answers(backend.health.ping()));
    await until('it writes again', () => answers(backend.write(put('a/c', 0))));
    expect((await collect(backend, 1, 2)).map(describeEvent)).toEqual(['2 ADDED a/b', '3 ADDED a/c']);
  });

  test.each([
    ['was committed', { writeConcernError: { code: 91, errmsg: 'asked to' } }],
    ['was lost before it arrived', { closeConnection: true }],
  ])('resolves the outcome of a commit that %s', async (_, fault) => {
    on(lone);
    const backend = await opened(options);
    await commit(backend, put('a/a', 0));
    // The driver's own second attempt fails too.
    await set.command({
      configureFailPoint: 'failCommand',
      mode: { times: 2 },
      data: { failCommands: ['insert'], ...fault },
    });
    const results = await Promise.all([1, 2, 3].map((n) => backend.write(put(`a/${n}`, 0, { n }))));
    expect(results.map((result) => result.outcome)).toEqual(['committed', 'committed', 'committed']);
    const events = await collect(backend, 1, 4);
    expect(events.map(describeEvent)).toEqual(['2 ADDED a/a', '3 ADDED a/1', '4 ADDED a/2', '5 ADDED a/3']);
    expect(await backend.currentRevision()).toBe(5);
  });

  test('a write that was reported as failed is not written later', async () => {
    on(lone);
    const { revision } = await commit(await opened(options), put('a/a', 0));
    const backend = await openedAtLast({ ...options, uri: `${set.uri}&appName=hasty`, writeMillis: 1_000 });
    const data = { failCommands: ['insert'], blockConnection: true, blockTimeMS: 1_600, appName: 'hasty' };
    const before = await failCommand(set, 'off');
    await failCommand(set, { times: 1 }, data);
    const reported = new Set<unknown>();
    // On a busy machine the write may time out before it is blocked.
    await until('a write is held up', async () => {
      reported.add(
        await backend.write(put('a/a', revision)).catch((error: unknown) => (error as { code?: string }).code),
      );
      return (await failCommand(set, { times: 1 }, data)) > before;
    });
    await failCommand(set, 'off');
    await until('it writes again', () => answers(backend.write(put('a/c', 0))));
    for (const code of reported) expect(['unavailable', 'unknown-outcome']).toContain(code);
    const current = await backend.currentRevision();
    const changed = (await collect(backend, 1, current - 1)).filter(({ type }) => type === 'MODIFIED').length;
    // Only a write with an unknown outcome may have been committed.
    expect(changed).toBeLessThanOrEqual(reported.has('unknown-outcome') ? 1 : 0);
    expect(current).toBe(3 + changed);
  });

  test('a create that MongoDB blocks is committed once or not at all, as reported', async () => {
    on(lone);
    const patient = await opened(options);
    await commit(patient, put('a/a', 0));
    const backend = await openedAtLast({ ...options, uri: `${set.uri}&appName=hasty`, writeMillis: 1_000 });
    const data = { failCommands: ['insert'], blockConnection: true, blockTimeMS: 1_600, appName: 'hasty' };
    const before = await failCommand(set, 'off');
    await failCommand(set, { times: 1 }, data);
    const reported = new Map<string, unknown>();
    await until('a write is held up', async () => {
      const key = `a/b${reported.size}`;
      reported.set(key, await backend.write(put(key, 0)).catch((error: unknown) => (error as { code?: string }).code));
      return (await failCommand(set, { times: 1 }, data)) > before;
    });
    await failCommand(set, 'off');
    await until('it writes again', () => answers(backend.write(put('a/c', 0))));
    const current = await patient.currentRevision();
    const keys = (await collect(patient, 1, current - 1)).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    for (const [key, code] of reported) {
      expect(['unavailable', 'unknown-outcome']).toContain(code);
      if (code === 'unavailable') expect(keys).not.toContain(key);
    }
  });

  test('an outcome that cannot be resolved is reported as unknown', async () => {
    on(lone);
    const patient = await opened(options);
    await commit(patient, put('a/a', 0));
    const hasty = { ...options, uri: `${set.uri}&appName=hasty`, selectMillis: 300 };
    const data = { failCommands: ['insert', 'find'], closeConnection: true, appName: 'hasty' };
    let backend = patient;
    let writeMillis = 750;
    // On a busy machine the write may time out before the commit.
    await until('a commit is lost', async () => {
      writeMillis *= 2;
      backend = await openedAtLast({ ...hasty, writeMillis });
      // In a session that is new to MongoDB, the backend would first read its earlier batch, and that fails already.
      await until('it writes', () => answers(backend.write(put(`a/first${writeMillis}`, 0))));
      // This avoids a read before the write.
      backend.knownRevisions.consult(() => ({ revision: 0, asOf: Infinity }));
      await failCommand(set, 'alwaysOn', data);
      const code: unknown = await backend.write(put(`a/b${writeMillis}`, 0)).then(
        () => 'it went well',
        (error: unknown) => (error as { code?: string }).code,
      );
      await failCommand(set, 'off');
      expect(['unavailable', 'unknown-outcome']).toContain(code);
      return code === 'unknown-outcome';
    });
    await until('it writes again', () => answers(backend.write(put('a/c', 0))));
    const current = await patient.currentRevision();
    const events = await collect(patient, 1, current - 1);
    expect(events.map((event) => event.revision)).toEqual(upTo(current - 1).map((n) => n + 1));
    expect(events.filter(({ key }) => key === 'a/c')).toHaveLength(1);
  });
});

const answers = (question: Promise<unknown>): Promise<boolean> =>
  question.then(
    () => true,
    () => false,
  );

/** Makes a server fail commands. Returns how often it has done so. */
async function failCommand(set: ReplicaSet, mode: unknown, data: object = {}): Promise<number> {
  const answer = await set.command({ configureFailPoint: 'failCommand', mode, data });
  return Number((answer as { count: unknown }).count);
}

/** Kills all change streams of a server, as an operator or a failover may. */
async function killStreams(set: ReplicaSet): Promise<void> {
  await withClient(set.uri, async (client) => {
    const admin = client.db('admin');
    const streams = await admin
      .aggregate<{ ns: string; cursor: { cursorId: unknown } }>(
        [
          { $currentOp: { allUsers: true, idleCursors: true, localOps: true } },
          { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
        ],
        { promoteLongs: false },
      )
      .toArray();
    for (const { ns, cursor } of streams) {
      const dot = ns.indexOf('.');
      await client.db(ns.slice(0, dot)).command({ killCursors: ns.slice(dot + 1), cursors: [cursor.cursorId] });
    }
  });
}
