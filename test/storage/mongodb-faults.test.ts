import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Timestamp } from 'mongodb';
import type { MongoBackend } from '../../src/storage/mongodb/backend.js';
import { systemClock, type Clock } from '../../src/util/clock.js';
import { collect, commit, describeEvent, everything, put, RESOURCE } from './fixtures.js';
import { Mongod, pause, ReplicaSet, until, withClient } from './mongod.js';
import {
  failureOf,
  hasMongod,
  mongodPath,
  newDatabase,
  observer,
  OpenBackends,
  PATIENT,
  settled,
} from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const { open, opened, openedAtLast, closeAll } = new OpenBackends();

const followsAgain = (backend: MongoBackend): Promise<void> =>
  until('the change stream is followed', () => backend.health.following().ok);

described('injected MongoDB failures', () => {
  let set: ReplicaSet;
  beforeAll(async () => {
    const flags = ['--replSet', 'rs0', '--setParameter', 'enableTestCommands=1'];
    set = await ReplicaSet.of([await Mongod.start(mongodPath(), flags)]);
  });
  afterAll(() => set.dispose());
  afterEach(closeAll);

  const fail = (mode: unknown, data: unknown): Promise<unknown> =>
    set.command({ configureFailPoint: 'failCommand', mode, data });

  test.each([
    ['the resume token is lost, as when the oplog has rolled over it', 286],
    ['the change stream cannot be resumed at all', 280],
    ['the cursor is gone', 43],
    ['the primary has stepped down', 189],
  ])('%s: no event is missed, and the failure is reported', async (_, errorCode) => {
    const failures: unknown[] = [];
    const options = { uri: set.uri, database: newDatabase(), ...PATIENT };
    const writer = await opened(options);
    const other = await opened({
      ...options,
      uri: `${set.uri}&appName=listener`,
      observer: observer({ streamFailed: (log, error) => failures.push([log, error]) }),
    });
    const seen = collect(other, 1, 60);
    for (let i = 0; i < 60; i++) {
      if (i === 20)
        await fail({ times: 4 }, { failCommands: ['getMore', 'aggregate'], errorCode, appName: 'listener' });
      await commit(writer, put(`a/k${i}`, 0, { i }));
    }
    expect((await seen).map((event) => event.revision)).toEqual(Array.from({ length: 60 }, (__, i) => i + 2));
    expect(failures.length).toBeGreaterThan(0);
    expect(failures[0]).toEqual(['', expect.objectContaining({ code: errorCode })]);
    await followsAgain(other);
    expect(other.health.following()).toEqual({ ok: true, reason: '' });
  });

  test('while the change stream is broken, the backend reports it and reads of the log continue', async () => {
    const options = { uri: set.uri, database: newDatabase(), ...PATIENT };
    const [writer, other] = [await opened(options), await opened(options)];
    expect(other.health.following()).toEqual({ ok: true, reason: '' });
    await fail('alwaysOn', { failCommands: ['getMore', 'aggregate'], errorCode: 43 });
    try {
      await until('it is noticed', () => !other.health.following().ok);
      expect(other.health.following()).toEqual({ ok: false, reason: 'the change stream failed' });
      const { revision } = await commit(writer, put('a/b', 0));
      expect(await other.currentRevision()).toBe(revision);
      expect(await other.list(RESOURCE, everything)).toMatchObject({ revision, items: [{ key: 'a/b' }] });
    } finally {
      await fail('off', {});
    }
    expect((await collect(other, 1, 1)).map(describeEvent)).toEqual(['2 ADDED a/b']);
  });

  test('a slow disk slows writes and loses none', async () => {
    const options = { uri: set.uri, database: newDatabase(), ...PATIENT };
    const backends = [await opened(options), await opened(options)];
    await fail('alwaysOn', { failCommands: ['insert'], blockConnection: true, blockTimeMS: 150 });
    const begun = performance.now();
    try {
      await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          commit(backends[i % 2] ?? (backends[0] as MongoBackend), put(`a/k${i}`, 0, { i })),
        ),
      );
    } finally {
      await fail('off', {});
    }
    expect(performance.now() - begun).toBeGreaterThan(150);
    for (const backend of backends) {
      expect((await collect(backend, 1, 60)).map((event) => event.revision)).toEqual(
        Array.from({ length: 60 }, (_, i) => i + 2),
      );
    }
  });

  test.each([
    ['that is lost with its primary is repeated', { times: 3 }, 189],
    ['that is refused is split', { times: 1 }, 121],
  ])('a commit %s', async (_, mode, errorCode) => {
    const backend = await opened({ uri: set.uri, database: newDatabase(), ...PATIENT });
    await commit(backend, put('a/a', 0));
    // The projection also inserts, so wait until it is done.
    await settled(backend);
    await fail(mode, { failCommands: ['insert'], errorCode });
    const results = await Promise.all([1, 2, 3].map((n) => commit(backend, put(`a/${n}`, 0, { n }))));
    expect(results.map(({ revision }) => revision)).toEqual([3, 4, 5]);
  });

  test('replicas with clocks that leap or are hours apart trim no history early and lose nothing', async () => {
    const leaping = (): { clock: Clock; leap(millis: number): void } => {
      let offset = 0;
      return {
        clock: { ...systemClock, now: () => systemClock.now() + offset },
        leap: (millis) => void (offset += millis),
      };
    };
    const [one, two] = [leaping(), leaping()];
    const options = { uri: set.uri, database: newDatabase(), historyMillis: 60_000, ...PATIENT };
    const backends = [await opened({ ...options, clock: one.clock }), await opened({ ...options, clock: two.clock })];
    two.leap(6 * 3_600_000);
    const hour = 3_600_000;
    for (let i = 0; i < 30; i++) {
      one.leap(i % 3 === 0 ? -2 * hour : hour);
      const backend = backends[i % 2];
      if (backend !== undefined) await commit(backend, put(`a/k${i}`, 0, { i }));
    }
    for (const backend of backends) {
      await backend.compact(1);
      expect(backend.compactedRevision()).toBe(1);
      expect((await collect(backend, 1, 30)).map((event) => event.revision)).toEqual(
        Array.from({ length: 30 }, (_, i) => i + 2),
      );
    }
  });
});

