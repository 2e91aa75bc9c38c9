import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificateRequest } from '../fakes/pki/certificate-request.js';
import { keyPem } from '../../src/pki/certificates.js';
import { findMongod, ReplicaSet, withClient } from '../storage/mongod.js';
import { type Answer, digList, digText, Http1, treeOf, WatchReader } from './client.js';
import { keyFiles } from './key-files.js';
import { configMap, namespace } from './objects.js';
import { eventually, run, scratchFolder, TestServer } from './server.js';

const found = findMongod();
const described = 'path' in found ? describe : describe.skip;
const path = 'path' in found ? found.path : '';
if ('reason' in found) test.skip(`MongoDB: ${found.reason}`, () => undefined);

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/annex-controllers';
const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';

const started = new Set<TestServer>();
let set: ReplicaSet | undefined;
const folder = scratchFolder(async () => {
  await Promise.all([...started].map((server) => server.stop('SIGKILL')));
  await set?.dispose();
});

const secret = (): string => randomBytes(32).toString('base64');

/** Writes an EncryptionConfiguration with these keys of secretbox, the first of which encrypts, and returns the flag. */
function encryption(file: string, keys: Readonly<Record<string, string>>): string {
  const names = Object.entries(keys).map(([name, key]) => ({ name, secret: key }));
  const resources = [{ resources: ['secrets'], providers: [{ secretbox: { keys: names } }, { identity: {} }] }];
  const configuration = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources };
  writeFileSync(join(folder, file), JSON.stringify(configuration));
  return `--encryption-provider-config=${join(folder, file)}`;
}

const storeFlags = (database: string): string[] => [
  '--storage-backend=mongodb',
  `--mongodb-uri-file=${join(folder, 'uri')}`,
  '--mongodb-database',
  database,
];

async function start(name: string, database: string, ...flags: string[]): Promise<TestServer> {
  const own = join(folder, name);
  mkdirSync(own, { recursive: true });
  const server = await TestServer.start(own, [...storeFlags(database), ...flags]);
  started.add(server);
  return server;
}

/** Starts a server that must be refused, and returns its only line. */
async function refused(name: string, database: string, ...flags: string[]): Promise<string> {
  const place = ['--data-dir', join(folder, name, 'data'), '--secure-port', '0', '--bind-address', '127.0.0.1'];
  const { code, stderr, stdout } = await run(['serve', ...place, ...storeFlags(database), ...flags]);
  expect([code, stdout, stderr.trimEnd().split('\n').length]).toEqual([1, '', 1]);
  return stderr;
}

async function tokenFrom(server: TestServer, account: string): Promise<string> {
  const http = new Http1(server);
  const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account } };
  expect([201, 409]).toContain((await http.post(ACCOUNTS, body)).status);
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  return digText(treeOf(await http.post(`${ACCOUNTS}/${account}/token`, asked)), 'status', 'token');
}

/** Returns the user whom a server sees. The server's certificate is verified with the CA that `as` has written for its clients. */
async function whoIs(server: TestServer, as: TestServer, token: string): Promise<string> {
  const http = new Http1({ url: server.url, ca: as.ca });
  return userIn(await http.send({ method: 'POST', path: WHO, body: REVIEW, token }));
}

const userIn = (answer: Answer): string => digText(treeOf(answer), 'status', 'userInfo', 'username');

/** Everything that MongoDB has, as one text. */
const contents = (database: string): Promise<string> =>
  withClient((set as ReplicaSet).uri, async (client) => {
    const db = client.db(database);
    const parts: string[] = [];
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray())
      for (const document of await db.collection(name).find({}, { raw: true }).toArray())
        parts.push((document as unknown as Buffer).toString('latin1'));
    return parts.join('\n');
  });

