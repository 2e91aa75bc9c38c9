import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKubectl, Kubectl } from '../../conformance/kubectl.js';
import { plant } from '../../secrecy/leaks.js';
import { findMongod, ReplicaSet, withClient } from '../../storage/mongod.js';
import { dig, digList, digText, Http1, treeOf } from '../client.js';
import { eventually, scratchFolder, TestServer } from '../server.js';
import { keyFiles } from '../key-files.js';
import { KmsProvider } from './kms-provider.js';

const SECRETS = '/api/v1/namespaces/default/secrets';
const MAPS = '/api/v1/namespaces/default/configmaps';
const FORCE = '?ignoreStoreReadErrorWithClusterBreakingPotential=true';

const words = ['label', 'annotation', 'data', 'patched', 'deleted', 'large'].map((what) =>
  plant(`planted-${what}-${randomBytes(6).toString('hex')}`),
);
const [LABEL = '', ANNOTATION = '', DATA = '', PATCHED = '', DELETED = '', LARGE = ''] = words;
/** A value stored in clear, which proves that the searches work. */
const CLEAR = `clear-${randomBytes(6).toString('hex')}`;

const key = (name: string): { name: string; secret: string } => ({
  name,
  secret: plant(randomBytes(32).toString('base64')),
});
const [one, two, three] = [key('one'), key('two'), key('three')];

const configuration = (...providers: object[]): object => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'EncryptionConfiguration',
  resources: [{ resources: ['secrets'], providers }],
});

/** A store that the tests inspect from outside. */
interface Store {
  flags(folder: string): readonly string[];
  /** Returns all bytes of the store. */
  dump(): Promise<Buffer>;
  /** Returns the bytes that the server keeps on disk in addition. */
  beside(): Buffer | undefined;
  dispose(): Promise<unknown>;
}

const embedded = (folder: string): Promise<Store> =>
  Promise.resolve({
    flags: () => [],
    dump: () => Promise.resolve(bytesIn(join(folder, 'data', 'store'))),
    beside: () => undefined,
    dispose: () => Promise.resolve(),
  });

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());

const bytesIn = (folder: string): Buffer => Buffer.concat(filesIn(folder).map((path) => readFileSync(path)));

const found = findMongod();

async function mongodb(): Promise<Store> {
  if ('reason' in found) throw new Error(found.reason);
  const set = await ReplicaSet.start(found.path);
  const cold = mkdtempSync(join(tmpdir(), 'cold-'));
  let keys: string[] | undefined;
  return {
    flags: (folder) => {
      writeFileSync(join(folder, 'uri'), set.uri);
      // With a budget this small, everything that may be in the file is in the file.
      const file = ['--cache-dir', cold, '--cache-budget=1'];
      // These tests lose keys, without which a server that has its own keys in the store does not start.
      keys ??= keyFiles(join(folder, 'keys'));
      return ['--storage-backend=mongodb', '--mongodb-uri-file', join(folder, 'uri'), ...file, ...keys];
    },
    beside: () => bytesIn(cold),
    dump: () =>
      withClient(set.uri, async (client) => {
        const parts: Buffer[] = [];
        for (const name of ['annex', 'local']) {
          const db = client.db(name);
          for (const { name: collection } of await db.listCollections({}, { nameOnly: true }).toArray()) {
            const documents = await db.collection(collection).find({}, { raw: true }).toArray();
            for (const document of documents) parts.push(document as unknown as Buffer);
          }
        }
        return Buffer.concat(parts);
      }),
    dispose: () => {
      rmSync(cold, { recursive: true, force: true });
      return set.dispose();
    },
  };
}

const stores: [string, (folder: string) => Promise<Store>][] = [['embedded', embedded]];
if ('path' in found) stores.push(['mongodb', mongodb]);