described('an oplog that is too small', () => {
  test('has dropped what the change stream would read next: no event is missed', async () => {
    const flags = [
      '--replSet',
      'rs0',
      '--oplogSize',
      '8',
      '--syncdelay',
      '1',
      '--setParameter',
      'enableTestCommands=1',
    ];
    const set = await ReplicaSet.of([await Mongod.start(mongodPath(), flags)]);
    try {
      const failures: unknown[] = [];
      const database = newDatabase();
      const appName = 'behind';
      const other = await opened({
        uri: `${set.uri}&appName=${appName}&socketTimeoutMS=0`,
        database,
        ...PATIENT,
        observer: observer({ streamFailed: (_, error) => failures.push(error) }),
      });
      const seen = collect(other, 1, 20);
      const data = { failCommands: ['getMore'], blockConnection: true, blockTimeMS: 600_000, appName };
      const fault = { configureFailPoint: 'failCommand', mode: { times: 1 }, data };
      const { count: entered } = (await set.command(fault)) as { count: number };
      const writer = await opened({ uri: set.uri, database, ...PATIENT });
      for (let i = 0; i < 10; i++) await commit(writer, put(`a/k${i}`, 0, { i }));
      // The change stream is blocked here and does not follow the next writes.
      await set.command({ waitForFailPoint: 'failCommand', timesEntered: entered + 1, maxTimeMS: 120_000 });
      await withClient(set.uri, async (client) => {
        const oldest = async (): Promise<Timestamp> =>
          ((await client.db('local').collection('oplog.rs').findOne()) as { ts?: Timestamp } | null)?.ts as Timestamp;
        const newest = await client.db('local').collection('oplog.rs').find().sort({ $natural: -1 }).limit(1).next();
        const filler = client.db('filler').collection('filler');
        while ((await oldest()).lessThanOrEqual(newest?.['ts'] as Timestamp)) {
          await filler.insertOne({ text: 'x'.repeat(1 << 20) });
        }
        const held = client
          .db('admin')
          .aggregate([{ $currentOp: {} }, { $match: { appName, 'command.getMore': { $exists: true } } }]);
        const ops = await held.toArray();
        expect(ops.length).toBeGreaterThan(0);
        for (const { opid } of ops) await client.db('admin').command({ killOp: 1, op: opid as number });
      });
      for (let i = 10; i < 20; i++) await commit(writer, put(`a/k${i}`, 0, { i }));
      expect((await seen).map((event) => event.revision)).toEqual(Array.from({ length: 20 }, (_, i) => i + 2));
      await until('it has failed twice', () => failures.length >= 2);
      expect(failures).toMatchObject([{ codeName: 'Interrupted' }, { codeName: 'ChangeStreamHistoryLost' }]);
      await followsAgain(other);
      expect(other.health.following()).toEqual({ ok: true, reason: '' });
    } finally {
      await closeAll();
      await set.dispose();
    }
  });
});

/** Detects an unresponsive server within a second and a half. */
const IMPATIENT = '&heartbeatFrequencyMS=500&connectTimeoutMS=1000&serverSelectionTimeoutMS=500';

