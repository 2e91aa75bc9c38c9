import { StorageError } from '../../src/storage/errors.js';
import { StorageCacher } from '../../src/storage/cacher/cacher.js';
import type { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import { keysOf, page, widgets } from './cacher-fixtures.js';
import { documentsOf, dump, restore } from './dumps.js';
import { commit, put, remove, RESOURCE } from './fixtures.js';
import { until, withClient } from './mongod.js';
import { hasMongod, mongoOptions, observer, OpenBackends, settled } from './mongodb-fixtures.js';

const described = hasMongod() ? describe : describe.skip;
const { opened, closeAll } = new OpenBackends();
afterEach(closeAll);

const refusalOf = (options: MongoOptions): Promise<string> =>
  opened(options).then(
    () => 'it opened',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

/** Writes objects, and returns the revision of the last one. All of them are in the collection when it returns. */
async function fill(backend: MongoBackend, prefix: string, count: number): Promise<number> {
  let revision = 0;
  for (let i = 0; i < count; i++) ({ revision } = await commit(backend, put(`a/${prefix}${i}`, 0, { i })));
  await settled(backend);
  return revision;
}

async function listed(backend: MongoBackend): Promise<Map<string, number>> {
  const { items } = await backend.list(RESOURCE, { prefix: '', from: '', limit: 0, revision: 0 });
  return new Map(items.map(({ key, revision }) => [key, revision]));
}

const inMongo = (options: MongoOptions): Promise<Map<string, number>> =>
  documentsOf(options.uri, options.database, RESOURCE);

const drop = (options: MongoOptions, collection: string): Promise<unknown> =>
  withClient(options.uri, (client) => client.db(options.database).collection(collection).drop());

described('a log that is older than its objects', () => {
  test.each([
    ['the log was dropped', [], /: log ends at revision 1, but widgets\.example\.com has revision 7, so the log was/],
    ['the objects were dumped after the log', ['log', 'meta'], /: log ends at revision 4, but widgets\.example\.com/],
    [
      'only META was dumped after the log',
      ['log', RESOURCE],
      /: log ends at revision 4, but meta \(projected\.\S+\) has/,
    ],
  ])('%s: the start is refused, and the log continues above if the operator says so', async (_, old, message) => {
    const options = await mongoOptions();
    const backend = await opened(options);
    await fill(backend, 'old', 3);
    const before = await dump(options.uri, options.database, old);
    await fill(backend, 'new', 3);
    await closeAll();
    if (old.length === 0) await drop(options, 'log');
    else await restore(options.uri, options.database, before);
    const there = await inMongo(options);
    const refused = await refusalOf(options);
    expect(refused).toMatch(message);
    expect(refused).not.toContain('\n');
    const [, above] = /set --mongodb-continue-above=(\d+) to keep the objects as they are/.exec(refused) ?? [];
    // Consent to less is none.
    expect(await refusalOf({ ...options, continueAbove: Number(above) - 1 })).toBe(refused);
    const again = await opened({ ...options, continueAbove: Number(above) });
    expect(await listed(again)).toEqual(there);
    const newest = await again.currentRevision();
    expect(newest).toBeGreaterThan(Number(above));
    const [[key, revision] = ['', 0]] = there;
    const written = await commit(again, put(key, revision, { changed: true }));
    expect(written.revision).toBe(newest + 1);
    await settled(again);
    await closeAll();
    // The flag has no effect any more, and what was acknowledged stays.
    const third = await opened(options);
    expect((await third.get(RESOURCE, key))?.revision).toBe(written.revision);
    expect((await inMongo(options)).get(key)).toBe(written.revision);
  });

  test('writes that only the log has are kept when it continues above', async () => {
    const options = await mongoOptions();
    const backend = await opened(options);
    await fill(backend, 'first', 1);
    const objects = await dump(options.uri, options.database, [RESOURCE]);
    await fill(backend, 'logged', 3);
    const log = await dump(options.uri, options.database, ['log']);
    const last = await fill(backend, 'lost', 1);
    await closeAll();
    await restore(options.uri, options.database, new Map([...objects, ...log]));
    const again = await opened({ ...options, continueAbove: last });
    expect([...(await listed(again)).keys()].sort()).toEqual(['a/first0', 'a/logged0', 'a/logged1', 'a/logged2']);
    await settled(again);
    expect(await inMongo(options)).toEqual(await listed(again));
  });

  test('each log is compared with its own types', async () => {
    const options = { ...(await mongoOptions()), overrides: new Map([['reports.example.com', 'reports']]) };
    const main = await opened(options);
    const reports = await opened({ ...options, log: 'reports' });
    for (let i = 0; i < 9; i++) await commit(reports, put(`a/r${i}`, 0, {}, 'reports.example.com'));
    await fill(main, 'x', 1);
    await settled(reports);
    await closeAll();
    await opened(options);
    await opened({ ...options, log: 'reports' });
    await closeAll();
    await drop(options, 'log.reports');
    await opened(options);
    expect(await refusalOf({ ...options, log: 'reports' })).toMatch(
      /: log\.reports ends at revision 1, but reports\.example\.com has revision 10,/,
    );
  });
});

described('a restore under a running server', () => {
  interface Running {
    readonly options: MongoOptions;
    readonly backend: MongoBackend;
    readonly halts: string[];
    readonly resumptions: string[];
  }

  async function running(): Promise<Running> {
    const halts: string[] = [];
    const resumptions: string[] = [];
    const observed = observer({ halted: (_, reason) => halts.push(reason), resumed: (log) => resumptions.push(log) });
    const options = { ...(await mongoOptions()), observer: observed };
    return { options, backend: await opened(options), halts, resumptions };
  }

  const isRefused = async (backend: MongoBackend): Promise<boolean> =>
    backend.write(put('a/during', 0)).then(
      () => false,
      (error: unknown) => error instanceof StorageError && error.code === 'unavailable',
    );

  test('it neither reads nor writes until everything is loaded anew, above all former revisions', async () => {
    const { options, backend, halts, resumptions } = await running();
    const cacher = new StorageCacher({ backend });
    await cacher.start();
    const cache = cacher.add(widgets);
    await cache.ready();
    await fill(backend, 'kept', 3);
    const backup = await dump(options.uri, options.database);
    const last = await fill(backend, 'gone', 3);
    await commit(backend, remove('a/kept0', 2));
    await settled(backend);
    await restore(options.uri, options.database, backup);
    await until('the store is not used', () => halts.length > 0);
    expect([backend.health.following().ok, backend.health.writing().ok, backend.health.same().ok]).toEqual([
      false,
      false,
      false,
    ]);
    expect(await isRefused(backend)).toBe(true);
    await expect(backend.health.ping()).rejects.toThrow('dropped or replaced');
    await expect(backend.get(RESOURCE, 'a/gone0')).rejects.toThrow('dropped or replaced');
    await expect(listed(backend)).rejects.toThrow('dropped or replaced');
    await until('it is used again', () => resumptions.length > 0);
    const there = await inMongo(options);
    expect([...there.keys()].sort()).toEqual(['a/kept0', 'a/kept1', 'a/kept2']);
    expect(await listed(backend)).toEqual(there);
    expect(await backend.currentRevision()).toBeGreaterThan(last);
    const shown = await cache.list({ mode: 'most-recent' }, page());
    expect(keysOf(shown)).toEqual([...there.keys()].sort());
    await until('it takes writes', () => backend.health.writing().ok);
    const stored = await commit(backend, put('a/after', 0));
    await settled(backend);
    expect((await inMongo(options)).get('a/after')).toBe(stored.revision);
    expect(halts).toHaveLength(1);
    await cacher.stop();
  });

  test('it notices without a change stream that the log was emptied and filled again', async () => {
    const { options, backend, halts } = await running();
    await fill(backend, 'kept', 3);
    const backup = await dump(options.uri, options.database, ['log']);
    await fill(backend, 'gone', 3);
    await withClient(options.uri, async (client) => {
      const log = client.db(options.database).collection('log');
      await log.deleteMany({});
      await log.insertMany([...(backup.get('log') ?? [])]);
    });
    await expect(backend.currentRevision()).rejects.toThrow(/revision 7 was already committed/);
    expect(halts).toHaveLength(1);
    expect(await isRefused(backend)).toBe(true);
  });

  test('a write to the log that took its place does not end the alarm', async () => {
    const { options, backend, halts } = await running();
    await fill(backend, 'kept', 3);
    const backup = await dump(options.uri, options.database, ['log']);
    await fill(backend, 'gone', 3);
    await withClient(options.uri, async (client) => {
      const log = client.db(options.database).collection('log');
      await log.deleteMany({});
      await log.insertMany([...(backup.get('log') ?? [])]);
    });
    await backend.write(put('a/unlucky', 0)).catch(() => undefined);
    await until('the store is not used', () => halts.length > 0);
    expect(await isRefused(backend)).toBe(true);
  });

  test('a backup without the oplog is refused by a running server, too', async () => {
    const { options, backend, halts, resumptions } = await running();
    await fill(backend, 'old', 3);
    const log = await dump(options.uri, options.database, ['log']);
    await fill(backend, 'new', 3);
    await restore(options.uri, options.database, log);
    await until('it says why', () => halts.some((reason) => reason.includes('--mongodb-continue-above=7')));
    expect(resumptions).toEqual([]);
    expect(backend.health.writing()).toEqual({ ok: false, reason: halts.at(-1) });
  });

  test('a replica that joins while others write, and trimming, are no alarm', async () => {
    const { options, backend, halts } = await running();
    const brief = { ...options, historyMillis: 300 };
    await fill(backend, 'projected', 3);
    const writing = (async () => {
      for (let i = 0; i < 300; i++) await commit(backend, put(`a/busy${i}`, 0));
    })();
    for (let i = 0; i < 5; i++) await opened(brief);
    await writing;
    const first = (await backend.currentRevision()) - 300;
    await until('the log was trimmed', async () =>
      withClient(options.uri, async (client) => {
        const log = client.db(options.database).collection<{ readonly _id: number }>('log');
        return ((await log.findOne({}, { sort: { _id: 1 } }))?._id ?? 0) > first;
      }),
    );
    expect(halts).toEqual([]);
  });

  test('a database that was dropped is not begun anew', async () => {
    const { options, backend, halts } = await running();
    await fill(backend, 'x', 1);
    await withClient(options.uri, (client) => client.db(options.database).dropDatabase());
    await until('it says so', () => halts.some((reason) => reason.includes('has no log of Annex')));
    expect(await isRefused(backend)).toBe(true);
    expect(await dump(options.uri, options.database)).toEqual(new Map());
  });
});

described('the cluster that a database belongs to', () => {
  const of = (options: MongoOptions, uid: string, former = ''): MongoOptions => ({
    ...options,
    cluster: { uid, former },
  });

  test('another cluster is refused, unless it was rebuilt and the servers of the former one are gone', async () => {
    const options = await mongoOptions();
    const first = await opened(of(options, 'one'));
    await fill(first, 'x', 1);
    await opened(of(options, 'one'));
    const refused = await refusalOf(of(options, 'two'));
    expect(refused).toMatch(
      /it belongs to the cluster one .*, and this is the cluster two .*--mongodb-former-cluster=one$/,
    );
    expect(refused).not.toContain('\n');
    expect(await refusalOf(of(options, 'two', 'three'))).toBe(refused);
    expect(await refusalOf(of(options, 'two', 'one'))).toMatch(/servers of the cluster one .* are still running/);
    await closeAll();
    const taken = await opened(of(options, 'two', 'one'));
    expect([...(await listed(taken)).keys()]).toEqual(['a/x0']);
    await closeAll();
    await opened(of(options, 'two'));
    expect(await refusalOf(of(options, 'one'))).toContain('belongs to the cluster two');
  });

  test('standalone servers and clusters do not share one', async () => {
    const options = await mongoOptions();
    await opened(of(options, 'standalone'));
    await opened(of(options, 'standalone'));
    expect(await refusalOf(of(options, 'one'))).toMatch(
      /it belongs to a standalone server, and this is the cluster one/,
    );
  });
});
