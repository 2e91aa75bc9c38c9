import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackupReader } from '../../src/storage/backup/reader.js';
import type { BackupObject } from '../../src/storage/backup/format.js';
import type { BackupSource, RestoreTarget } from '../../src/storage/backup/interfaces.js';
import { restoreBackup, type Restored } from '../../src/storage/backup/restore.js';
import { writeBackup } from '../../src/storage/backup/writer.js';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { EmbeddedRestore } from '../../src/storage/embedded/restore.js';
import { EmbeddedSnapshot } from '../../src/storage/embedded/snapshot.js';
import type { Backend, LogEvent, WriteRequest } from '../../src/storage/interfaces.js';
import { LogIdentities } from '../../src/storage/log-identity.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';
import { MongoRestore } from '../../src/storage/mongodb/backup/restore.js';
import { openSnapshot } from '../../src/storage/mongodb/backup/snapshot.js';
import { connect } from '../../src/storage/mongodb/connection/connection.js';
import { INCOMPLETE, recordOf } from '../../src/storage/record.js';
import { systemClock } from '../../src/util/clock.js';
import { compileSources } from './compiled.js';
import { collect, commit, corrupt, everything, put, remove, RESOURCE } from './fixtures.js';
import { hasMongod, mongoOptions } from './mongodb-fixtures.js';
import { withClient } from './mongod.js';

const HOUR = 3_600_000;

let scratch: string;
let script: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'annex-backup-'));
  const folders = [
    'src/storage',
    'src/util',
    'src/apimachinery',
    'src/scheduling',
    'src/go',
    'src/request',
    'test/storage',
  ];
  script = join(compileSources('backup', [...folders, 'src/authentication']), 'test/storage/backup-process.js');
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** A store that is backed up, or restored into. */
interface Store {
  backend(): Backend;
  snapshot(wants?: (type: string) => boolean): Promise<BackupSource>;
  target(next: number): RestoreTarget;
  /** The arguments of a process that restores a file into it. */
  readonly place: readonly string[];
}

let stores = 0;
const newDirectory = (): string => join(scratch, `store-${++stores}`);

function embedded(directory = newDirectory()): Promise<Store> {
  return Promise.resolve({
    backend: () => new EmbeddedBackend({ directory, historyMillis: HOUR }),
    snapshot: (wants = () => true) => EmbeddedSnapshot.open({ directory, clock: systemClock, wants }),
    target: (next) => new EmbeddedRestore(directory, next),
    place: [directory],
  });
}

async function mongodb(): Promise<Store> {
  const options = { ...(await mongoOptions()), historyMillis: HOUR };
  const connection = { uri: options.uri, database: options.database, selectMillis: 60_000 };
  return {
    backend: () => new MongoBackend(options),
    snapshot: async (wants = () => true) =>
      openSnapshot({ store: await connect(connection), clock: systemClock, wants }),
    target: () => new MongoRestore(connection, systemClock),
    place: [options.uri, options.database],
  };
}

const kinds: readonly (readonly [string, () => Promise<Store>])[] = hasMongod()
  ? [
      ['embedded', embedded],
      ['mongodb', mongodb],
    ]
  : [['embedded', embedded]];
const pairs = kinds.flatMap(([from, source]) => kinds.map(([to, target]) => [from, to, source, target] as const));

async function using<T>(store: Store, work: (backend: Backend) => Promise<T>): Promise<T> {
  const backend = store.backend();
  await backend.open();
  try {
    return await work(backend);
  } finally {
    await backend.close();
  }
}

async function save(source: BackupSource): Promise<string> {
  const chunks: Buffer[] = [];
  const keep = (bytes: Buffer): Promise<void> => Promise.resolve(void chunks.push(Buffer.from(bytes)));
  try {
    await writeBackup(source, keep, () => undefined);
  } finally {
    await source.close();
  }
  const path = join(scratch, `${++stores}.backup`);
  writeFileSync(path, Buffer.concat(chunks));
  return path;
}

