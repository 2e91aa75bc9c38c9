import type { WriteResult } from '../../src/storage/interfaces.js';
import type { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { FaultProxy } from '../faults/proxy.js';
import { commit, everything, put, remove, RESOURCE } from './fixtures.js';
import { Mongod, pause, ReplicaSet, until, withClient } from './mongod.js';
import { hasMongod, mongodPath, newDatabase, OpenBackends, PATIENT, sharedReplicaSet } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const { opened, openedAtLast, closeAll } = new OpenBackends();
const proxies: FaultProxy[] = [];

afterEach(async () => {
  // Lets all traffic through while the backends close.
  for (const proxy of proxies) proxy.pass();
  await closeAll();
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
});

const WINDOW_MILLIS = 6_000;

interface Pair {
  readonly near: MongoBackend;
  /** The replica behind the proxy. */
  readonly far: MongoBackend;
  readonly proxy: FaultProxy;
  readonly options: MongoOptions;
}

async function pair(more: Partial<MongoOptions> = {}): Promise<Pair> {
  const { uri, members } = await sharedReplicaSet();
  const proxy = await FaultProxy.start(members[0]?.port ?? 0);
  proxies.push(proxy);
  const options = { uri, database: newDatabase(), ...PATIENT, ...more };
  return { near: await opened(options), far: await opened({ ...options, uri: proxy.uri() }), proxy, options };
}

/** Writes on the near replica until everything up to a revision has been trimmed. */
async function writeAndTrim({ near, options }: Pair, revision: number, done: string[]): Promise<void> {
  const { uri } = await sharedReplicaSet();
  const collection = options.log === undefined ? 'log' : `log.${options.log}`;
  for (let i = 0; i < 40; i++) {
    const key = `near/k${done.length}`;
    await commit(near, put(key, 0));
    done.push(key);
  }
  await withClient(uri, (client) =>
    until('it is trimmed', async () => {
      // The time of MongoDB advances with its writes.
      await client.db(options.database).collection('time').insertOne({});
      const entry = await client
        .db(options.database)
        .collection<{ _id: number }>(collection)
        .findOne({ _id: { $lte: revision } });
      return entry === null;
    }),
  );
}

const outcomeOf = (writing: Promise<WriteResult>): Promise<string | undefined> =>
  writing.then(
    ({ outcome }) => outcome,
    (error: unknown) => (error as { code?: string }).code,
  );

/** Checks that both replicas return the same objects, including every key. */
async function agreed(replicas: readonly MongoBackend[], keys: readonly string[]): Promise<void> {
  const [lists, newest] = [
    await Promise.all(replicas.map((one) => one.list(RESOURCE, everything))),
    await Promise.all(replicas.map((one) => one.currentRevision())),
  ];
  expect(new Set(newest).size).toBe(1);
  for (const { items, revision } of lists) {
    expect(items.map(({ key }) => key)).toEqual(expect.arrayContaining([...keys]));
    expect(new Set(items.map((item) => item.revision)).size).toBe(items.length);
    expect(Math.max(...items.map((item) => item.revision))).toBeLessThanOrEqual(revision);
  }
}

const LOGS = ['the main log', 'heavy'] as const;
const VERBS = ['create', 'update', 'delete'] as const;
type Log = (typeof LOGS)[number];

const historyOf = (log: Log): Partial<MongoOptions> => ({
  historyMillis: WINDOW_MILLIS,
  ...(log === 'heavy' ? { log } : {}),
});

/** Runs all cases concurrently, because each mostly waits for its history to expire. The error names the failed case. */
async function atOnce<T>(cases: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(cases.map(run));
  const failures = outcomes.flatMap((outcome, i) => {
    if (outcome.status === 'fulfilled') return [];
    const { reason } = outcome as { reason: unknown };
    return [
      `${JSON.stringify(cases[i])}: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`,
    ];
  });
  if (failures.length > 0) throw new Error(failures.join('\n\n'));
}

async function writesThatArriveTooLate(log: Log, verb: (typeof VERBS)[number]): Promise<void> {
  const both = await pair(historyOf(log));
  const { near, far, proxy } = both;
  const before = await commit(far, put('far/old', 0, { n: 1 }));
  const { revision } = await commit(far, put('far/warm', 0));
  proxy.swallow();
  const request = {
    create: put('far/new', 0, { n: 2 }),
    update: put('far/old', before.revision, { n: 2 }),
    delete: remove('far/old', before.revision),
  }[verb];
  // This avoids a read before the write.
  if (verb === 'create') far.knownRevisions.consult(() => ({ revision: 0, asOf: Infinity }));
  // The write is in flight. It arrives at a position in the log that was taken meanwhile and is free again.
  const writing = outcomeOf(far.write(request));
  await pause(100);
  const keys: string[] = [];
  await writeAndTrim(both, revision + 5, keys);
  proxy.pass();
  expect(await writing).toBe('unknown-outcome');
  for (const one of [near, far])
    expect((await one.get(RESOURCE, request.key))?.revision).toBe(verb === 'create' ? undefined : before.revision);
  await agreed([near, far], keys);
  await commit(far, put('far/afterwards', 0));
  await agreed([near, far], [...keys, 'far/afterwards']);
}

async function answerThatIsLost(log: Log): Promise<void> {
  const both = await pair(historyOf(log));
  const { near, far, proxy } = both;
  const { revision } = await commit(far, put('far/warm', 0));
  proxy.inspect = (bytes, direction) => {
    if (direction === 'requests' && bytes.includes('far/new')) proxy.loseAnswers();
  };
  // This avoids a read before the write.
  far.knownRevisions.consult(() => ({ revision: 0, asOf: Infinity }));
  const writing = outcomeOf(far.write(put('far/new', 0)));
  await until('it is there', async () => (await near.get(RESOURCE, 'far/new')) !== undefined);
  proxy.inspect = undefined;
  await commit(near, remove('far/new', revision + 1));
  const keys: string[] = [];
  await writeAndTrim(both, revision + 5, keys);
  proxy.pass();
  expect(await writing).toBe('unknown-outcome');
  expect(await near.get(RESOURCE, 'far/new')).toBeUndefined();
  await commit(far, put('far/afterwards', 0));
  await agreed([near, far], [...keys, 'far/afterwards']);
  expect(await far.get(RESOURCE, 'far/new')).toBeUndefined();
}

described('a replica partitioned for longer than the history window, on the main log and on a separate log', () => {
  test('its writes have no effect and are not acknowledged', () =>
    atOnce(
      LOGS.flatMap((log) => VERBS.map((verb) => ({ log, verb }))),
      ({ log, verb }) => writesThatArriveTooLate(log, verb),
    ));

  test('a commit with a lost response and a trimmed entry is neither acknowledged nor repeated', () =>
    atOnce(LOGS, answerThatIsLost));
});

described('old events', () => {
  test('end as compacted if trimming overtakes their reader, without a gap before that', async () => {
    const { uri, members } = await sharedReplicaSet();
    const options = { uri, database: newDatabase(), ...PATIENT };
    const near = await opened(options);
    // More commits than one read returns and a replica keeps in memory: one that opens before they are projected reads the last ones.
    for (let from = 0; from < 800; from += 5)
      await Promise.all(Array.from({ length: 5 }, (_, i) => commit(near, put(`a/k${from + i}`, 0))));
    const proxy = await FaultProxy.start(members[0]?.port ?? 0);
    proxies.push(proxy);
    const far = await opened({ ...options, uri: proxy.uri() });
    let compaction: Promise<void> | undefined;
    // After reading more of the log, it checks which entries are still kept.
    const compactOnce = (bytes: Buffer, direction: string): void => {
      if (direction === 'answers' || !bytes.includes('base\0') || compaction !== undefined) return;
      proxy.swallow('requests');
      compaction = near.compact(300).finally(() => {
        proxy.pass();
      });
    };
    const seen: number[] = [];
    const reading = (async () => {
      for await (const batch of far.events(1, new AbortController().signal)) {
        seen.push(...batch.map(({ revision }) => revision));
        proxy.inspect = compactOnce;
      }
    })();
    await expect(reading).rejects.toMatchObject({ code: 'compacted' });
    await compaction;
    expect(seen.length).toBeGreaterThan(50);
    expect(seen).toEqual(seen.map((_, i) => i + 2));
    expect(seen.at(-1)).toBeLessThan(300);
  });
});

described('a replica with high latency to MongoDB', () => {
  test('makes progress beside a replica that commits back to back', async () => {
    const { near, far, proxy } = await pair({ writeMillis: 60_000 });
    proxy.delay(5);
    const ending = new AbortController();
    const busy = Array.from({ length: 10 }, async (_, w) => {
      for (let i = 0; !ending.signal.aborted; i++) await commit(near, put(`near/w${w}-${i}`, 0));
    });
    try {
      await pause(300);
      for (let i = 0; i < 5; i++) await commit(far, put(`far/k${i}`, 0));
    } finally {
      ending.abort();
    }
    await Promise.all(busy);
    await agreed([near, far], ['far/k4']);
  });
});

described('a mongod killed under load, with a replica behind a proxy', () => {
  const IMPATIENT = '&heartbeatFrequencyMS=500&connectTimeoutMS=1000';

  test('both replicas write again after each restart, regardless of the proxy', async () => {
    const mongod = await Mongod.start(mongodPath());
    const set = await ReplicaSet.of([mongod]);
    const proxy = await FaultProxy.start(mongod.port);
    proxies.push(proxy);
    const options = {
      uri: `${set.uri}${IMPATIENT}`,
      database: newDatabase(),
      selectMillis: 2_000,
      writeMillis: 20_000,
    };
    const near = await openedAtLast(options);
    const far = await openedAtLast({ ...options, uri: proxy.uri(IMPATIENT) });
    const ending = new AbortController();
    const done = [0, 0];
    const acknowledged = new Set<string>();
    const writers = [near, far].flatMap((backend, b) =>
      Array.from({ length: 8 }, async (_, w) => {
        for (let i = 0; !ending.signal.aborted; i++) {
          const key = `b${b}/w${w}-${i}`;
          const result = await backend.write(put(key, 0)).catch(() => undefined);
          if (result?.outcome !== 'committed') continue;
          acknowledged.add(key);
          done[b] = (done[b] ?? 0) + 1;
        }
      }),
    );
    const getOn = async (): Promise<void> => {
      const [one, two] = done as [number, number];
      await until('both write', () => (done[0] ?? 0) > one + 20 && (done[1] ?? 0) > two + 20);
    };
    try {
      for (const meanwhile of ['pass', 'swallow', 'cut'] as const) {
        await getOn();
        proxy[meanwhile]();
        await mongod.kill('SIGKILL');
        await mongod.launch();
        proxy.pass();
      }
      await getOn();
      await until('it is noticed', () => near.health.writing().ok && far.health.writing().ok);
    } finally {
      ending.abort();
      await Promise.all(writers);
    }
    await agreed([near, far], [...acknowledged]);
    await closeAll();
    await set.dispose();
  });
});
