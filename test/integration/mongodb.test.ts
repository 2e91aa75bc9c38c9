import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { ancientMongod } from '../storage/ancient-mongod.js';
import { findMongod, Mongod, ReplicaSet, withClient } from '../storage/mongod.js';
import { dig, digList, digText, Http1, Http2, treeOf, WatchReader } from './client.js';
import { configMap, namespace } from './objects.js';
import { eventually, run, scratchFolder, TestServer } from './server.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
const path = 'path' in found ? found.path : '';
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

const MAPS = '/api/v1/namespaces/shop/configmaps';
let databases = 0;

/** A server on a shared database. */
interface Replica {
  server: TestServer;
  http: Http1;
}

const running = new Set<TestServer>();
const sets: ReplicaSet[] = [];
const lone: Mongod[] = [];
const folder = scratchFolder(async () => {
  await Promise.all([...running].map((server) => server.stop('SIGKILL')));
  await Promise.all([...sets, ...lone].map((each) => each.dispose()));
});

async function replicaSet(size: number): Promise<ReplicaSet> {
  const set = await ReplicaSet.start(path, size);
  sets.push(set);
  return set;
}

/** Starts servers on one database, each with its own folder. The first one creates the database. */
class Replicas {
  private readonly database = `replicas${process.pid}-${++databases}`;
  private folders = 0;

  constructor(
    private readonly uri: string,
    private readonly flags: readonly string[],
  ) {}

  async start(): Promise<Replica> {
    const own = join(folder, `${this.database}-${++this.folders}`);
    mkdirSync(own);
    // Servers on one database have the same keys.
    if (this.folders > 1)
      cpSync(join(folder, `${this.database}-1`, 'data', 'pki'), join(own, 'data', 'pki'), { recursive: true });
    writeFileSync(join(own, 'uri'), this.uri);
    const flags = ['--storage-backend=mongodb', '--mongodb-uri-file', join(own, 'uri'), '--controllers='];
    const server = await TestServer.start(own, [...flags, '--mongodb-database', this.database, ...this.flags]);
    running.add(server);
    return { server, http: new Http1(server) };
  }
}

async function end({ server }: Replica, signal: NodeJS.Signals): Promise<void> {
  await server.stop(signal);
  running.delete(server);
}

async function watch({ http }: Replica, resourceVersion: string): Promise<WatchReader> {
  return new WatchReader(await http.open({ path: `${MAPS}?watch=true&resourceVersion=${resourceVersion}` }));
}

const describeEvent = (event: JsonObject): string =>
  ['type', 'object.metadata.name', 'object.metadata.resourceVersion', 'object.data.n']
    .map((at) => digText(event, ...at.split('.')))
    .join(' ');

const versionOf = (list: JsonObject): string => digText(list, 'metadata', 'resourceVersion');

async function listed({ http }: Replica, query: string): Promise<JsonObject> {
  const answer = await http.get(`${MAPS}?${query}`);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return treeOf(answer);
}

/** Increments a counter this many times, in competition with others. */
async function increment({ http }: Replica, name: string, times: number): Promise<void> {
  for (let done = 0; done < times;) {
    const current = treeOf(await http.get(`${MAPS}/${name}`));
    const n = Number(digText(current, 'data', 'n')) + 1;
    const answer = await http.send({
      method: 'PUT',
      path: `${MAPS}/${name}`,
      body: { ...current, data: { n: String(n) } },
    });
    if (answer.status === 200) done++;
    else if (answer.status !== 409) throw new Error(`${answer.status} ${answer.text}`);
  }
}

const COUNTERS = ['red', 'green'];
const TIMES = 12;