async function restoreInto(store: Store, path: string): Promise<Restored> {
  const file = await open(path, 'r');
  const step = (): void => undefined;
  try {
    const target = (next: number): RestoreTarget => store.target(next);
    return await restoreBackup(file, { clock: systemClock, wants: () => true, continueAbove: 0, target, step });
  } finally {
    await file.close();
  }
}

/** The revision of a backup, and its objects: a line for each. */
async function contentOf(path: string): Promise<{ readonly revision: number; readonly lines: string[] }> {
  const file = await open(path, 'r');
  try {
    const reader = new BackupReader(file);
    const { revision } = await reader.header();
    const lines: string[] = [];
    for await (const batch of reader.objects()) lines.push(...batch.map(lineOf));
    return { revision, lines };
  } finally {
    await file.close();
  }
}

const lineOf = ({ type, key, revision, record }: BackupObject): string =>
  `${type} ${key} ${revision} ${Buffer.from(record).toString('latin1')}`;

async function linesOf(backend: Backend, types: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  for (const type of types) {
    const { items } = await backend.list(type, everything);
    for (const item of items)
      lines.push(lineOf({ type, key: item.key, revision: item.revision, record: recordOf(item) }));
  }
  return lines;
}

const OTHER = 'others.example.com';
const LONG = `${'x'.repeat(60)}.${'y'.repeat(63)}.${'z'.repeat(63)}.example.com`;
const TYPES = [
  'configmaps',
  'customresourcedefinitions.apiextensions.k8s.io',
  'empty.example.com',
  OTHER,
  RESOURCE,
  LONG,
];
TYPES.sort();

async function fill(backend: Backend): Promise<void> {
  await new LogIdentities().open({ main: backend, others: new Map(), overrides: new Map() });
  const writes: WriteRequest[] = [
    put('a/x', 0, { n: 2n ** 62n, text: 'grüß dich' }, 'configmaps'),
    put(LONG, 0, {}, 'customresourcedefinitions.apiextensions.k8s.io'),
    put('a/large', 0, { text: 'x'.repeat(3 << 20) }),
    put('ü/ß', 0),
    put('cluster', 0, {}, LONG),
  ];
  for (const write of writes) await commit(backend, write);
  const flagged = put('a/flagged', 0, {}, OTHER);
  await commit(backend, { ...flagged, value: flagged.value && { ...flagged.value, flags: INCOMPLETE } });
  await corrupt(backend, OTHER, 'a/encrypted', Buffer.from('k8s:enc:aescbc:v1:key:\0\xff\x80', 'latin1'));
  for (let i = 0; i < 30; i++) await commit(backend, put(`b/${i}`, 0, { i }));
  for (let i = 0; i < 10; i++) {
    const { revision } = (await backend.get(RESOURCE, `b/${i}`)) ?? { revision: 0 };
    await commit(backend, i % 2 === 0 ? remove(`b/${i}`, revision) : put(`b/${i}`, revision, { again: i }));
  }
  const gone = await commit(backend, put('a/gone', 0, {}, 'empty.example.com'));
  await commit(backend, remove('a/gone', gone.revision, 'empty.example.com'));
}

describe.each(pairs)('%s to %s', (_from, _to, source, target) => {
  test('all objects are as they were, and the revisions of before have no meaning', async () => {
    const [from, to] = [await source(), await target()];
    const before = await using(from, async (backend) => {
      await fill(backend);
      return { lines: await linesOf(backend, TYPES), revision: await backend.currentRevision() };
    });
    const path = await save(await from.snapshot());
    expect(await contentOf(path)).toEqual(before);
    const { above, restored } = await restoreInto(to, path);
    expect(restored).toBe(before.lines.length);
    await using(to, async (backend) => {
      expect(await linesOf(backend, TYPES)).toEqual(before.lines);
      expect(await backend.currentRevision()).toBe(above + 1);
      const exact = { ...everything, revision: before.revision };
      await expect(backend.list(RESOURCE, exact)).rejects.toMatchObject({ code: 'compacted' });
      await expect(collect(backend, before.revision, 1)).rejects.toMatchObject({ code: 'compacted' });
      const { revision } = await commit(backend, put('a/new', 0));
      expect(revision).toBe(above + 2);
      expect((await collect(backend, above + 1, 1)).map((event) => event.revision)).toEqual([revision]);
    });
    // And once more, from what was restored.
    const again = await contentOf(await save(await to.snapshot((type) => type !== RESOURCE)));
    expect(again.lines).toEqual(before.lines.filter((line) => !line.startsWith(`${RESOURCE} `)));
  });
});

