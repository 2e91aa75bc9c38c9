import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import type { ResourceCache } from '../../src/storage/cacher/interfaces.js';
import { WorkingSet } from '../../src/storage/cacher/tree/working-set.js';
import type { Backend, StoredObject } from '../../src/storage/interfaces.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { coldBackend } from '../../src/storage/mongodb/cold/backend.js';
import { ColdFile } from '../../src/storage/mongodb/cold/file.js';
import { FakeClock } from '../fakes/util/clock.js';
import { page, until, widgets } from './cacher-fixtures.js';
import { commit, put, remove } from './fixtures.js';
import { withClient } from './mongod.js';
import { hasMongod, mongoOptions } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const OBJECTS = 1_500;

let directory: string;
let options: MongoOptions;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'annex-cold-'));
  options = await mongoOptions();
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** Counts how often a whole type is read, and how often a save asks for its batch. */
class CountedBackend extends MongoBackend {
  walks = 0;
  saves = 0;

  override async batchAt(revision: number): Promise<string | undefined> {
    const batch = await super.batchAt(revision);
    this.saves++;
    return batch;
  }

  override walk(resource: string, visit: (object: StoredObject) => void): Promise<number> {
    this.walks++;
    return super.walk(resource, visit);
  }
}

/** A replica with a cache file and almost no memory budget. */
class Replica {
  private constructor(
    readonly backend: CountedBackend,
    private readonly cold: Backend,
    private readonly cacher: StorageCacher,
    private readonly cache: ResourceCache,
    private readonly clock: FakeClock,
  ) {}

  static async start(): Promise<Replica> {
    const clock = new FakeClock();
    const backend = new CountedBackend(options);
    const cold = coldBackend({ backend, file: new ColdFile({ directory, clock, boot: 'this' }), clock });
    await cold.open();
    const cacher = new StorageCacher({ backend: cold, clock, warmth: new WorkingSet(20_000) });
    await cacher.start();
    return new Replica(backend, cold, cacher, cacher.add(widgets), clock);
  }

  /** Returns the key and the spec of each object. */
  async shown(): Promise<Map<string, unknown>> {
    const list = await this.cache.list({ mode: 'most-recent' }, page());
    return new Map([...list.items()].map((item) => [item.key, item.decode()['spec']]));
  }

  async saved(): Promise<void> {
    const { saves } = this.backend;
    this.clock.advance(31_000);
    await until(() => this.backend.saves > saves, 'it is saved');
  }

  /** Stops without a final save, as if the process were killed. */
  async kill(): Promise<void> {
    await this.cacher.stop();
    await this.cold.close();
  }
}

async function filled(): Promise<Replica> {
  const replica = await Replica.start();
  const numbers = Array.from({ length: OBJECTS }, (_, i) => i);
  await Promise.all(numbers.map((i) => commit(replica.backend, put(`a/k${String(i).padStart(4, '0')}`, 0, { i }))));
  expect((await replica.shown()).size).toBe(OBJECTS);
  await replica.saved();
  return replica;
}

async function otherwise<T>(how: (backend: MongoBackend) => Promise<T>): Promise<T> {
  const other = new MongoBackend(options);
  await other.open();
  try {
    return await how(other);
  } finally {
    await other.close();
  }
}

const revisionOf = async (backend: MongoBackend, key: string): Promise<number> =>
  (await backend.get(widgets.resource, key))?.revision ?? 0;

described('a replica restarted with its file', () => {
  test('reads only the recent writes from MongoDB, its own and those of others', async () => {
    const first = await filled();
    await commit(first.backend, put('a/k0001', await revisionOf(first.backend, 'a/k0001'), { i: 'own' }));
    await commit(first.backend, put('b/new', 0, { i: 'own' }));
    expect((await first.shown()).size).toBe(OBJECTS + 1);
    await first.kill();
    await otherwise(async (other) => {
      await commit(other, put('a/k0002', await revisionOf(other, 'a/k0002'), { i: 'other' }));
      await commit(other, remove('a/k0003', await revisionOf(other, 'a/k0003')));
    });
    const again = await Replica.start();
    const shown = await again.shown();
    expect([shown.size, again.backend.walks]).toEqual([OBJECTS, 0]);
    expect(['a/k0000', 'a/k0001', 'a/k0002', 'a/k0003', 'b/new'].map((key) => shown.get(key))).toEqual([
      { i: 0 },
      { i: 'own' },
      { i: 'other' },
      undefined,
      { i: 'own' },
    ]);
    await again.kill();
  });

  test('reads everything if the log does not reach back far enough', async () => {
    const first = await filled();
    await first.kill();
    await otherwise(async (other) => {
      const { revision } = await commit(other, put('b/new', 0));
      await other.compact(revision);
    });
    const again = await Replica.start();
    expect([(await again.shown()).size, again.backend.walks]).toEqual([OBJECTS + 1, 1]);
    await again.kill();
  });

  test('reads everything if the database was replaced', async () => {
    const first = await filled();
    await first.kill();
    await withClient(options.uri, (client) => client.db(options.database).dropDatabase());
    await otherwise(async (other) => {
      for (let i = 0; i < 5; i++)
        await Promise.all(
          Array.from({ length: 400 }, (_, k) => commit(other, put(`c/k${i}-${k}`, 0, { another: true }))),
        );
    });
    const again = await Replica.start();
    const shown = await again.shown();
    expect([shown.size, shown.has('a/k0000'), again.backend.walks]).toEqual([2_000, false, 1]);
    await again.kill();
  });
});