async function contend(replicas: readonly Replica[]): Promise<void> {
  const [first] = replicas;
  await first?.http.post('/api/v1/namespaces', namespace('shop'));
  for (const name of COUNTERS) await first?.http.post(MAPS, configMap(name, { n: '0' }));
  const start = versionOf(await listed(first as Replica, 'limit=1'));
  const watches = await Promise.all(replicas.map((replica) => watch(replica, start)));
  const writers = replicas.flatMap((replica, r) => [
    ...COUNTERS.map((name) => increment(replica, name, TIMES)),
    ...[1, 2, 3].map(async (w) => {
      for (let i = 0; i < 8; i++) {
        const { status } = await replica.http.post(MAPS, configMap(`r${r}-${w}-${i}`, { n: String(i) }));
        expect(status).toBe(201);
      }
    }),
  ]);
  await Promise.all(writers);
  const expected = replicas.length * (COUNTERS.length * TIMES + 24);
  for (const each of watches) await each.until(({ events }) => events.length >= expected);
  const [reference = []] = watches.map(({ events }) => events.map(describeEvent));
  expect(reference).toHaveLength(expected);
  // Every event arrives once and in order: revisions increase. All watches agree.
  const revisions = reference.map((text) => Number(text.split(' ')[2]));
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  for (const { events } of watches) expect(events.map(describeEvent)).toEqual(reference);
  // No update is lost: each counter includes every acknowledged increment.
  for (const name of COUNTERS) {
    const values = reference.filter((text) => text.startsWith(`MODIFIED ${name} `)).map((text) => text.split(' ')[3]);
    expect(values).toEqual(Array.from({ length: replicas.length * TIMES }, (_, i) => String(i + 1)));
  }
  // Lists at the newest and at past revisions agree.
  for (const revision of [revisions.at(-1), revisions[Math.floor(revisions.length / 2)], revisions[3]]) {
    const query = `resourceVersion=${String(revision)}&resourceVersionMatch=Exact`;
    const lists = await Promise.all(replicas.map((replica) => listed(replica, query)));
    for (const list of lists) expect(list).toEqual(lists[0]);
    expect(versionOf(lists[0] ?? {})).toBe(String(revision));
  }
}

/** Continue tokens and revisions from one replica work on the others, including those started later. */
async function tokensHold(giver: Replica, takers: readonly Replica[]): Promise<void> {
  const page = await listed(giver, 'limit=10');
  const token = encodeURIComponent(digText(page, 'metadata', 'continue'));
  const all = await listed(giver, `resourceVersion=${versionOf(page)}&resourceVersionMatch=Exact`);
  await giver.http.post(MAPS, configMap(`later-${versionOf(page)}`, { n: '0' }));
  const names = digList(all, 'items').map((item) => digText(item, 'metadata', 'name'));
  for (const taker of takers) {
    const rest = await listed(taker, `continue=${token}`);
    expect(versionOf(rest)).toBe(versionOf(page));
    const shown = [page, rest]
      .flatMap((list) => digList(list, 'items'))
      .map((item) => digText(item, 'metadata', 'name'));
    expect(shown).toEqual(names);
    const watched = await watch(taker, versionOf(page));
    await watched.until(({ events }) => events.length > 0);
    expect(describeEvent(watched.events[0] ?? {})).toContain(`ADDED later-${versionOf(page)} `);
  }
}

/** Detects an unresponsive server quickly, but without false positives on a busy machine. */
const IMPATIENT = '&heartbeatFrequencyMS=1000&connectTimeoutMS=5000&serverSelectionTimeoutMS=5000';

function stand(mongod: Mongod): Promise<void> {
  mongod.freeze();
  return Promise.resolve();
}

function goOn(mongod: Mongod): Promise<void> {
  mongod.thaw();
  return Promise.resolve();
}

async function servesFromMemory({ http }: Replica): Promise<void> {
  const refused = await http.post(MAPS, configMap('refused', { n: '1' }));
  // If the commit may have been sent, the client gets an unknown outcome, without Retry-After.
  const reported = `${refused.status} ${digText(treeOf(refused), 'reason')} ${String(refused.headers['retry-after'])}`;
  expect(['503 ServiceUnavailable 1', '500 InternalError undefined']).toContain(reported);
  const fresh = await http.get(`${MAPS}/kept`);
  expect([503, 504]).toContain(fresh.status);
  // The write may have taken 20 s. Once an outage has lasted for 15 s, clients are not told to try again.
  expect(['1', undefined]).toContain(fresh.headers['retry-after']);
  const read = await http.get(`${MAPS}?resourceVersion=0`);
  expect(digList(treeOf(read), 'items').map((item) => digText(item, 'metadata', 'name'))).toEqual(['kept']);
  for (const served of ['/api/v1', '/apis', '/openapi/v2', '/openapi/v3', '/version'])
    expect([served, (await http.get(served)).status]).toEqual([served, 200]);
  const ready = await eventually('readyz names both', async () => {
    const { status, text } = await http.get('/readyz');
    return status === 500 && text.includes('[-]etcd') && text.includes('[-]change-stream') ? text : undefined;
  });
  expect(ready).not.toContain('127.0.0.1');
}