test('the restored store has another identity', async () => {
  const [from, to] = [await embedded(), await embedded()];
  const identity = (store: Store): Promise<string | undefined> =>
    using(store, async (backend) => {
      const identities = new LogIdentities();
      await identities.open({ main: backend, others: new Map(), overrides: new Map() });
      return identities.of(backend);
    });
  const first = await identity(from);
  await restoreInto(to, await save(await from.snapshot()));
  const second = await identity(to);
  expect(second).not.toBe(first);
  expect(await identity(to)).toBe(second);
});

describe.each(kinds)('a store in %s', (_name, make) => {
  async function backupOf(count: number): Promise<string> {
    const store = await make();
    await using(store, (backend) =>
      Promise.all(
        Array.from({ length: count }, (_, i) => commit(backend, put(`a/${i}`, 0, { text: 'x'.repeat(2_000) }))),
      ),
    );
    return save(await store.snapshot());
  }

  test('nothing is restored into a store that is not empty', async () => {
    const path = await backupOf(1);
    const store = await make();
    await using(store, (backend) => commit(backend, put('a/mine', 0)));
    await expect(restoreInto(store, path)).rejects.toThrow(/has a store: restore into an empty|it is not empty \(/);
    const lines = await using(store, (backend) => linesOf(backend, [RESOURCE]));
    expect(lines.map((line) => line.split(' ')[1])).toEqual(['a/mine']);
    await restoreInto(await make(), path);
  });

  test('a server does not start on a part of a backup, and a restore begins anew', async () => {
    const path = await backupOf(10);
    const store = await make();
    const target = store.target(0);
    const file = await open(path, 'r');
    const reader = new BackupReader(file);
    await target.begin(await reader.header());
    for await (const batch of reader.objects()) await target.put(batch.slice(0, 5));
    await file.close();
    await target.close();
    const refused = /has begun and is not complete: run annex restore again, which begins anew, or (delete|drop) the/;
    await expect(using(store, () => Promise.resolve())).rejects.toThrow(refused);
    await expect(store.snapshot()).rejects.toThrow(refused);
    const [uri = '', database] = store.place;
    // As if the first one had been killed long ago.
    if (database !== undefined)
      await withClient(uri, (client) =>
        client
          .db(database)
          .collection('meta')
          .updateOne({}, { $set: { seen: new Date(0) } }),
      );
    await restoreInto(store, path);
    expect(await using(store, (backend) => linesOf(backend, [RESOURCE]))).toEqual((await contentOf(path)).lines);
  });

  test('a restore that is killed at any moment has happened or not, and can be repeated', async () => {
    const path = await backupOf(3_000);
    const { lines } = await contentOf(path);
    const outcomes = { complete: 0, refused: 0, empty: 0 };
    const whole = await run(['restore', path, ...(await make()).place]);
    expect(whole.stderr).toBe('');
    for (let round = 0; round < 12; round++) {
      const store = await make();
      await run(['restore', path, ...store.place], (whole.millis * (round + 1)) / 11);
      const outcome = await using(store, (backend) => linesOf(backend, [RESOURCE])).catch((error: unknown) =>
        String(error),
      );
      if (typeof outcome === 'string') {
        expect(outcome).toMatch(/a restore into .* has begun and is not complete/);
        outcomes.refused++;
        const [uri = '', database] = store.place;
        if (database !== undefined)
          await withClient(uri, (client) =>
            client
              .db(database)
              .collection('meta')
              .updateOne({}, { $set: { seen: new Date(0) } }),
          );
        await restoreInto(store, path);
        expect(await using(store, (backend) => linesOf(backend, [RESOURCE]))).toEqual(lines);
      } else if (outcome.length === 0) outcomes.empty++;
      else {
        expect(outcome).toEqual(lines);
        outcomes.complete++;
      }
    }
    expect(outcomes.complete + outcomes.refused + outcomes.empty).toBe(12);
  });

  test('a backup while writes go on is the state at its revision', async () => {
    const store = await make();
    await using(store, async (backend) => {
      const events: LogEvent[] = [];
      const begin = await backend.currentRevision();
      const stop = new AbortController();
      const writers = Array.from({ length: 4 }, (_, i) => writeRandomly(backend, i, stop.signal));
      const paths: string[] = [];
      for (let i = 0; i < 8; i++) {
        await new Promise((done) => setTimeout(done, 150));
        if (store.place.length > 1) paths.push(await save(await store.snapshot()));
        else {
          const path = join(scratch, `${++stores}.backup`);
          const [directory = ''] = store.place;
          expect(await run(['backup', directory, path])).toMatchObject({ code: 0, stderr: '' });
          paths.push(path);
        }
      }
      stop.abort();
      await Promise.all(writers);
      events.push(...(await collect(backend, begin, (await backend.currentRevision()) - begin)));
      let last = 0;
      for (const path of paths) {
        const { revision, lines } = await contentOf(path);
        expect(lines).toEqual(stateAt(events, revision));
        expect(revision).toBeGreaterThan(last);
        last = revision;
      }
    });
  });
});

/** Creates, changes and deletes objects of two types at random until the signal is aborted. */
async function writeRandomly(backend: Backend, seed: number, signal: AbortSignal): Promise<void> {
  let state = seed * 7_919 + 1;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
  while (!signal.aborted) {
    const [resource, key] = [random(2) === 0 ? RESOURCE : OTHER, `w${seed}/k${random(200)}`];
    const { revision } = (await backend.get(resource, key)) ?? { revision: 0 };
    const deletes = revision !== 0 && random(3) === 0;
    const write = deletes
      ? remove(key, revision, resource)
      : put(key, revision, { n: random(1e9), text: 'x'.repeat(random(3_000)) }, resource);
    expect(await backend.write(write)).toMatchObject({ outcome: 'committed' });
  }
}

/** The objects at a revision, by the events since the beginning. */
function stateAt(events: readonly LogEvent[], revision: number): string[] {
  const states = new Map<string, string>();
  for (const { revision: at, resource, key, type, object } of events) {
    if (at > revision) break;
    const id = `${resource}\0${key}`;
    if (type === 'DELETED') states.delete(id);
    else states.set(id, lineOf({ type: resource, key, revision: at, record: recordOf(object) }));
  }
  return [...states].sort(([a], [b]) => Buffer.from(a).compare(Buffer.from(b))).map(([, line]) => line);
}

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  readonly millis: number;
}

