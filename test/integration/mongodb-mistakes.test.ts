import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NEEDED_ACTIONS } from '../../src/storage/mongodb/connection/rights.js';
import { documentsOf, dump, restore } from '../storage/dumps.js';
import { findMongod, freePort, Mongod, ReplicaSet, withClient } from '../storage/mongod.js';
import { digList, digText, Http1, treeOf } from './client.js';
import { configMap, namespace } from './objects.js';
import { eventually, run, scratchFolder, TestServer } from './server.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
const path = 'path' in found ? found.path : '';
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

const MAPS = '/api/v1/namespaces/shop/configmaps';
const running = new Set<TestServer>();
const disposable: { dispose(): Promise<void> }[] = [];
const folder = scratchFolder(async () => {
  await Promise.all([...running].map((server) => server.stop('SIGKILL')));
  await Promise.all(disposable.map((each) => each.dispose()));
});
let set: Promise<ReplicaSet> | undefined;
let names = 0;

async function sharedUri(): Promise<string> {
  set ??= ReplicaSet.start(path).then((made) => {
    disposable.push(made);
    return made;
  });
  return (await set).uri;
}

function scratch(): string {
  const own = join(folder, `own${++names}`);
  mkdirSync(own);
  return own;
}

const storeFlags = (own: string, uri: string, database: string): string[] => {
  writeFileSync(join(own, 'uri'), uri);
  return ['--storage-backend=mongodb', '--mongodb-uri-file', join(own, 'uri'), '--mongodb-database', database];
};

/** Returns the line that a server ends with, and the lines of the doctor about the store. */
async function refusals(uri: string, database: string, ...more: string[]): Promise<{ server: string; doctor: string }> {
  const own = scratch();
  const flags = ['--data-dir', join(own, 'data'), ...storeFlags(own, uri, database), ...more];
  const [server, doctor] = await Promise.all([
    run(['serve', '--secure-port', String(await freePort()), '--bind-address', '127.0.0.1', ...flags]),
    run(['doctor', ...flags]),
  ]);
  expect([server.code, server.stdout, doctor.code]).toEqual([1, '', 1]);
  expect(server.stderr.trim().split('\n')).toHaveLength(1);
  const lines = doctor.stdout.split('\n').filter((line) => /^(?:store|owner of the store): failed/.test(line));
  return { server: server.stderr.trim(), doctor: lines.join('\n') };
}

async function started(uri: string, database: string, ...more: string[]): Promise<{ server: TestServer; http: Http1 }> {
  const own = scratch();
  const server = await TestServer.start(own, [...storeFlags(own, uri, database), '--controllers=', ...more]);
  running.add(server);
  return { server, http: new Http1(server) };
}

async function end(server: TestServer): Promise<void> {
  await server.stop('SIGTERM');
  running.delete(server);
}

described('options of the URI that would weaken a promise', () => {
  test.each(['readConcernLevel=local', 'journal=false', 'wtimeoutMS=1', 'w=1', 'retryWrites=false'])(
    '%s is refused by name, by the server and by the doctor',
    async (option) => {
      const { server, doctor } = await refusals(`${await sharedUri()}&${option}`, 'options');
      expect(server).toContain(`the MongoDB URI has ${option}, `);
      expect(doctor).toMatch(/^store: failed: the MongoDB URI has .*; fix: correct the MongoDB URI$/);
      expect(doctor).toContain(option);
    },
  );
});

described('a MongoDB that lacks what Annex needs', () => {
  test('a mongod without a replica set, and so without change streams', async () => {
    const lone = await Mongod.start(path, []);
    disposable.push(lone);
    const { server, doctor } = await refusals(`mongodb://${lone.address}/`, 'lone');
    expect(server).toMatch(/ is not a replica set, which Annex needs: start it with --replSet /);
    expect(doctor).toMatch(
      / is not a replica set, .*; fix: start mongod with --replSet and run rs\.initiate\(\) once$/,
    );
  });

  test('each right that its user may lack is named', async () => {
    writeFileSync(join(folder, 'key'), 'secretofthemembers', { mode: 0o600 });
    const mongod = await Mongod.start(path, ['--replSet', 'rs0', '--auth', '--keyFile', join(folder, 'key')]);
    disposable.push(mongod);
    const made = await ReplicaSet.of([mongod], async (client) => {
      await client.db('admin').command({ createUser: 'root', pwd: 'root', roles: ['root'] });
    });
    const as = (user: string): string => `${made.uri.replace('//', `//${user}:${user}@`)}&authSource=admin`;
    await withClient(as('root'), async (client) => {
      const admin = client.db('admin');
      for (const missing of [...NEEDED_ACTIONS, 'nothing']) {
        const actions = NEEDED_ACTIONS.filter((action) => action !== missing);
        const resource = { db: 'rights', collection: '' };
        await admin.command({ createRole: `no-${missing}`, privileges: [{ resource, actions }], roles: [] });
        await admin.command({ createUser: `no-${missing}`, pwd: `no-${missing}`, roles: [`no-${missing}`] });
      }
    });
    // No more is needed than these.
    const { server } = await started(as('no-nothing'), 'rights');
    await end(server);
    for (const right of NEEDED_ACTIONS) {
      const { server: line, doctor } = await refusals(as(`no-${right}`), 'rights');
      expect(line).toContain(`the user of the MongoDB URI may not ${right} in the database rights; grant it readWrite`);
      expect(doctor).toContain(`may not ${right} in the database rights`);
      expect(doctor).toMatch(/; fix: grant the user the role readWrite on the database$/);
    }
  });
});