described('a full disk', () => {
  /** The journal allocates whole files. */
  const JOURNAL = ['--wiredTigerEngineConfigString', 'log=(file_max=8MB)'];
  const LIMIT_KIB = 24 << 10;

  test('ends mongod: writes are refused, and with room again, every acknowledged write is there once', async () => {
    const mongod = await Mongod.start(mongodPath(), ['--replSet', 'rs0', ...JOURNAL]);
    const set = await ReplicaSet.of([mongod]);
    try {
      await mongod.kill('SIGTERM');
      mongod.fileLimit = LIMIT_KIB;
      await mongod.launch();
      const options = { uri: `${set.uri}${IMPATIENT}`, database: newDatabase(), writeMillis: 3_000 };
      const backend = await openedAtLast(options);
      const acknowledged = new Map<string, number>();
      const unknown = new Set<string>();
      // On a busy machine, a slow write may be refused before the disk is full.
      for (let i = 0; mongod.runs; i++) {
        const text = randomBytes(1 << 20).toString('base64');
        const code: unknown = await commit(backend, put(`a/${i}`, 0, { text })).then(
          (object) => void acknowledged.set(object.key, object.revision),
          (error: unknown) => (error as { code?: string }).code,
        );
        expect([undefined, 'unavailable', 'unknown-outcome']).toContain(code);
        if (code === 'unknown-outcome') unknown.add(`a/${i}`);
      }
      await expect(commit(backend, put('a/refused', 0))).rejects.toMatchObject({ code: 'unavailable' });
      expect(acknowledged.size).toBeGreaterThan(0);
      await expect(backend.health.ping()).rejects.toMatchObject({ code: 'unavailable' });
      await mongod.kill('SIGKILL');
      mongod.fileLimit = undefined;
      await mongod.launch();
      await set.command({ ping: 1 });
      await until('writes are taken', () =>
        backend.write(put('a/after', 0)).then(
          () => true,
          () => false,
        ),
      );
      const after = await opened({ ...options, uri: set.uri, ...PATIENT });
      const { items } = await after.list(RESOURCE, everything);
      const found = new Map(items.map((object) => [object.key, object.revision]));
      for (const [name, at] of acknowledged) expect([name, found.get(name)]).toEqual([name, at]);
      // Other than those, only writes with an unknown outcome may exist.
      for (const name of found.keys()) if (!acknowledged.has(name) && !unknown.has(name)) expect(name).toBe('a/after');
      const events = await collect(after, 1, found.size);
      expect(events.map((event) => event.revision)).toEqual(events.map((_, i) => i + 2));
    } finally {
      await closeAll();
      await set.dispose();
    }
  });
});

described('a MongoDB that hangs', () => {
  let set: ReplicaSet;
  const member = (): Mongod => set.members[0] as Mongod;
  beforeAll(async () => {
    set = await ReplicaSet.start(mongodPath());
  });
  afterAll(() => set.dispose());
  const left = async (backend: MongoBackend): Promise<void> => {
    // By default the driver waits until MongoDB resumes.
    await backend.close();
    open.splice(open.indexOf(backend), 1);
  };

  test('delays no request beyond its timeout, and after it resumes, each write is there at most once', async () => {
    const options = { uri: `${set.uri}${IMPATIENT}`, database: newDatabase(), writeMillis: 3_000 };
    const [backend, other] = [await openedAtLast(options), await openedAtLast(options)];
    const seen: number[] = [];
    const controller = new AbortController();
    const reading = (async () => {
      for await (const batch of other.events(1, controller.signal)) seen.push(...batch.map(({ revision }) => revision));
    })();
    const ending = new AbortController();
    const outcomes: (string | undefined)[][] = [];
    const writers = Array.from({ length: 12 }, async (_, w) => {
      for (let i = 0; !ending.signal.aborted; i++) {
        await pause(1);
        const outcome = await backend.write(put(`w${w}/k${i}`, 0, { i })).then(
          (result) => result.outcome as string,
          (error: unknown) => (error as { code?: string }).code,
        );
        outcomes.push([`w${w}/k${i}`, outcome]);
      }
    });
    const committed = (): number => outcomes.filter(([, outcome]) => outcome === 'committed').length;
    const getOn = async (): Promise<void> => {
      const before = committed();
      await until('writes go on', () => committed() >= before + 24);
    };
    try {
      for (let round = 0; round < 2; round++) {
        await getOn();
        member().freeze();
        // MongoDB resumes only after every caller has its answer.
        await Promise.all([
          expect(backend.write(put(`late/${round}`, 0))).rejects.toMatchObject({
            code: expect.stringMatching(/^un/) as string,
          }),
          expect(other.health.ping()).rejects.toMatchObject({ code: 'unavailable' }),
        ]).finally(() => {
          member().thaw();
        });
      }
      await getOn();
    } finally {
      ending.abort();
    }
    await Promise.all(writers);
    await until('it answers', () =>
      other.health.ping().then(
        () => true,
        () => false,
      ),
    );
    const newest = await other.currentRevision();
    const events = await collect(other, 1, newest - 1);
    expect(events.map((event) => event.revision)).toEqual(Array.from({ length: newest - 1 }, (_, i) => i + 2));
    const added = events.map((event) => event.key);
    expect(new Set(added).size).toBe(added.length);
    const byOutcome = (wanted: string): unknown[] =>
      outcomes.filter(([, outcome]) => outcome === wanted).map(([key]) => key);
    expect(added).toEqual(expect.arrayContaining(byOutcome('committed')));
    // Writes that were reported as not committed do not exist.
    for (const key of byOutcome('unavailable')) expect(added).not.toContain(key);
    // A freeze during a commit, and so an unknown outcome, is a matter of chance here. test/storage/mongodb.test.ts forces one.
    const reported = new Set(outcomes.map(([, outcome]) => outcome));
    expect(
      [...reported].filter((outcome) => !['committed', 'unavailable', 'unknown-outcome'].includes(outcome ?? '')),
    ).toEqual([]);
    await until('all is heard of', () => seen.length >= events.length && other.health.following().ok);
    expect(seen).toEqual(events.map((event) => event.revision));
    controller.abort();
    await reading;
  });

  test('does not delay close, frozen or gone, even with writes in flight', async () => {
    const options = { uri: set.uri, database: newDatabase(), ...PATIENT };
    const [idle, busy] = [await opened(options), await opened(options)];
    await commit(idle, put('a/b', 0));
    member().freeze();
    try {
      const write = expect(busy.write(put('a/c', 0))).rejects.toMatchObject({
        code: expect.stringMatching(/^un/) as string,
      });
      await Promise.all([left(idle), left(busy), write]);
    } finally {
      member().thaw();
    }
    const next = await opened(options);
    await member().kill('SIGKILL');
    await until('it is noticed', () => !next.health.following().ok);
    await left(next);
    await member().launch();
  });
});