/** Runs a process of its own, and kills it after a time. */
function run(args: readonly string[], killAfter?: number): Promise<Ended> {
  const begun = performance.now();
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const killing = killAfter === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfter);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(killing);
      resolve({ code, stderr, millis: performance.now() - begun });
    });
  });
}

test('the pages that a killed backup has kept are used again, while the server runs', async () => {
  const directory = newDirectory();
  const backend = new EmbeddedBackend({ directory, historyMillis: 200 });
  await backend.open();
  try {
    await commit(backend, put('a/first', 0));
    const child = spawn(process.execPath, [script, 'hold', directory], { stdio: ['ignore', 'pipe', 'ignore'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
    const revisions = new Map<string, number>();
    const rounds = 60;
    for (let round = 0; round < rounds; round++) {
      const writes = Array.from({ length: 50 }, async (_, i) => {
        const key = `a/${i}`;
        const { revision } = await commit(backend, put(key, revisions.get(key) ?? 0, { text: 'x'.repeat(20_000) }));
        revisions.set(key, revision);
      });
      await Promise.all(writes);
      await new Promise((done) => setTimeout(done, 50));
    }
    // All that was written has 60 MB.
    expect(statSync(join(directory, 'data.mdb')).size).toBeLessThan(30e6);
  } finally {
    await backend.close();
  }
});
