import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { findMongod, freePort, type Mongod, pause, ReplicaSet } from '../storage/mongod.js';
import { ask, once, refusals, type Seen } from './asking.js';
import { type Address, type Answer, type Call, digText, Http1, treeOf } from './client.js';
import { definition, namespace } from './objects.js';
import { ADMIN, Command, eventually, NOBODY, scratchFolder, START_MILLIS } from './server.js';

/** The number of restarts of each store. 100 restarts take minutes. */
const RESTARTS = Number(process.env['ANNEX_RESTARTS'] ?? 4);
/** The number of restarts with a slow connection: each one takes many round trips. */
const SLOW_RESTARTS = RESTARTS > 4 ? RESTARTS : 1;
const PATHS_TEXT = 'the request has been made before all known HTTP paths have been installed, please try again';
const GROUP = 'start.example.com';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const MAPS = '/api/v1/namespaces/shop/configmaps';
const WIDGETS = '/apis/start.example.com/v1/namespaces/shop/widgets';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
const mongodPath = 'path' in found ? found.path : '';
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

const running = new Set<Command>();
const mongods: Mongod[] = [];
const proxies: SlowProxy[] = [];
const folder = scratchFolder(async () => {
  for (const command of running) command.child.kill('SIGKILL');
  await Promise.all([...running].map(({ exit }) => exit));
  await Promise.all([...mongods.map((each) => each.dispose()), ...proxies.map((each) => each.close())]);
});