described('two servers on one MongoDB', () => {
  beforeAll(async () => {
    set = await ReplicaSet.start(path, 1);
    writeFileSync(join(folder, 'uri'), set.uri);
  }, 120_000);

  test('the second is refused without the keys of the first, which then move into the database, encrypted', async () => {
    const flag = encryption('one.json', { one: secret() });
    let a = await start('a', 'moved');
    const token = await tokenFrom(a, 'early');
    expect(await refused('b', 'moved')).toMatch(
      /^annex: servers on one MongoDB database share their keys, and the serving CA, client CA and service account key of .* are in its data directory, not in .*: start both with an --encryption-provider-config .*--service-account-signing-key-file/,
    );
    await a.stop();
    expect(await refused('b', 'moved', flag)).toMatch(/restart that server with --encryption-provider-config/);
    a = await start('a', 'moved', flag);
    const b = await start('b', 'moved', flag);
    for (const server of [a, b]) expect(await whoIs(server, a, token)).toBe('system:serviceaccount:default:early');
    expect(b.ca).toBe(a.ca);
    expect(await refused('c', 'moved')).toMatch(
      /are in the database, encrypted: start with the --encryption-provider-config of that server/,
    );
    expect(await contents('moved')).not.toMatch(/PRIVATE KEY/);
    for (const server of [a, b]) await server.stop();
  }, 300_000);

  test('two that start at once on an empty database have the same keys', async () => {
    const flag = encryption('race.json', { one: secret() });
    const pair = await Promise.all(['left', 'right'].map((name) => start(name, 'race', flag)));
    const [left, right] = pair as [TestServer, TestServer];
    expect(right.ca).toBe(left.ca);
    const token = await tokenFrom(left, 'both');
    expect(await whoIs(right, left, token)).toBe('system:serviceaccount:default:both');
    for (const server of pair) await server.stop();
  }, 300_000);

  test('the encryption key is rotated while one server after the other restarts', async () => {
    const [one, two] = [secret(), secret()];
    const rings = [{ one }, { one, two }, { two, one }, { two }].map((keys, i) => encryption(`ring${i}.json`, keys));
    const servers = new Map<string, TestServer>();
    let token = '';
    for (const flag of rings) {
      for (const name of ['x', 'y']) {
        await servers.get(name)?.stop('SIGKILL');
        servers.set(name, await start(name, 'rotated', flag));
        if (token === '') token = await tokenFrom(servers.get(name) as TestServer, 'kept');
      }
    }
    const [x, y] = [...servers.values()] as [TestServer, TestServer];
    for (const server of [x, y]) expect(await whoIs(server, x, token)).toBe('system:serviceaccount:default:kept');
    const flag = encryption('lost.json', { three: secret() });
    expect(await refused('z', 'rotated', flag)).toMatch(/key in MongoDB cannot be decrypted .*must have the key/);
    for (const server of [x, y]) await server.stop();
  }, 600_000);

  test('with keys in files, controllers run on one server, and on the other when that is killed', async () => {
    const files = keyFiles(join(folder, 'keys'));
    const servers = [await start('first', 'files', ...files), await start('second', 'files', ...files)] as const;
    const [first, second] = servers;
    expect(await refused('third', 'files')).toMatch(/are in files: give the same files by --tls-cert-file/);
    const holder = async (server: TestServer): Promise<string> =>
      digText(treeOf(await new Http1(server).get(LEASE)), 'spec', 'holderIdentity');
    const before = await eventually('a holder', async () => (await holder(second)) || undefined);
    const leads = (server: TestServer): boolean => server.log.includes('this server runs the controllers');
    expect(servers.map(leads)).toEqual([true, false]);
    const user = await certified(second, first, 'jane');
    expect(user).toBe('jane');
    await collected(second, 'early');

    await first.stop('SIGKILL');
    const after = await eventually('another holder', async () => {
      const now = await holder(second);
      return now === before ? undefined : now;
    });
    expect(after).not.toBe('');
    await eventually('controllers on the second', () => Promise.resolve(leads(second) || undefined));
    expect(await certified(second, second, 'joe')).toBe('joe');
    await collected(second, 'late');
    // A holder that stops gives the Lease back.
    await second.stop();
    const third = await start('third', 'files', ...files);
    await eventually('controllers on the third', () => Promise.resolve(leads(third) || undefined));
    expect(third.log).not.toContain('cannot renew');
    await third.stop();
  }, 600_000);
});

/** Has a certificate signed through one server, expects exactly one signature, and returns whom the other server takes its holder for. */
async function certified(server: TestServer, other: TestServer, name: string): Promise<string> {
  const http = new Http1(server);
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = makeCertificateRequest({ commonName: name, organizations: [], pair });
  const spec = {
    request: Buffer.from(pem).toString('base64'),
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
  };
  const body = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name }, spec };
  const made = treeOf(await http.post(REQUESTS, body));
  const from = digText(made, 'metadata', 'resourceVersion');
  const watch = new WatchReader(await http.open({ path: `${REQUESTS}?watch=1&resourceVersion=${from}` }));
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'ok' }];
  const approved = { ...made, status: { conditions } };
  await http.send({ method: 'PUT', path: `${REQUESTS}/${name}/approval`, body: approved });
  const certificates = (): string[] =>
    watch.events.map((event) => digText(event, 'object', 'status', 'certificate')).filter((each) => each !== '');
  await watch.until(() => certificates().length > 0);
  // Whoever else signed would do so at once.
  await http.post(`/api/v1/namespaces`, namespace(`after-${name}`));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(new Set(certificates()).size).toBe(1);
  const certificate = Buffer.from(certificates()[0] ?? '', 'base64').toString();
  const client = new Http1(other, 1, { key: keyPem(pair.privateKey), certificate });
  return userIn(await client.send({ method: 'POST', path: WHO, body: REVIEW, token: '' }));
}

/** Deletes a namespace and an owner through a server; what they contain and own goes. */
async function collected(server: TestServer, name: string): Promise<void> {
  const http = new Http1(server);
  const space = `space-${name}`;
  const maps = `/api/v1/namespaces/${space}/configmaps`;
  await http.post('/api/v1/namespaces', namespace(space));
  const owner = treeOf(await http.post(maps, configMap('owner')));
  const uid = digText(owner, 'metadata', 'uid');
  const owned = configMap('owned') as { metadata: object };
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
  await http.post(maps, { ...owned, metadata: { ...owned.metadata, ownerReferences } });
  await http.send({ method: 'DELETE', path: `${maps}/owner` });
  await eventually('the owned object is gone', async () =>
    (await http.get(`${maps}/owned`)).status === 404 ? true : undefined,
  );
  // The root CA is published there once.
  await eventually('the root CA', async () =>
    digList(treeOf(await http.get(maps)), 'items').length === 1 ? true : undefined,
  );
  await http.send({ method: 'DELETE', path: `/api/v1/namespaces/${space}` });
  await eventually('the namespace is gone', async () =>
    (await http.get(`/api/v1/namespaces/${space}`)).status === 404 ? true : undefined,
  );
}