describe.each(stores)('encryption at rest, %s', (name, open) => {
  let store: Store;
  let server: TestServer;
  let http: Http1;
  const started: TestServer[] = [];
  const kms: KmsProvider[] = [];
  const root = scratchFolder(async () => {
    await Promise.all(started.map((each) => each.stop('SIGKILL')));
    await Promise.all(kms.map((each) => each.stop()));
    await store.dispose();
  });
  const folder = join(root, name);
  const file = join(root, 'encryption.yaml');

  const start = async (configured: object, ...flags: string[]): Promise<void> => {
    writeFileSync(file, JSON.stringify(configured));
    const given = ['--encryption-provider-config', file, '--feature-gates=AllowUnsafeMalformedObjectDeletion=true'];
    server = await TestServer.start(folder, [...store.flags(folder), ...given, ...flags]);
    started.push(server);
    http = new Http1(server);
  };
  const restart = async (configured: object, ...flags: string[]): Promise<void> => {
    await server.stop('SIGKILL');
    await start(configured, ...flags);
  };
  const create = async (secret: string, value: string, more: object = {}): Promise<void> => {
    const body = { metadata: { name: secret, ...more }, stringData: { value } };
    expect((await http.post(SECRETS, body)).status).toBe(201);
  };
  const valueOf = async (secret: string): Promise<string> => {
    const answer = await http.get(`${SECRETS}/${secret}`);
    if (answer.status !== 200) return `${String(answer.status)} ${digText(treeOf(answer), 'message')}`;
    return Buffer.from(digText(treeOf(answer), 'data', 'value'), 'base64').toString();
  };
  /** Returns the prefixes under which objects are stored. */
  const prefixes = async (): Promise<string[]> => {
    const text = (await store.dump()).toString('latin1');
    return [...new Set([...text.matchAll(/k8s:enc:[a-z]+:v\d:[a-z]+:/g)].map(([prefix]) => prefix))].sort();
  };
  const merge = (path: string, body: object): Promise<unknown> =>
    http.send({ method: 'PATCH', path, body, headers: { 'content-type': 'application/merge-patch+json' } });

  beforeAll(async () => {
    mkdirSync(folder);
    store = await open(folder);
    await start(configuration({ aescbc: { keys: [one] } }, { identity: {} }));
  });

  test('nothing encrypted is stored in clear', async () => {
    await create('planted-name', DATA, { labels: { l: LABEL }, annotations: { a: ANNOTATION } });
    await merge(`${SECRETS}/planted-name`, { stringData: { other: PATCHED } });
    await create('gone', DELETED);
    expect((await http.send({ method: 'DELETE', path: `${SECRETS}/gone` })).status).toBe(200);
    await create('large', `${LARGE}${'x'.repeat(300_000)}`);
    await merge(`${SECRETS}/large`, { metadata: { labels: { l: LABEL } } });
    expect((await http.post(MAPS, { metadata: { name: 'map' }, data: { value: CLEAR } })).status).toBe(201);
    const bytes = await store.dump();
    expect(bytes.includes(CLEAR)).toBe(true);
    expect(bytes.includes('planted-name')).toBe(true);
    expect(await prefixes()).toEqual(['k8s:enc:aescbc:v1:one:']);
    const beside = store.beside();
    if (beside !== undefined) expect(beside.includes(CLEAR)).toBe(true);
    for (const place of beside === undefined ? [bytes] : [bytes, beside]) {
      for (const word of words) {
        expect(place.includes(word)).toBe(false);
        expect(place.includes(Buffer.from(word).toString('base64').slice(0, -4))).toBe(false);
      }
    }
    expect(await valueOf('planted-name')).toBe(DATA);
    const selected = treeOf(await http.get(`${SECRETS}?labelSelector=l%3D${LABEL}`));
    expect(digList(selected, 'items').map((item) => digText(item, 'metadata', 'name'))).toEqual([
      'large',
      'planted-name',
    ]);
    expect(digText(selected, 'items', 1, 'metadata', 'resourceVersion')).toMatch(/^\d+$/);
  });

  test('a watch returns past events, and the history is readable after kill -9', async () => {
    const before = digText(treeOf(await http.get(SECRETS)), 'metadata', 'resourceVersion');
    await merge(`${SECRETS}/planted-name`, { metadata: { labels: { moved: 'yes' } } });
    await restart(configuration({ aescbc: { keys: [one] } }, { identity: {} }));
    const old = treeOf(await http.get(`${SECRETS}?resourceVersion=${before}&resourceVersionMatch=Exact`));
    const planted = digList(old, 'items').find((item) => digText(item, 'metadata', 'name') === 'planted-name');
    expect(dig(planted, 'metadata', 'labels')).toEqual({ l: LABEL });
    const events = await http.get(`${SECRETS}?watch=1&timeoutSeconds=1&resourceVersion=${before}&labelSelector=moved`);
    const first = treeOf({ text: events.text.split('\n')[0] ?? '' });
    expect([dig(first, 'type'), digText(first, 'object', 'metadata', 'name')]).toEqual(['ADDED', 'planted-name']);
  });

  test('rewriting objects rotates keys', async () => {
    await restart(configuration({ secretbox: { keys: [two] } }, { aescbc: { keys: [one] } }));
    expect(await valueOf('planted-name')).toBe(DATA);
    const kubectl = findKubectl();
    if ('path' in kubectl) {
      const client = new Kubectl(kubectl.path, server.kubeconfig, root);
      const list = await client.ok(['get', 'secrets', '-A', '-o', 'json']);
      await client.ok(['replace', '-f', '-'], { stdin: list });
    } else {
      const object = treeOf(await http.get(`${SECRETS}/planted-name`));
      await http.send({ method: 'PUT', path: `${SECRETS}/planted-name`, body: object });
    }
    const version = digText(treeOf(await http.get(`${SECRETS}/planted-name`)), 'metadata', 'resourceVersion');
    const again = treeOf(await http.get(`${SECRETS}/planted-name`));
    const put = await http.send({ method: 'PUT', path: `${SECRETS}/planted-name`, body: again });
    // From here on, the write changes nothing, so nothing is stored.
    expect(digText(treeOf(put), 'metadata', 'resourceVersion')).toBe(version);
    expect(await prefixes()).toContain('k8s:enc:secretbox:v1:two:');
    await create('written-later', DATA);
    await restart(configuration({ secretbox: { keys: [two] } }));
    expect(await valueOf('planted-name')).toBe(DATA);
    expect(await valueOf('written-later')).toBe(DATA);
  });

  test('with another key an object is corrupt, and an unsafe delete removes corrupt objects only', async () => {
    await restart(configuration({ secretbox: { keys: [{ ...three, name: 'two' }] } }, { identity: {} }));
    const why = 'output array was not large enough for encryption';
    expect(await valueOf('planted-name')).toBe(
      `500 Internal error occurred: StorageError: corrupt object, Code: 7, Key: /secrets/default/planted-name, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: ${why}`,
    );
    const listed = treeOf(await http.get(SECRETS));
    expect(digText(listed, 'reason')).toBe('StorageReadError');
    expect((await http.get(MAPS)).status).toBe(200);
    const usual = await http.send({ method: 'DELETE', path: `${SECRETS}/planted-name` });
    expect(usual.status).toBe(500);
    const forced = await http.send({ method: 'DELETE', path: `${SECRETS}/planted-name${FORCE}` });
    expect(forced.status).toBe(200);
    expect((await http.get(`${SECRETS}/planted-name`)).status).toBe(404);
    await create('readable', DATA);
    for (const [one, status, message] of [
      ['readable', 409, 'unsafe deletion is not allowed because the object is decodable from storage'],
      ['never-there', 404, 'secrets "never-there" not found'],
    ] as const) {
      const refused = await http.send({ method: 'DELETE', path: `${SECRETS}/${one}${FORCE}` });
      expect([refused.status, digText(treeOf(refused), 'message')]).toEqual([
        status,
        expect.stringContaining(message) as string,
      ]);
    }
  });

  test('a KMS provider goes away, returns, and gets another key', async () => {
    const provider = new KmsProvider(join(root, 'kms.sock'));
    kms.push(provider);
    await provider.start();
    const withKms = configuration(
      { kms: { apiVersion: 'v2', name: 'test', endpoint: provider.endpoint, timeout: '1s' } },
      { secretbox: { keys: [two, { ...three, name: 'two' }] } },
    );
    await restart(withKms);
    await create('in-kms', DATA);
    expect(await valueOf('in-kms')).toBe(DATA);
    expect(await valueOf('written-later')).toBe(DATA);
    expect(await prefixes()).toContain('k8s:enc:kms:v2:test:');
    expect((await http.get('/readyz/kms-providers')).status).toBe(200);
    await provider.stop();
    await restart(withKms);
    expect((await http.get('/livez')).status).toBe(200);
    expect((await http.get('/livez/kms-providers')).status).toBe(404);
    const check = await http.get('/healthz/kms-providers');
    expect([check.status, check.text]).toEqual([
      500,
      expect.stringContaining('kms-provider-0: failed to perform status'),
    ]);
    expect(await valueOf('in-kms')).toMatch(/^500 Internal error occurred: .*got unexpected nil transformer$/);
    expect((await http.post(SECRETS, { metadata: { name: 'refused' } })).status).toBe(500);
    expect((await http.post(MAPS, { metadata: { name: 'not-encrypted' } })).status).toBe(201);
    await provider.start();
    await eventually('the object is read again', async () => ((await valueOf('in-kms')) === DATA ? true : undefined));
    await create('after', DATA);
    provider.rotate();
    await restart(withKms);
    expect(await valueOf('in-kms')).toBe(DATA);
    const object = treeOf(await http.get(`${SECRETS}/in-kms`));
    const put = treeOf(await http.send({ method: 'PUT', path: `${SECRETS}/in-kms`, body: object }));
    expect(digText(put, 'metadata', 'resourceVersion')).not.toBe(digText(object, 'metadata', 'resourceVersion'));
    const { text } = await http.get('/metrics');
    expect(text).toMatch(
      /apiserver_envelope_encryption_key_id_hash_total\{transformation_type="to_storage",provider_name="test"/,
    );
    expect(text).toMatch(
      /apiserver_storage_transformation_operations_total\{resource="secrets",transformation_type="from_storage",transformer_prefix="k8s:enc:kms:v2:test:",status="OK"\} \d/,
    );
  });

  test('without a configuration, encrypted objects are not returned', async () => {
    await server.stop('SIGKILL');
    server = await TestServer.start(folder, store.flags(folder));
    started.push(server);
    http = new Http1(server);
    expect(await valueOf('after')).toBe(
      '500 Internal error occurred: StorageError: corrupt object, Code: 7, Key: /secrets/default/after, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: identity transformer tried to read encrypted data',
    );
    expect(digText(treeOf(await http.get(SECRETS)), 'reason')).toBe('StorageReadError');
  });
});