/** Forwards to a port on loopback and delays each packet. */
class SlowProxy {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(target: number, millis: number): Promise<SlowProxy> {
    const server = createServer();
    const proxy = new SlowProxy(server);
    const later = (from: Socket, to: Socket): void => {
      proxy.sockets.add(from);
      from.on('data', (bytes: Buffer) => void setTimeout(() => to.write(bytes), millis));
      from.on('close', () => to.destroy()).on('error', () => to.destroy());
    };
    server.on('connection', (client) => {
      const upstream = connect(target, '127.0.0.1');
      later(client, upstream);
      later(upstream, client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    proxies.push(proxy);
    return proxy;
  }

  get uri(): string {
    const address = this.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return `mongodb://127.0.0.1:${port}/?directConnection=true`;
  }

  close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

/** A server that is restarted repeatedly on one port and one store. */
class Restarted implements Address {
  command: Command | undefined;

  private constructor(
    private readonly own: string,
    private readonly port: number,
    private readonly flags: readonly string[],
  ) {}

  static async make(name: string, flags: readonly string[]): Promise<Restarted> {
    const own = join(folder, name);
    mkdirSync(own);
    const users = `${ADMIN},admin,admin,system:masters\n${NOBODY},jane,jane-uid,"readers,writers"\n`;
    writeFileSync(join(own, 'tokens.csv'), users);
    return new Restarted(own, await freePort(), flags);
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  get ca(): string {
    return readFileSync(join(this.own, 'data/ca.crt'), 'utf8');
  }

  start(flags = this.flags): Command {
    const place = ['--data-dir', join(this.own, 'data'), '--secure-port', String(this.port)];
    const tokens = ['--bind-address', '127.0.0.1', '--token-auth-file', join(this.own, 'tokens.csv')];
    const command = new Command(['serve', ...place, ...tokens, ...flags]);
    running.add(command);
    this.command = command;
    return command;
  }

  async kill(): Promise<void> {
    this.command?.child.kill('SIGKILL');
    await this.command?.exit;
    if (this.command !== undefined) running.delete(this.command);
  }

  async ready(): Promise<Http1> {
    const { command } = this;
    await eventually('the server is ready', () => {
      if (command?.child.exitCode !== null) throw new Error(`the server ended: ${command?.stderr ?? ''}`);
      return Promise.resolve(command.stdout.includes('Annex serves') ? true : undefined);
    });
    return new Http1(this);
  }
}

/** Creates custom and built-in objects, and a user with RBAC permissions. Returns a service account token. */
async function fill(http: Http1): Promise<string> {
  const must = async (call: Call): Promise<Answer> => {
    const answer = await http.send(call);
    if (answer.status >= 300) throw new Error(`${call.path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const post = (path: string, body: object): Promise<Answer> => must({ method: 'POST', path, body });
  await post('/api/v1/namespaces', namespace('shop'));
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await post(crds, definition('start.example.com', 'widgets', 'Widget'));
  await eventually('the definition is served', async () =>
    (await http.get(WIDGETS)).status === 200 ? true : undefined,
  );
  await post(WIDGETS, { apiVersion: 'start.example.com/v1', kind: 'Widget', metadata: { name: 'w' } });
  await post(MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' } });
  await post('/api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'robot' } });
  await post(`${RBAC}/clusterroles`, {
    metadata: { name: 'look' },
    rules: [{ apiGroups: ['', 'start.example.com'], resources: ['configmaps', 'widgets'], verbs: ['*'] }],
  });
  await post(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'look' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'look' },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' },
      { kind: 'ServiceAccount', namespace: 'shop', name: 'robot' },
    ],
  });
  const token = await post('/api/v1/namespaces/shop/serviceaccounts/robot/token', {
    spec: { expirationSeconds: 7200 },
  });
  return digText(treeOf(token), 'status', 'token');
}

/** Requests for things that exist, sent by users who may access them. */
function questions(robot: string): Call[] {
  const dryRun = { method: 'DELETE', body: { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] } };
  const patch = {
    method: 'PATCH',
    body: { metadata: { labels: { a: 'b' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  };
  const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const paths = ['/apis', '/api', '/apis/start.example.com', '/apis/start.example.com/v1', '/openapi/v3'];
  return [
    ...[ADMIN, NOBODY, robot].flatMap((token): Call[] => [
      { token, path: WIDGETS },
      { token, path: `${WIDGETS}/w` },
      { token, path: `${WIDGETS}?watch=true` },
      { token, path: `${MAPS}/m` },
      { token, path: MAPS },
      { token, path: `${WIDGETS}/w`, ...dryRun },
      { token, path: `${WIDGETS}/w?dryRun=All`, ...patch },
    ]),
    ...[...paths, '/openapi/v3/apis/start.example.com/v1'].map((path): Call => ({ path })),
    { path: '/apis', headers: { accept: aggregated } },
    { path: '/readyz', token: '' },
  ];
}

/** Starts the server while all clients already send requests. Each client must get its answer in the end, and no wrong answer before that. */
async function restart(
  server: Restarted,
  robot: string,
  flags?: readonly string[],
  meanwhile?: () => Promise<void>,
): Promise<Seen[]> {
  await server.kill();
  const http = new Http1(server);
  let ended = false;
  const asking = questions(robot).map((call) => ask(http, call, GROUP, () => ended));
  const command = server.start(flags);
  void command.exit.then(() => (ended = true));
  const [seen] = await Promise.all([Promise.all(asking), meanwhile?.()]);
  await server.ready();
  const readyz = async (): Promise<number> => (await http.send({ path: '/readyz', token: '' })).status;
  // If MongoDB went away when the start was over, or almost over, the server reconnects a moment later.
  if (meanwhile !== undefined)
    await eventually('it is ready again', async () => ((await readyz()) === 200 ? true : undefined));
  else expect(await readyz()).toBe(200);
  for (const { answers } of seen) expect([...answers.keys()]).toContain(200);
  return seen;
}

const TIMEOUT = START_MILLIS + RESTARTS * 30_000;

test(
  'embedded store: no valid request is denied after a restart',
  async () => {
    const server = await Restarted.make('embedded', []);
    server.start();
    const robot = await fill(await server.ready());
    let refused = 0;
    for (let i = 0; i < RESTARTS; i++) refused += refusals(await restart(server, robot));
    // Otherwise no request came early enough for the test to prove anything.
    expect(refused).toBeGreaterThan(0);
    await server.kill();
  },
  TIMEOUT,
);

test(
  'definitions that change constantly are never denied',
  async () => {
    const server = await Restarted.make('changing', []);
    server.start();
    const http = await server.ready();
    const robot = await fill(http);
    let over = false;
    const wrong: string[] = [];
    const readers = questions(robot).map(async (call) => {
      while (!over) {
        const answer = await once(http, call);
        const isFine =
          answer?.status === 200 || (answer?.status === 503 && answer.headers['retry-after'] !== undefined);
        if (answer !== undefined && !isFine) wrong.push(`${call.path}: ${answer.status} ${answer.text.slice(0, 200)}`);
      }
    });
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.start.example.com';
    for (let i = 0; i < 25; i++) {
      const body = [
        { op: 'add', path: '/spec/versions/0/schema/openAPIV3Schema/description', value: `change ${i}` },
        { op: 'add', path: '/spec/names/categories', value: [`c${i}`] },
      ];
      const headers = { 'content-type': 'application/json-patch+json' };
      expect((await http.send({ method: 'PATCH', path, body, headers })).status).toBe(200);
      await http.get(WIDGETS);
    }
    over = true;
    await Promise.all(readers);
    expect(wrong).toEqual([]);
    await server.kill();
  },
  TIMEOUT,
);

described('MongoDB', () => {
  let set: ReplicaSet;
  let server: Restarted;
  let robot: string;
  const flagsOf = (uri: string): string[] => {
    const file = join(folder, `uri-${Math.random()}`);
    writeFileSync(file, uri);
    return ['--storage-backend=mongodb', '--mongodb-uri-file', file, '--mongodb-database', 'startup'];
  };

  beforeAll(async () => {
    set = await ReplicaSet.start(mongodPath);
    mongods.push(...set.members);
    server = await Restarted.make('mongodb', flagsOf(set.uri));
    server.start();
    robot = await fill(await server.ready());
  }, TIMEOUT);

  test(
    'quick: no valid request is denied after a restart',
    async () => {
      let refused = 0;
      for (let i = 0; i < RESTARTS; i++) refused += refusals(await restart(server, robot));
      expect(refused).toBeGreaterThan(0);
    },
    TIMEOUT,
  );

  test(
    'slow: no valid request is denied after a restart',
    async () => {
      const [member] = set.members;
      const proxy = await SlowProxy.start(member?.port ?? 0, 40);
      const flags = flagsOf(proxy.uri);
      for (let i = 0; i < SLOW_RESTARTS; i++) {
        expect(refusals(await restart(server, robot, flags))).toBeGreaterThan(0);
      }
    },
    TIMEOUT,
  );

  test(
    'absent: the server listens and waits',
    async () => {
      await server.kill();
      const [member] = set.members;
      await member?.kill('SIGKILL');
      const command = server.start();
      const http = new Http1(server);
      await eventually('the log tells of the waiting', () =>
        Promise.resolve(command.stderr.includes('the store is unreachable') ? true : undefined),
      );
      const health = async (path: string): Promise<number> => (await http.send({ path, token: '' })).status;
      expect([await health('/livez'), await health('/livez/ping'), await health('/readyz')]).toEqual([200, 200, 500]);
      for (const call of questions(robot)) {
        if (call.path === '/readyz') continue;
        const answer = await once(http, call);
        expect([call.path, answer?.status, answer?.headers['retry-after']]).toEqual([call.path, 503, '5']);
      }
      const { text } = await http.send({ path: WIDGETS, token: 'nobody-knows-this-one' });
      expect(JSON.parse(text)).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: PATHS_TEXT,
        reason: 'ServiceUnavailable',
        details: { retryAfterSeconds: 5 },
        code: 503,
      });
      // Longer than one connection attempt.
      await pause(7_000);
      expect(await health('/livez')).toBe(200);
      const asking = questions(robot).map((call) => ask(http, call, GROUP, () => false));
      await member?.launch();
      await Promise.all(asking);
      await server.ready();
      expect(await health('/readyz')).toBe(200);
      expect(command.stderr.split('the store is unreachable').length - 1).toBe(1);
      expect(command.stderr.split('the store is reachable; startup continues').length - 1).toBe(1);
    },
    TIMEOUT,
  );

  test(
    'absent at first: no valid request is denied after a restart',
    async () => {
      const [member] = set.members;
      for (let i = 0; i < Math.max(1, RESTARTS / 2); i++) {
        await server.kill();
        await member?.kill('SIGKILL');
        const launched = pause(i % 2 === 0 ? 200 : 1_500).then(() => member?.launch());
        expect(refusals(await restart(server, robot))).toBeGreaterThan(0);
        await launched;
      }
    },
    TIMEOUT,
  );

  test(
    'absent for a while at any point of the start: no valid request is denied, and the start continues',
    async () => {
      const [member] = set.members;
      let startMillis = 0;
      for (let i = 0; i <= RESTARTS; i++) {
        const begun = performance.now();
        // The first round measures how long a start takes.
        const away = async (): Promise<void> => {
          if (i === 0) return;
          await pause((startMillis * (i - 0.5)) / RESTARTS);
          if (i % 2 === 0) {
            await member?.kill('SIGKILL');
            await pause(500);
            await member?.launch();
          } else {
            member?.freeze();
            await pause(2_500);
            member?.thaw();
          }
        };
        await restart(server, robot, undefined, away);
        if (i === 0) startMillis = performance.now() - begun;
      }
    },
    TIMEOUT,
  );

  test(
    'absent: SIGTERM ends the wait',
    async () => {
      const waiting = await Restarted.make('waiting', flagsOf(`mongodb://127.0.0.1:${await freePort()}/?replicaSet=r`));
      const command = waiting.start();
      await eventually('the log tells of the waiting', () =>
        Promise.resolve(command.stderr.includes('the store is unreachable') ? true : undefined),
      );
      command.child.kill('SIGTERM');
      expect(await command.exit).toMatchObject({ code: 0, signal: null });
      running.delete(command);
    },
    TIMEOUT,
  );
});
