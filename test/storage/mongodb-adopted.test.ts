import { randomBytes } from 'node:crypto';
import type { Binary } from 'mongodb';
import { encodeObject } from '../../src/storage/encode.js';
import { Gcm } from '../../src/storage/encryption/ciphers.js';
import { encryptedBackend } from '../../src/storage/encryption/encrypted-backend.js';
import { PrefixTransformers } from '../../src/storage/encryption/transformer.js';
import type { Backend, StagedObject } from '../../src/storage/interfaces.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import { systemClock } from '../../src/util/clock.js';
import { page, type Recorder, until, watch, widgets } from './cacher-fixtures.js';
import { commit, decode, everything, put, widget } from './fixtures.js';
import { withClient } from './mongod.js';
import { hasMongod, mongoOptions } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const ADOPTED = 'reports.adopted.example.com';
const OPEN = 'open.adopted.example.com';
const NEW = '7.gen';

const open: MongoBackend[] = [];

async function replica(options: MongoOptions): Promise<MongoBackend> {
  const backend = new MongoBackend(options);
  await backend.open();
  open.push(backend);
  return backend;
}

afterEach(() => Promise.all(open.splice(0).map((backend) => backend.close())));

const staged = (key: string, revision: number): StagedObject => ({
  key,
  revision,
  value: encodeObject(widget(key, { revision })),
});

described('objects adopted from another store', () => {
  test('keep their revisions, and the log continues above them on every replica', async () => {
    const options = await mongoOptions();
    const [one, two] = [await replica(options), await replica(options)];
    for (let i = 0; i < 4; i++) await commit(one, put(`a/k${i}`, 0));
    const cachers = [one, two].map((backend) => new StorageCacher({ backend }));
    for (const cacher of cachers) await cacher.start();
    try {
      const caches = cachers.map((cacher) => cacher.add(widgets));
      const recorders: Recorder[] = [];
      for (const cache of caches) recorders.push(await watch(cache));
      const copy = one.staging.copy(NEW);
      await copy.put(ADOPTED, [staged('a/x', 500), staged('a/y', 900)]);
      await copy.install(ADOPTED);
      await one.raise(1000);
      // Installs again, like a leader that finds a partial installation.
      await copy.install(ADOPTED);
      expect(await two.currentRevision()).toBe(1001);
      await until(() => recorders.every(({ ends }) => ends.length === 1), 'all watches have ended');
      for (const backend of [one, two]) {
        const list = await backend.list(ADOPTED, everything);
        expect([list.revision, list.items.map(({ key, revision }) => [key, revision])]).toEqual([
          1001,
          [
            ['a/x', 500],
            ['a/y', 900],
          ],
        ]);
      }
      expect(decode(await two.get(ADOPTED, 'a/x'))).toMatchObject({ metadata: { resourceVersion: '500' } });
      expect((await commit(two, put('a/x', 500, {}, ADOPTED))).revision).toBe(1002);
      expect((await commit(one, put('a/k0', 2, {}))).revision).toBe(1003);
      await expect(one.list(ADOPTED, { ...everything, revision: 900 })).rejects.toMatchObject({ code: 'compacted' });
      for (const cache of caches)
        expect(await cache.list({ mode: 'most-recent' }, page())).toMatchObject({ length: 4 });
    } finally {
      await Promise.all(cachers.map((cacher) => cacher.stop()));
    }
  });

  test('reads between the raise and the first write return the existing objects', async () => {
    const backend = await replica(await mongoOptions());
    await commit(backend, put('a/k', 0));
    await backend.raise(50);
    await backend.raise(10);
    expect((await backend.list('widgets.example.com', everything)).items).toHaveLength(1);
    expect((await commit(backend, put('a/l', 0))).revision).toBe(53);
  });

  test('are encrypted in the copy like their type, and readable there and after installation', async () => {
    const options = await mongoOptions();
    const sealing = { prefix: 'k8s:enc:aesgcm:v1:key:', transformer: new Gcm(randomBytes(32)) };
    const transformer = new PrefixTransformers([sealing], 'no matching prefix found');
    const backend: Backend = encryptedBackend({
      backend: await replica(options),
      transformers: { of: (resource) => (resource === ADOPTED ? transformer : undefined) },
      clock: systemClock,
      onUnreadable: (resource, key) => {
        throw new Error(`${resource} ${key} cannot be read`);
      },
    });
    const copy = backend.staging?.copy(NEW);
    if (copy === undefined) throw new Error('the store keeps no copies');
    for (const resource of [ADOPTED, OPEN]) await copy.put(resource, [staged('a/secret', 500)]);
    const stored = (name: string): Promise<string> =>
      withClient(options.uri, async (client) => {
        const found = await client.db(options.database).collection(name).findOne({});
        return JSON.stringify(found) + (found?.['_annex'] as { bytes: Binary }).bytes.toString('utf8');
      });
    expect(await stored(`~copy.${NEW}.${OPEN}`)).toContain('"secret"');
    expect(await stored(`~copy.${NEW}.${ADOPTED}`)).toContain('k8s:enc:aesgcm:v1:key:');
    expect(await stored(`~copy.${NEW}.${ADOPTED}`)).not.toContain('"secret"');
    expect(decode((await copy.states(ADOPTED, ['a/secret'])).get('a/secret'))).toMatchObject({
      metadata: { name: 'secret', resourceVersion: '500' },
    });
    for (const resource of [ADOPTED, OPEN]) await copy.install(resource);
    await backend.raise(500);
    for (const resource of [ADOPTED, OPEN])
      expect(decode(await backend.get(resource, 'a/secret'))).toMatchObject({ metadata: { resourceVersion: '500' } });
  });

  test('do not replace existing objects', async () => {
    const backend = await replica(await mongoOptions());
    await commit(backend, put('a/k', 0, {}, ADOPTED));
    const copy = backend.staging.copy(NEW);
    await copy.put(ADOPTED, [staged('a/x', 500)]);
    await expect(copy.install(ADOPTED)).rejects.toThrow('the store already has objects of reports.adopted.example.com');
    await copy.discard(ADOPTED);
    await copy.install(ADOPTED);
    await backend.raise(500);
    expect((await backend.list(ADOPTED, everything)).items.map(({ key }) => key)).toEqual(['a/x']);
  });
});

described('presence of processes', () => {
  test('are those that published recently, by the clock of MongoDB', async () => {
    const options = await mongoOptions();
    const [one, two] = [(await replica(options)).presence, (await replica(options)).presence];
    expect(await one.all()).toEqual([]);
    await one.publish('a');
    await two.publish('b');
    await one.publish('c');
    expect([...(await two.all())].sort()).toEqual(['b', 'c']);
    await withClient(options.uri, (client) => {
      const seen = new Date(Date.now() - 20_000);
      return client.db(options.database).collection('replicas').updateOne({ says: 'b' }, { $set: { seen } });
    });
    expect(await one.all()).toEqual(['c']);
    await two.publish('b');
    await one.leave();
    expect(await two.all()).toEqual(['b']);
  });
});