described('servers that share one MongoDB', () => {
  test.each([
    ['two', 2, []],
    ["three, with a log of the type's own,", 3, ['--mongodb-log-overrides', '/configmaps#maps']],
  ] as const)('%s agree, also after restarts', async (_, count, flags) => {
    const set = sets[0] ?? (await replicaSet(1));
    const group = new Replicas(set.uri, flags);
    const replicas = [await group.start()];
    replicas.push(...(await Promise.all(Array.from({ length: count - 1 }, () => group.start()))));
    await contend(replicas);
    const [first, second] = replicas as [Replica, Replica];
    await tokensHold(first, replicas.slice(1));
    const page = await listed(first, 'limit=10');
    await end(first, 'SIGKILL');
    const again = await group.start();
    const rest = await listed(again, `continue=${encodeURIComponent(digText(page, 'metadata', 'continue'))}`);
    expect(versionOf(rest)).toBe(versionOf(page));
    await tokensHold(second, [again]);
    await Promise.all([again, ...replicas.slice(1)].map((replica) => end(replica, 'SIGTERM')));
  });

  test.each([
    ['is gone', (mongod: Mongod) => mongod.kill('SIGKILL'), (mongod: Mongod) => mongod.launch()],
    ['is suspended', (mongod: Mongod) => stand(mongod), (mongod: Mongod) => goOn(mongod)],
  ])(
    'while MongoDB %s, writes fail, memory serves reads, readyz names the cause, and all recovers',
    async (_, takeAway, giveBack) => {
      const set = sets[0] ?? (await replicaSet(1));
      const replica = await new Replicas(`${set.uri}${IMPATIENT}`, []).start();
      const { http, server } = replica;
      await http.post('/api/v1/namespaces', namespace('shop'));
      const created = treeOf(await http.post(MAPS, configMap('kept', { n: '1' })));
      const watched = await watch(replica, digText(created, 'metadata', 'resourceVersion'));
      const [mongod] = set.members as [Mongod];
      await takeAway(mongod);
      try {
        await servesFromMemory(replica);
      } finally {
        await giveBack(mongod);
      }
      await eventually('ready again', async () => ((await http.get('/readyz')).status === 200 ? true : undefined));
      const after = await http.post(MAPS, configMap('after', { n: '2' }));
      expect(after.status).toBe(201);
      await watched.until(({ events }) => events.some((event) => describeEvent(event).startsWith('ADDED after ')));
      const reported = watched.events.map((event) => digText(event, 'object', 'metadata', 'name'));
      expect(new Set(reported).size).toBe(reported.length);
      const { text } = await http.get('/metrics');
      expect(Number(/^annex_store_change_stream_errors_total\{log=""\} (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
      expect(server.log).toMatch(/"message":"MongoDB change stream failed; reopening it"/);
      await end(replica, 'SIGTERM');
    },
  );

  test('SIGTERM ends a server in time if MongoDB is gone or hangs, with open watches and writes', async () => {
    const faults = [(mongod: Mongod) => mongod.kill('SIGKILL'), stand];
    await Promise.all(
      faults.map(async (takeAway) => {
        const set = await replicaSet(1);
        const replica = await new Replicas(set.uri, []).start();
        await replica.http.post('/api/v1/namespaces', namespace('shop'));
        const created = treeOf(await replica.http.post(MAPS, configMap('kept', { n: '1' })));
        await watch(replica, digText(created, 'metadata', 'resourceVersion'));
        await takeAway(set.members[0] as Mongod);
        const http = new Http2(replica.server);
        const answers = [
          http.send({ method: 'POST', path: MAPS, body: configMap('refused', { n: '1' }) }),
          http.send({ method: 'DELETE', path: `${MAPS}/kept` }),
          http.send({ path: `${MAPS}/kept` }),
        ];
        // Another response on the same connection proves that they have arrived.
        await http.send({ path: '/version' });
        const begun = performance.now();
        const { code } = await replica.server.stop('SIGTERM');
        running.delete(replica.server);
        expect(code).toBe(0);
        // An idle machine takes half of it. Without a limit, the server would wait until MongoDB resumes.
        expect(performance.now() - begun).toBeLessThan(60_000);
        for (const { status, headers } of await Promise.all(answers)) {
          expect([500, 503, 504]).toContain(status);
          expect(headers['retry-after']).toBe(status === 500 ? undefined : '1');
        }
      }),
    );
  });

  test('an object that does not fit in a document is rejected as too large', async () => {
    const set = sets[0] ?? (await replicaSet(1));
    const replica = await new Replicas(set.uri, ['--max-request-body-bytes', String(32 << 20)]).start();
    await replica.http.post('/api/v1/namespaces', namespace('shop'));
    const secret = (bytes: number): object => ({
      ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
      metadata: { name: 'large', namespace: 'shop', labels: { bytes: String(bytes) } },
      imagePullSecrets: [{ name: 'x'.repeat(bytes) }],
    });
    const path = '/api/v1/namespaces/shop/serviceaccounts';
    const refused = await replica.http.post(path, secret(9 << 20));
    expect(refused.status).toBe(413);
    expect(treeOf(refused)).toMatchObject({
      kind: 'Status',
      reason: 'RequestEntityTooLarge',
      message: expect.stringMatching(/the object is \d+ bytes; the maximum is \d+ bytes/) as string,
    });
    expect((await replica.http.post(path, secret(5 << 20))).status).toBe(201);
    await end(replica, 'SIGTERM');
  });

  test('selectable fields have indexes, which follow the definition', async () => {
    const set = sets[0] ?? (await replicaSet(1));
    const database = `indexes${process.pid}`;
    const own = scratch('indexes');
    const flags = ['--storage-backend=mongodb', '--mongodb-uri', set.uri, '--mongodb-database', database];
    const server = await TestServer.start(own, flags);
    running.add(server);
    const http = new Http1(server);
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    expect((await http.post(crds, definition(['.spec.color', '.spec.size']))).status).toBe(201);
    await withClient(set.uri, async (client) => {
      const paints = client.db(database).collection('paints.shop.example.com');
      const names = async (): Promise<string> =>
        (
          await paints
            .listIndexes()
            .toArray()
            .catch(() => [])
        )
          .map(({ name }) => String(name))
          .sort()
          .join(' ');
      const become = (wanted: string): Promise<true> =>
        eventually(wanted, async () => ((await names()) === wanted ? true : undefined));
      await become('_id_ annex:spec.color annex:spec.size');
      const widgets = '/apis/shop.example.com/v1/namespaces/default/paints';
      for (const [name, color] of Object.entries({ a: 'red', b: 'blue', c: 'red' })) {
        const body = { apiVersion: 'shop.example.com/v1', kind: 'Paint', metadata: { name }, spec: { color, size: 3 } };
        await eventually('served', async () => ((await http.post(widgets, body)).status === 201 ? true : undefined));
      }
      await eventually('all is projected', async () => ((await paints.countDocuments()) === 3 ? true : undefined));
      const plan = await paints.find({ 'spec.color': 'red' }).explain('executionStats');
      expect(JSON.stringify(plan['queryPlanner'])).toContain('"indexName":"annex:spec.color"');
      expect(dig(plan['executionStats'] as JsonObject, 'totalDocsExamined')).toBe(2);
      // An index created by a user stays.
      await paints.createIndex({ 'spec.note': 1 }, { name: 'mine' }, {});
      const patched = await http.send({
        method: 'PATCH',
        path: `${crds}/paints.shop.example.com`,
        headers: { 'content-type': 'application/json-patch+json' },
        body: JSON.stringify([
          {
            op: 'replace',
            path: '/spec/versions/0/selectableFields',
            value: [{ jsonPath: '.spec.size' }, { jsonPath: '.spec.note' }],
          },
        ]),
      });
      expect(patched.status).toBe(200);
      await become('_id_ annex:spec.size mine');
    });
    await server.stop();
    running.delete(server);
  });
});

described('a MongoDB that is too old', () => {
  // 4.0, which the driver no longer supports, and 4.4, which it supports.
  test.each([7, 9])('is refused in one line (wire version %d)', async (version) => {
    const ancient = await ancientMongod(version);
    const own = scratch(`ancient${version}`);
    const flags = ['--storage-backend=mongodb', '--mongodb-uri', ancient.uri];
    const { code, stdout, stderr } = await run(['serve', '--data-dir', own, '--secure-port', '0', ...flags]);
    ancient.close();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^annex: MongoDB at 127\.0\.0\.1:\d+ is too old: the minimum version is 5\.0\n$/);
  });
});

described('a MongoDB with authentication', () => {
  const PASSWORD = 'swordfish%2F7';
  test('reads the password from a file and never exposes it', async () => {
    const mongod = await Mongod.start(path, ['--replSet', 'rs0', '--auth', '--keyFile', keyFile()]);
    lone.push(mongod);
    const root = { user: 'root', pwd: 'root', roles: ['root'] };
    const set = await ReplicaSet.of([mongod], async (client) => {
      // Any process on the same host may create the first user, but only in the database admin.
      await client.db('admin').command({ createUser: root.user, pwd: root.pwd, roles: root.roles });
    });
    await withClient(set.uri.replace('//', `//${root.user}:${root.pwd}@`), (client) =>
      client
        .db('admin')
        .command({ createUser: 'annex', pwd: 'swordfish/7', roles: [{ role: 'readWrite', db: 'secure' }] }),
    );
    const uri = (password: string): string => set.uri.replace('//', `//annex:${password}@`).concat('&authSource=admin');
    const own = scratch('auth');
    writeFileSync(join(own, 'uri'), `${uri(PASSWORD)}${IMPATIENT}\n`);
    writeFileSync(join(own, 'wrong'), uri('guess'));
    const common = ['--storage-backend=mongodb', '--mongodb-database', 'secure', '--controllers=', '-v', '6'];
    const server = await TestServer.start(own, [...common, '--mongodb-uri-file', join(own, 'uri')]);
    running.add(server);
    const http = new Http1(server);
    expect((await http.post('/api/v1/namespaces', namespace('shop'))).status).toBe(201);
    await mongod.kill('SIGKILL');
    const [refused, unread] = await Promise.all([
      http.post(`${MAPS}?timeout=4s`, configMap('a', { n: '1' })),
      http.get(`${MAPS}/a`),
    ]);
    expect([unread.status, unread.text]).toEqual([
      503,
      expect.stringMatching(/MongoDB (does not answer|has not answered)/),
    ]);
    expect(refused.text + unread.text).not.toContain('127.0.0.1');
    const metrics = await http.get('/metrics');
    const health = await http.get('/readyz/etcd');
    const { stdout, stderr } = await server.stop('SIGKILL');
    running.delete(server);
    await mongod.launch();
    // The errors below come only from a primary, so wait for one.
    await withClient(set.uri.replace('//', `//${root.user}:${root.pwd}@`), (client) =>
      client.db('admin').command({ ping: 1 }),
    );
    for (const said of [stdout, stderr, refused.text, unread.text, metrics.text, health.text])
      expect(said).not.toContain('swordfish');
    const serve = ['serve', '--data-dir', join(own, 'other'), '--secure-port', '0', ...common];
    const wrong = await run([...serve, '--mongodb-uri-file', join(own, 'wrong')]);
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr.trim()).toMatch(/^\S.*rejected the credentials in the MongoDB URI.*$/);
    expect(wrong.stdout + wrong.stderr).not.toContain('guess');
    const forbidden = await run([...serve, '--mongodb-database', 'elsewhere', '--mongodb-uri-file', join(own, 'uri')]);
    expect(forbidden.code).not.toBe(0);
    expect(forbidden.stderr.trim()).toMatch(/^\S.*does not allow the user of the MongoDB URI to use the database.*$/);
    expect(forbidden.stdout + forbidden.stderr).not.toContain('swordfish');
  });
});

function scratch(name: string): string {
  const own = join(folder, name);
  mkdirSync(own);
  return own;
}

function keyFile(): string {
  const file = join(folder, 'key');
  writeFileSync(file, 'secretofthemembers', { mode: 0o600 });
  return file;
}

function definition(fields: readonly string[]): object {
  const property = { type: 'string' };
  const spec = { type: 'object', properties: { color: property, note: property, size: { type: 'integer' } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'paints.shop.example.com' },
    spec: {
      group: 'shop.example.com',
      scope: 'Namespaced',
      names: { plural: 'paints', singular: 'paint', kind: 'Paint', listKind: 'PaintList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          selectableFields: fields.map((jsonPath) => ({ jsonPath })),
        },
      ],
    },
  };
}
