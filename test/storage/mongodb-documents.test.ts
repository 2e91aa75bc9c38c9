import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../src/apimachinery/json/json.js';
import { encodeObject } from '../../src/storage/encode.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { collect, commit, everything, put, RESOURCE } from './fixtures.js';
import { Mongod, withClient } from './mongod.js';
import { failureOf, hasMongod, mongodPath, mongoOptions, settled } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;

/** Member names that are valid JSON but difficult for databases. */
const names = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom(
    'a.b',
    '$set',
    '$ref',
    '$id',
    '_id',
    '_annex',
    '_bsontype',
    '__proto__',
    'toBSON',
    '',
    '10',
    '2',
    'x\0y',
  ),
);
const { tree } = fc.letrec<{ tree: JsonValue; object: JsonObject }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.integer(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    fc.bigInt({ min: -(2n ** 80n), max: -(2n ** 53n) }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null),
    fc.array(tie('tree'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.array(fc.tuple(names, tie('tree')), { maxLength: 5 }).map((pairs) => Object.fromEntries(pairs)),
}));

described('documents in MongoDB', () => {
  let backend: MongoBackend;
  let options: MongoOptions;
  beforeAll(async () => {
    options = await mongoOptions();
    backend = new MongoBackend(options);
    await backend.open();
  });
  afterAll(() => backend.close());

  test('JSON is returned byte for byte, from the state, the log, and a list', async () => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(names, tree), { maxLength: 6 }), async (members) => {
        const key = `a/k${++n}`;
        const object = { ...Object.fromEntries(members), apiVersion: 'v1', kind: 'K', metadata: { name: `k${n}` } };
        const value = encodeObject(object);
        const after = await backend.currentRevision();
        const { revision } = await commit(backend, { resource: RESOURCE, key, expected: 0, value });
        const text = `${value.head}${revision}${value.tail}`;
        expect(Buffer.from((await backend.get(RESOURCE, key))?.bytes ?? []).toString()).toBe(text);
        expect(Buffer.from((await collect(backend, after, 1))[0]?.object.bytes ?? []).toString()).toBe(text);
        const list = await backend.list(RESOURCE, { ...everything, prefix: key, limit: 1 });
        expect(Buffer.from(list.items[0]?.bytes ?? []).toString()).toBe(text);
      }),
      { numRuns: 150 },
    );
  });

  test('stores a document at the maximum nesting depth of JSON', async () => {
    let deep: JsonObject = { leaf: 1 };
    for (let i = 0; i < 500; i++) deep = { a: deep };
    const { bytes } = await commit(backend, put('a/deep', 0, deep));
    expect(Buffer.from((await backend.get(RESOURCE, 'a/deep'))?.bytes ?? []).equals(bytes)).toBe(true);
  });

  test('users can query objects as ordinary documents', async () => {
    const spec = { color: 'red', size: 2n ** 60n, 'dotted.name': { $in: 1 }, list: [{ a: 1 }, { a: 2 }] };
    await commit(backend, put('q/red', 0, spec));
    await commit(backend, put('q/blue', 0, { color: 'blue' }));
    await settled(backend);
    await withClient(options.uri, async (client) => {
      const collection = client.db(options.database).collection(RESOURCE);
      const found = await collection.find({ 'spec.color': 'red', 'spec.list.a': 2 }, { promoteLongs: false }).toArray();
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({
        _id: 'q/red',
        apiVersion: 'example.com/v1',
        metadata: { name: 'red', labels: { app: 'x' } },
        spec: { color: 'red', 'dotted.name': { $in: 1 } },
      });
      expect(String((found[0]?.['spec'] as { size: unknown }).size)).toBe(String(2n ** 60n));
      expect(await collection.countDocuments({ 'spec.size': { $gt: 2 ** 59 } })).toBe(1);
    });
  });

  test('rejects an object that does not fit in a document, and accepts one that just fits', async () => {
    const filler = (bytes: number): JsonObject => ({ filler: 'x'.repeat(bytes) });
    await expect(backend.write(put('a/huge', 0, filler(9 << 20)))).rejects.toMatchObject({
      code: 'object-too-large',
      message: expect.stringMatching(/^the object is \d+ bytes; the maximum is \d+ bytes/) as string,
    });
    const large = filler((8 << 20) - (66 << 10));
    const { revision } = await commit(backend, put('a/large', 0, large));
    const again = await commit(backend, put('a/large', revision, large));
    const many = { numbers: Array.from({ length: 2_000_000 }, (_, i) => i % 10) };
    await commit(backend, put('a/many', 0, many));
    expect((await collect(backend, revision, 1))[0]?.previous?.bytes.length).toBe(again.bytes.length);
  });

  test.each([3, 4, 99])('a database of format %d is left alone', async (version) => {
    const other = await mongoOptions();
    await withClient(other.uri, (client) =>
      client
        .db(other.database)
        .collection<{ _id: string; version: number }>('meta')
        .insertOne({ _id: 'format', version }),
    );
    await expect(new MongoBackend(other).open()).rejects.toMatchObject({
      code: 'unusable',
      message: expect.stringContaining(`has format ${version}, which this version of Annex does not support`) as string,
    });
    await withClient(other.uri, async (client) => {
      const db = client.db(other.database);
      expect(await db.collection('meta').find().toArray()).toEqual([{ _id: 'format', version }]);
      expect((await db.listCollections().toArray()).map(({ name }) => name)).toEqual(['meta']);
    });
  });
});

described('an unusable MongoDB', () => {
  test('is reported in one line, without the password', async () => {
    const mongod = await Mongod.start(mongodPath(), []);
    const { uri } = await mongoOptions();
    try {
      const host = uri.slice('mongodb://'.length, uri.indexOf('/?'));
      const lines = [
        [mongod.directUri, /is not a replica set, which Annex needs: start it with --replSet/],
        ['mongodb://u:p%40ss@127.0.0.1:1/?replicaSet=r', /^MongoDB at 127\.0\.0\.1:1 cannot be reached/],
        [`mongodb://u:p%40ss@${host}/?replicaSet=rs0`, /rejected the credentials in the MongoDB URI/],
        ['mongodb://u:p%40ss@a:b:c/', /^the MongoDB URI is malformed/],
        ['http://u:p%40ss@a/', /^the MongoDB URI is malformed/],
      ] as const;
      for (const [address, pattern] of lines) {
        const line = await failureOf(address, pattern);
        expect(line).toMatch(pattern);
        expect(line).not.toMatch(/\n|p%40ss|p@ss/);
      }
    } finally {
      await mongod.dispose();
    }
  });
});
