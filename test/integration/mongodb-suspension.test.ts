import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMongod, pause, ReplicaSet } from '../storage/mongod.js';
import { digList, digText, Http1, treeOf, type Answer, type Call } from './client.js';
import { configMap, namespace } from './objects.js';
import { eventually, scratchFolder, TestServer } from './server.js';
import { keyFiles } from './key-files.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

const MAPS = '/api/v1/namespaces/shop/configmaps';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/shop/leases';
const WINDOW_MILLIS = 2_000;
const running: TestServer[] = [];
let set: ReplicaSet | undefined;
let keys: string[] | undefined;
const folder = scratchFolder(async () => {
  for (const server of running) server.signal('SIGCONT');
  await Promise.all(running.map((server) => server.stop('SIGKILL')));
  await set?.dispose();
});

async function start(name: string, database: string, flags: readonly string[]): Promise<[TestServer, Http1]> {
  set ??= await ReplicaSet.start('path' in found ? found.path : '');
  const own = join(folder, `${database}-${name}`);
  mkdirSync(own);
  writeFileSync(join(own, 'uri'), set.uri);
  keys ??= keyFiles(join(folder, 'keys'));
  const server = await TestServer.start(own, [
    ...keys,
    '--storage-backend=mongodb',
    '--mongodb-uri-file',
    join(own, 'uri'),
    '--mongodb-database',
    database,
    '--controllers=',
    `--history-window=${WINDOW_MILLIS}ms`,
    ...flags,
  ]);
  running.push(server);
  return [server, new Http1(server)];
}

const lease = (name: string, holder: string): object => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, namespace: 'shop' },
  spec: { holderIdentity: holder, leaseDurationSeconds: 15 },
});

const versionOf = (answer: Answer): number => Number(digText(treeOf(answer), 'metadata', 'resourceVersion'));

async function ok(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  if (got.status >= 300) throw new Error(`${got.status} ${got.text}`);
  return got;
}

const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };

/** One write of each kind. The objects that updates and deletes need exist already. */
function writes(round: number, renewed: object): readonly Call[] {
  const name = (verb: string): string => `${verb}-${round}`;
  const data = { n: 'new' };
  return [
    { method: 'POST', path: MAPS, body: configMap(name('create'), data) },
    { method: 'PUT', path: `${MAPS}/${name('update')}`, body: configMap(name('update'), data) },
    { method: 'PATCH', path: `${MAPS}/${name('patch')}`, body: { data }, headers: MERGE },
    {
      method: 'PATCH',
      path: `${MAPS}/${name('apply')}?fieldManager=test&force=true`,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name('apply') }, data },
      headers: APPLY,
    },
    { method: 'DELETE', path: `${MAPS}/${name('delete')}` },
    { method: 'PUT', path: `${LEASES}/${name('lease')}`, body: renewed },
  ];
}

async function prepare(http: Http1, round: number): Promise<Answer> {
  for (const verb of ['update', 'patch', 'apply', 'delete'])
    await ok(http.post(MAPS, configMap(`${verb}-${round}`, { n: 'old' })));
  return ok(http.post(LEASES, lease(`lease-${round}`, 'old')));
}

/** Returns the objects of a round as one server lists them: resource versions by name. */
async function seen(http: Http1): Promise<Map<string, string>> {
  const lists = await Promise.all([MAPS, LEASES].map((path) => ok(http.get(path))));
  const items = lists.flatMap((list) => digList(treeOf(list), 'items'));
  return new Map(
    items.map((item) => [digText(item, 'metadata', 'name'), digText(item, 'metadata', 'resourceVersion')]),
  );
}

described.each([
  ['the default log', []],
  ['logs of their own', ['--mongodb-log-overrides', '/configmaps#maps,coordination.k8s.io/leases#leases']],
])('a server that was stopped for longer than the history window: %s', (name, flags) => {
  test('every write acknowledged after a resume is at the head of the log and visible on all replicas', async () => {
    const database = `suspension-${process.pid}-${name.length}`;
    const [awake, near] = await start('awake', database, flags);
    const [sleeper, far] = await start('sleeper', database, flags);
    expect(awake.pid).not.toBe(sleeper.pid);
    await ok(near.post('/api/v1/namespaces', namespace('shop')));
    for (let round = 0; round < 2; round++) {
      const old = await prepare(far, round);
      sleeper.signal('SIGSTOP');
      // The requests have arrived when the process resumes.
      const renewal = { ...treeOf(old), spec: { holderIdentity: 'new', leaseDurationSeconds: 15 } };
      const calls = writes(round, renewal);
      const answers = calls.map((call) => far.send(call));
      let taken = 0;
      const ending = performance.now() + 3.5 * WINDOW_MILLIS;
      for (let i = 0; performance.now() < ending; i++) {
        taken = versionOf(await ok(near.post(MAPS, configMap(`other-${round}-${i}`, { n: String(i) }))));
        await ok(near.post(LEASES, lease(`other-${round}-${i}`, 'other')));
        await pause(20);
      }
      sleeper.signal('SIGCONT');
      const done = await Promise.all(answers);
      expect(done.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 200]);
      for (const [i, answer] of done.entries()) {
        const at = versionOf(answer);
        const path = calls[i]?.path.split('?')[0] ?? '';
        if (path.startsWith(MAPS) && calls[i]?.method !== 'DELETE') expect(at).toBeGreaterThan(taken);
        const single = calls[i]?.method === 'POST' ? `${path}/create-${round}` : path;
        for (const http of [near, far]) {
          const shown = await http.get(single);
          expect([single, shown.status]).toEqual([single, calls[i]?.method === 'DELETE' ? 404 : 200]);
          if (shown.status === 200) expect([single, versionOf(shown)]).toEqual([single, at]);
        }
      }
      // Their caches agree.
      await eventually('both show the same', async () => {
        const [one, two] = await Promise.all([seen(near), seen(far)]);
        return JSON.stringify([...one].sort()) === JSON.stringify([...two].sort()) ? true : undefined;
      });
    }
  });
});