described('restores', () => {
  test('a log that is older than its objects is refused in one line, which names the two ways out', async () => {
    const uri = await sharedUri();
    const first = await started(uri, 'older');
    await first.http.post('/api/v1/namespaces', namespace('shop'));
    const created = treeOf(await first.http.post(MAPS, configMap('kept', { n: '1' })));
    await end(first.server);
    await withClient(uri, (client) => client.db('older').collection('log').drop());
    const { server, doctor } = await refusals(uri, 'older');
    expect(doctor).toMatch(/^store: failed: the MongoDB database older cannot be used: log ends at revision 1, but /);
    expect(server).toMatch(
      /: log ends at revision 1, but \S+ has revision \d+, .*: restore a complete backup, or set --mongodb-continue-above=\d+ to keep/,
    );
    const [, above = ''] = /--mongodb-continue-above=(\d+)/.exec(server) ?? [];
    const accepted = storeFlags(scratch(), uri, 'older').concat(`--mongodb-continue-above=${above}`);
    expect((await run(['doctor', ...accepted])).stdout).toContain(
      `the next server to start continues log above revision ${above}`,
    );
    const second = await started(uri, 'older', `--mongodb-continue-above=${above}`);
    const there = treeOf(await second.http.get(`${MAPS}/kept`));
    expect(there).toEqual(created);
    const updated = treeOf(
      await second.http.send({ method: 'PUT', path: `${MAPS}/kept`, body: { ...there, data: { n: '2' } } }),
    );
    const revision = Number(digText(updated, 'metadata', 'resourceVersion'));
    expect(revision).toBeGreaterThan(Number(above));
    await end(second.server);
    const third = await started(uri, 'older');
    expect(digText(treeOf(await third.http.get(`${MAPS}/kept`)), 'data', 'n')).toBe('2');
    await end(third.server);
    expect((await documentsOf(uri, 'older', 'configmaps')).get('shop/kept')).toBe(revision);
  });

  test('under a running server: not ready and no writes until it serves what was restored', async () => {
    const uri = await sharedUri();
    const { server, http } = await started(uri, 'under');
    await http.post('/api/v1/namespaces', namespace('shop'));
    await http.post(MAPS, configMap('kept', { n: '1' }));
    const projected = (name: string): Promise<true> =>
      eventually('projected', async () =>
        (await documentsOf(uri, 'under', 'configmaps')).has(`shop/${name}`) ? true : undefined,
      );
    await projected('kept');
    const backup = await dump(uri, 'under');
    const gone = treeOf(await http.post(MAPS, configMap('gone', { n: '1' })));
    await projected('gone');
    await restore(uri, 'under', backup);
    await eventually('not ready', async () => ((await http.get('/readyz')).status === 500 ? true : undefined));
    let accepted = 0;
    await eventually('ready again', async () => {
      const { status } = await http.post(MAPS, configMap(`during${++names}`, { n: '1' }));
      const ready = await http.get('/readyz');
      if (status === 201 && ready.status !== 200) accepted++;
      return ready.status === 200 ? true : undefined;
    });
    expect(accepted).toBe(0);
    const list = treeOf(await http.get(MAPS));
    const shown = digList(list, 'items').map((item) => digText(item, 'metadata', 'name'));
    expect(shown).toContain('kept');
    expect(shown).not.toContain('gone');
    const objects = async (): Promise<Map<string, number>> =>
      new Map(
        digList(treeOf(await http.get('/api/v1/configmaps')), 'items').map((item) => [
          `${digText(item, 'metadata', 'namespace')}/${digText(item, 'metadata', 'name')}`,
          Number(digText(item, 'metadata', 'resourceVersion')),
        ]),
      );
    // The last write is projected within a moment.
    const last = treeOf(await http.post(MAPS, configMap('last', { n: '1' })));
    expect(digText(last, 'metadata', 'name')).toBe('last');
    await projected('last');
    expect(await documentsOf(uri, 'under', 'configmaps')).toEqual(await objects());
    // A client that saw the lost revision does not take a later one for its continuation.
    const former = digText(gone, 'metadata', 'resourceVersion');
    expect(Number(digText(list, 'metadata', 'resourceVersion'))).toBeGreaterThan(Number(former));
    const exact = await http.get(`${MAPS}?resourceVersion=${former}&resourceVersionMatch=Exact`);
    expect(exact.status).toBe(410);
    expect(server.log).toMatch(/"message":"the store cannot be used"/);
    await end(server);
  });
});

described('a database of another cluster', () => {
  test('is refused in one line by the server and the doctor, until it is taken over', async () => {
    const uri = await sharedUri();
    await withClient(uri, (client) =>
      client.db('owned').collection<{ _id: string; uid: string }>('meta').insertOne({ _id: 'cluster', uid: 'c0ffee' }),
    );
    const { server, doctor } = await refusals(uri, 'owned');
    expect(server).toMatch(
      /it belongs to the cluster c0ffee .*, and this is a standalone server: use another database/,
    );
    expect(doctor).toMatch(/^owner of the store: failed: it belongs to the cluster c0ffee .*=c0ffee$/);
    const taken = await started(uri, 'owned', '--mongodb-former-cluster=c0ffee');
    await end(taken.server);
    const again = await started(uri, 'owned');
    await end(again.server);
  });
});