described('TLS', () => {
  let folder: string;
  let mongod: Mongod;
  let set: ReplicaSet;
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  };
  const issue = (name: string, subject: string, extension: string): void => {
    openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
    writeFileSync(join(folder, `${name}.ext`), extension);
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...signed);
    const pem = ['key', 'crt'].map((part) => readFileSync(join(folder, `${name}.${part}`), 'utf8')).join('');
    writeFileSync(join(folder, `${name}.pem`), pem);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'annex-tls-'));
    openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-days',
      '2',
      '-subj',
      '/CN=ca',
    );
    issue(
      'server',
      '/O=servers/CN=localhost',
      'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth',
    );
    issue('client', '/O=clients/CN=annex', 'extendedKeyUsage=clientAuth');
    const file = (name: string): string => join(folder, name);
    const flags = ['--replSet', 'rs0', '--tlsMode', 'preferTLS', '--tlsAllowConnectionsWithoutCertificates'];
    mongod = await Mongod.start(mongodPath(), [
      ...flags,
      '--tlsCAFile',
      file('ca.crt'),
      '--tlsCertificateKeyFile',
      file('server.pem'),
    ]);
    set = await ReplicaSet.of([mongod]);
    await withClient(set.uri, (client) =>
      client.db('$external').command({ createUser: 'CN=annex,O=clients', roles: [{ role: 'readWrite', db: 'tls' }] }),
    );
  });
  afterEach(closeAll);
  afterAll(async () => {
    await set.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  test('the URI asks for TLS and for X.509 authentication', async () => {
    const tls = `${set.uri}&tls=true&tlsCAFile=${encodeURIComponent(join(folder, 'ca.crt'))}`;
    const encrypted = await opened({ uri: tls, database: 'tls', ...PATIENT });
    const { revision } = await commit(encrypted, put('a/b', 0));
    const certificate = `&tlsCertificateKeyFile=${encodeURIComponent(join(folder, 'client.pem'))}`;
    const known = await opened({
      uri: `${tls}${certificate}&authMechanism=MONGODB-X509&authSource=$external`,
      database: 'tls',
      ...PATIENT,
    });
    expect((await known.get(RESOURCE, 'a/b'))?.revision).toBe(revision);
    // With a certificate of another CA, and without a certificate where authentication requires one.
    const untrusted = /^MongoDB at 127\.0\.0\.1:\d+ cannot be (reached|used).*certificate/;
    expect(await failureOf(`${set.uri}&tls=true`, untrusted)).toMatch(untrusted);
    const reported = /^MongoDB at 127\.0\.0\.1:\d+ /;
    expect(await failureOf(`${tls}&authMechanism=MONGODB-X509&authSource=$external`, reported)).toMatch(reported);
  });
});
