import type { Db } from 'mongodb';
import { encodeObject } from '../../src/storage/encode.js';
import type { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { encodeRecord } from '../../src/storage/record.js';
import { commit, everything, put, remove, RESOURCE, widget } from './fixtures.js';
import { pause, withClient } from './mongod.js';
import { hasMongod, mongoOptions, OpenBackends, settled } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const { opened, closeAll } = new OpenBackends();

afterEach(closeAll);

interface StateOf {
  readonly _id: string;
  readonly _annex: { readonly revision: number; readonly deleted?: boolean };
}

const inDatabase = <T>({ uri, database }: MongoOptions, work: (db: Db) => Promise<T>): Promise<T> =>
  withClient(uri, (client) => work(client.db(database)));

/** Returns the projection of the type: key, revision, and whether the document is a tombstone. */
const projection = (options: MongoOptions): Promise<unknown[]> =>
  inDatabase(options, async (db) => {
    const found = await db.collection<StateOf>(RESOURCE).find().sort({ _id: 1 }).toArray();
    return found.map(({ _id, _annex }) => [_id, _annex.revision, _annex.deleted ?? false]);
  });

/** The batch of a replica that was killed after inserting it and before projecting it. */
const left = (first: number, ...keys: string[]) => ({
  _id: first,
  last: first + keys.length - 1,
  writer: 'gone',
  batch: first,
  time: new Date(),
  entries: keys.map((key, i) => ({
    resource: RESOURCE,
    type: 'ADDED',
    key,
    previous: 0,
    bytes: encodeRecord(encodeObject(widget(key, { left: true })), first + i),
  })),
});

const leave = (options: MongoOptions, ...batches: ReturnType<typeof left>[]): Promise<unknown> =>
  inDatabase(options, (db) => db.collection<ReturnType<typeof left>>('log').insertMany(batches));

const listed = async (backend: MongoBackend): Promise<unknown> =>
  (await backend.list(RESOURCE, everything)).items.map(({ key, revision }) => [key, revision]);

described('the projection', () => {
  test('follow the log, even after a pause, with the newest state of each object', async () => {
    const options = await mongoOptions();
    const backend = await opened(options);
    for (let round = 0; round < 3; round++) {
      const { revision } = await commit(backend, put(`a/k${round}`, 0));
      await commit(backend, put(`a/k${round}`, revision));
      await settled(backend);
      await pause(1_200);
    }
    await commit(backend, remove('a/k0', 3));
    const again = await commit(backend, put('a/k3', 0));
    await commit(backend, remove('a/k3', again.revision));
    await settled(backend);
    expect(await projection(options)).toEqual([
      ['a/k0', 8, true],
      ['a/k1', 5, false],
      ['a/k2', 7, false],
      ['a/k3', 10, true],
    ]);
    expect(await listed(backend)).toEqual([
      ['a/k1', 5],
      ['a/k2', 7],
    ]);
  });

  test('include the commits of a killed replica, without delaying any request', async () => {
    const options = await mongoOptions();
    await leave(options, left(2, 'a/x', 'a/y'), left(4, 'a/z'));
    const [one, two] = [await opened(options), await opened(options)];
    for (const backend of [one, two]) {
      expect(await listed(backend)).toEqual([
        ['a/x', 2],
        ['a/y', 3],
        ['a/z', 4],
      ]);
      expect(await backend.get(RESOURCE, 'a/y')).toMatchObject({ revision: 3 });
      expect(await backend.currentRevision()).toBe(4);
    }
    expect(await projection(options)).toEqual([]);
    expect(await one.write(put('a/x', 0))).toMatchObject({ outcome: 'conflict', current: { revision: 2 } });
    await commit(two, remove('a/y', 3));
    await settled(one);
    await settled(two);
    expect(await projection(options)).toEqual([
      ['a/x', 2, false],
      ['a/y', 5, true],
      ['a/z', 4, false],
    ]);
    // A late write of the killed replica finds the tombstone, whenever it arrives.
    const held = await inDatabase(options, (db) => db.collection('held').distinct('key'));
    expect(held).toEqual(['a/x', 'a/y', 'a/z']);
    const shown = await inDatabase(options, (db) =>
      db.collection<{ _id: string; spec?: unknown }>(RESOURCE).findOne({ _id: 'a/x' }),
    );
    expect(shown).toMatchObject({ kind: 'Widget', spec: { left: true } });
  });

  test('never contain a batch inserted in the place of a trimmed one', async () => {
    const options = await mongoOptions();
    const backend = await opened(options);
    for (let i = 0; i < 8; i++) await commit(backend, put(`a/k${i}`, 0));
    await settled(backend);
    await closeAll();
    await inDatabase(options, async (db) => {
      const floor = { $set: { revision: 8, log: '' } };
      await db.collection<{ _id: string }>('meta').updateOne({ _id: 'floor' }, floor, { upsert: true });
      await db.collection<{ _id: number }>('log').deleteMany({ _id: { $lte: 8 } });
    });
    // It has more revisions than the batch it replaces.
    await leave(options, left(8, 'a/void', 'a/void1', 'a/void2', 'a/void3', 'a/void4'));
    const next = await opened(options);
    expect(await next.currentRevision()).toBe(9);
    expect(await listed(next)).toHaveLength(8);
    expect(await next.get(RESOURCE, 'a/void')).toBeUndefined();
    expect((await commit(next, put('a/void', 0))).revision).toBe(10);
    await settled(next);
    expect((await projection(options)).length).toBe(9);
  });
});
