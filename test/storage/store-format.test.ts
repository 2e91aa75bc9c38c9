import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { encodeRecord, INCOMPLETE, UNSEEN_MEMBERS } from '../../src/storage/record.js';
import { FakeClock } from '../fakes/util/clock.js';
import { collect, commit, decode, describeEvent, everything, put, remove, RESOURCE } from './fixtures.js';

const fixture = (format: number): string => join(import.meta.dirname, `../fixtures/store/embedded-${format}`);
const PRESENT = 4;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'annex-format-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function fill(backend: EmbeddedBackend): Promise<void> {
  const flagged = (key: string, flags: number) => {
    const write = put(key, 0, { n: 2n ** 62n, text: 'grüß dich' });
    return { ...write, value: write.value && { ...write.value, flags } };
  };
  await commit(backend, put('a/plain', 0, { n: 1 }));
  await commit(backend, flagged('a/incomplete', INCOMPLETE));
  await commit(backend, flagged('b/unseen', UNSEEN_MEMBERS));
  await commit(backend, put('a/plain', 2, { n: 2 }));
  await commit(backend, put('b/gone', 0));
  await commit(backend, { ...remove('b/gone', 6), author: AUTHOR });
}

const AUTHOR = { user: 'jane', manager: 'kubectl', userAgent: 'kubectl/1', auditID: 'id', impersonator: 'root' };

/** `ANNEX_WRITE_FIXTURE=1` rewrites the fixture, after a format change with a new number. */
if (process.env['ANNEX_WRITE_FIXTURE'] === '1') {
  test('writes the fixture', async () => {
    const backend = new EmbeddedBackend({ directory, clock: new FakeClock(0) });
    await backend.open();
    await fill(backend);
    await backend.compact(7);
    await backend.close();
    mkdirSync(fixture(PRESENT), { recursive: true });
    writeFileSync(join(fixture(PRESENT), 'FORMAT'), readFileSync(join(directory, 'FORMAT')));
    writeFileSync(
      join(fixture(PRESENT), 'data.mdb.gz'),
      gzipSync(readFileSync(join(directory, 'data.mdb')), { level: 9 }),
    );
  });
}

function unpack(format = PRESENT): void {
  writeFileSync(join(directory, 'FORMAT'), readFileSync(join(fixture(format), 'FORMAT')));
  writeFileSync(join(directory, 'data.mdb'), gunzipSync(readFileSync(join(fixture(format), 'data.mdb.gz'))));
}

test.each([3, 4])('a store of format %d reads as written, and accepts writes', async (format) => {
  unpack(format);
  const clock = new FakeClock(0);
  let backend = new EmbeddedBackend({ directory, clock });
  await backend.open();
  const { items } = await backend.list(RESOURCE, everything);
  expect(items.map(({ key, revision, flags }) => [key, revision, flags])).toEqual([
    ['a/incomplete', 3, INCOMPLETE],
    ['a/plain', 5, 0],
    ['b/unseen', 4, UNSEEN_MEMBERS],
  ]);
  expect(decode(items[1])).toMatchObject({ metadata: { resourceVersion: '5', name: 'plain' }, spec: { n: 2 } });
  expect(Buffer.from(items[0]?.bytes ?? []).toString()).toContain('{"n":4611686018427387904,"text":"grüß dich"}');
  if (format === 3)
    expect((await collect(backend, 1, 6)).map(describeEvent)).toEqual([
      '2 ADDED a/plain',
      '3 ADDED a/incomplete',
      '4 ADDED b/unseen',
      '5 MODIFIED a/plain was 2',
      '6 ADDED b/gone',
      '7 DELETED b/gone was 6',
    ]);
  expect((await commit(backend, put('a/plain', 5, { n: 3 }))).revision).toBe(8);
  // The deletion that the store has, in the log or in the history, can be undone.
  const trash = { prefix: '', since: 0, from: '', limit: 10 };
  await backend.compact(8);
  const { entries } = await backend.kept.deleted(RESOURCE, trash);
  expect(entries.map(({ key, revision, author, content }) => [key, revision, author, content.revision])).toEqual([
    ['b/gone', 7, format === 3 ? undefined : AUTHOR, 6],
  ]);
  await backend.close();
  expect(readFileSync(join(directory, 'FORMAT'), 'utf8')).toBe('annex embedded store 4\n');
  backend = new EmbeddedBackend({ directory, clock });
  await backend.open();
  expect((await backend.kept.deleted(RESOURCE, trash)).entries).toEqual(entries);
  await backend.close();
});

test.each(['annex embedded store 2', 'annex embedded store 5', 'something else'])(
  'a store of the format %j is refused in one line and left unchanged',
  async (format) => {
    unpack();
    writeFileSync(join(directory, 'FORMAT'), `${format}\n`);
    const before = readFileSync(join(directory, 'data.mdb'));
    await expect(new EmbeddedBackend({ directory }).open()).rejects.toMatchObject({
      code: 'unusable',
      message: `the data directory ${directory} has the format "${format}", which this version of Annex cannot read (it reads "annex embedded store 4")`,
    });
    expect(readdirSync(directory).sort()).toEqual(['FORMAT', 'data.mdb']);
    expect(readFileSync(join(directory, 'data.mdb')).equals(before)).toBe(true);
  },
);

test('a server stops writing when its store is replaced by one of another format, and reports why', async () => {
  const clock = new FakeClock(0);
  const backend = new EmbeddedBackend({ directory, clock });
  await backend.open();
  await commit(backend, put('a/b', 0));
  expect(backend.health.writing()).toEqual({ ok: true, reason: '' });
  writeFileSync(join(directory, 'FORMAT'), 'annex embedded store 5\n');
  clock.advance(10_000);
  const why = expect.stringContaining('has the format "annex embedded store 5"') as string;
  expect(backend.health.writing()).toEqual({ ok: false, reason: why });
  await expect(backend.write(put('a/c', 0))).rejects.toMatchObject({ code: 'unusable', message: why });
  expect((await backend.get(RESOURCE, 'a/b'))?.revision).toBe(2);
  await backend.close();
});

test('encodes records of the present format', () => {
  const { value } = put('a/b', 0);
  expect(value && [...encodeRecord(value, 2).subarray(0, 3)]).toEqual([1, 0, '{'.charCodeAt(0)]);
});
