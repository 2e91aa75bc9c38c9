import { encodeObject } from '../../src/storage/encode.js';
import type { StagedObject } from '../../src/storage/interfaces.js';
import { MongoBackend, type MongoOptions } from '../../src/storage/mongodb/backend.js';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import { page, type Recorder, until, watch, widgets } from './cacher-fixtures.js';
import { commit, decode, everything, put, widget } from './fixtures.js';
import { hasMongod, mongoOptions } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const ADOPTED = 'reports.adopted.example.com';
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

described('objects that come from another store', () => {
  test('keep their revisions, and the log goes on above them, for every replica', async () => {
    const options = await mongoOptions();
    const [one, two] = [await replica(options), await replica(options)];
    for (let i = 0; i < 4; i++) await commit(one, put(`a/k${i}`, 0));
    const cachers = [one, two].map((backend) => new StorageCacher({ backend }));
    for (const cacher of cachers) await cacher.start();
    try {
      const caches = cachers.map((cacher) => cacher.add(widgets));
      const recorders: Recorder[] = [];
      for (const cache of caches) recorders.push(await watch(cache));
      const copy = one.staging(NEW);
      await copy.put(ADOPTED, [staged('a/x', 500), staged('a/y', 900)]);
      await copy.install(ADOPTED);
      await one.raise(1000);
      // Again, as a leader does who finds it half done.
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

  test('whoever reads between the raise and the first write reads what is there', async () => {
    const backend = await replica(await mongoOptions());
    await commit(backend, put('a/k', 0));
    await backend.raise(50);
    await backend.raise(10);
    expect((await backend.list('widgets.example.com', everything)).items).toHaveLength(1);
    expect((await commit(backend, put('a/l', 0))).revision).toBe(53);
  });

  test('take the place of nothing that is there', async () => {
    const backend = await replica(await mongoOptions());
    await commit(backend, put('a/k', 0, {}, ADOPTED));
    const copy = backend.staging(NEW);
    await copy.put(ADOPTED, [staged('a/x', 500)]);
    await expect(copy.install(ADOPTED)).rejects.toThrow('the store has objects of reports.adopted.example.com already');
    await copy.discard(ADOPTED);
    await copy.install(ADOPTED);
    await backend.raise(500);
    expect((await backend.list(ADOPTED, everything)).items.map(({ key }) => key)).toEqual(['a/x']);
  });
});
