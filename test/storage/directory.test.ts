import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { lockDirectory } from '../../src/storage/directory-lock.js';
import { compileSources } from './compiled.js';
import { commit, everything, put, RESOURCE } from './fixtures.js';

let root: string;
let directory: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'annex-dir-'));
  directory = join(root, 'store');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function filled(): Promise<void> {
  const backend = new EmbeddedBackend({ directory });
  await backend.open();
  for (let i = 0; i < 100; i++) await commit(backend, put(`a/k${i}`, 0, { filler: 'x'.repeat(5000) }));
  await backend.close();
}

function content(): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory).map((name) => [
      name,
      `${statSync(join(directory, name)).size} ${readFileSync(join(directory, name)).toString('latin1').slice(0, 4096)}`,
    ]),
  );
}

const damages: readonly { name: string; damage: () => void; message: RegExp }[] = [
  {
    name: 'a foreign directory',
    damage: () => {
      mkdirSync(directory);
      writeFileSync(join(directory, 'notes.txt'), 'mine');
    },
    message: /is not a data directory of Annex \(it contains "notes.txt"\)/,
  },
  {
    name: 'another format',
    damage: () => writeFileSync(join(directory, 'FORMAT'), 'annex embedded store 9\n'),
    message: /has the format "annex embedded store 9", which this version of Annex cannot read/,
  },
  {
    name: 'a damaged header',
    damage: () => writeFileSync(join(directory, 'data.mdb'), Buffer.alloc(8192, 7)),
    message: /cannot be used: the header is damaged/,
  },
  {
    name: 'a file cut short',
    damage: () => truncateSync(join(directory, 'data.mdb'), 16384),
    message: /cannot be used: the file is truncated/,
  },
  {
    name: 'a file cut within the headers',
    damage: () => truncateSync(join(directory, 'data.mdb'), 4100),
    message: /cannot be used: the second header is damaged/,
  },
  {
    name: 'a file without content',
    damage: () => {
      truncateSync(join(directory, 'data.mdb'), 0);
    },
    message: /cannot be used: the file is empty; restore it from a backup/,
  },
  {
    name: 'a store whose file is gone',
    damage: () => {
      rmSync(join(directory, 'data.mdb'));
    },
    message: /cannot be used: the file is missing; restore it from a backup/,
  },
];

test.each(damages)('$name is refused in one line and left untouched', async ({ name, damage, message }) => {
  if (name !== 'a foreign directory') await filled();
  damage();
  const before = content();
  const backend = new EmbeddedBackend({ directory });
  const error: unknown = await backend.open().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: 'unusable', message: expect.stringMatching(message) as string });
  expect((error as Error).message).not.toContain('\n');
  expect(content()).toEqual(before);
});

test('an empty directory and a missing one become stores', async () => {
  for (const exists of [false, true]) {
    rmSync(directory, { recursive: true, force: true });
    if (exists) mkdirSync(directory);
    const backend = new EmbeddedBackend({ directory });
    await backend.open();
    await expect(new EmbeddedBackend({ directory }).open()).rejects.toMatchObject({ code: 'unusable' });
    await backend.close();
  }
});

test.each([
  ['before its file', []],
  ['with a file that does not exist yet', ['data.mdb', 'lock.mdb']],
])('completes a store whose creation was interrupted %s', async (_name, files) => {
  mkdirSync(directory);
  for (const file of ['FORMAT.new', ...files]) writeFileSync(join(directory, file), '');
  const backend = new EmbeddedBackend({ directory });
  await backend.open();
  await commit(backend, put('a/k', 0, {}));
  await backend.close();
  expect(readdirSync(directory)).toEqual(expect.arrayContaining(['FORMAT', 'data.mdb']));
  expect(readdirSync(directory)).not.toContain('FORMAT.new');
  await backend.open();
  expect((await backend.list(RESOURCE, everything)).items).toHaveLength(1);
  await backend.close();
});

test('without flock, a socket locks the directory; a stale socket does not', async () => {
  mkdirSync(directory);
  const first = await lockDirectory(directory, '/nonexistent/flock');
  await expect(lockDirectory(directory, '/nonexistent/flock')).rejects.toMatchObject({
    code: 'unusable',
    message: expect.stringContaining('in use') as string,
  });
  first.release();
  const script = `require('net').createServer().listen(${JSON.stringify(join(directory, 'lock.sock'))}, () => process.kill(process.pid, 'SIGKILL'))`;
  expect(() => execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' })).toThrow();
  expect(readdirSync(directory)).toContain('lock.sock');
  const second = await lockDirectory(directory, '/nonexistent/flock');
  second.release();
  expect(readdirSync(directory)).toEqual(['lock']);
});

test('a full disk: writes fail, reads continue, and no acknowledged write is lost', async () => {
  const script = join(
    compileSources('full', ['src/storage', 'src/util', 'src/apimachinery', 'src/scheduling', 'src/go', 'test/storage']),
    'test/storage/full-writer.js',
  );
  const output = execFileSync(
    'bash',
    ['-c', 'ulimit -f 3000; exec "$@"', 'bash', process.execPath, script, directory],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  ).toString();
  const lines = output.trim().split('\n');
  const acknowledged = lines.filter((line) => line.startsWith('a/'));
  expect(new Set(lines.filter((line) => line.startsWith('refused')))).toEqual(new Set(['refused unavailable']));
  expect(acknowledged.length).toBeGreaterThan(100);
  expect(lines.at(-1)).toBe(`listed ${acknowledged.length}`);
  const backend = new EmbeddedBackend({ directory });
  await backend.open();
  const list = await backend.list(RESOURCE, everything);
  expect(list.items.map((item) => `${item.key} ${item.revision}`).sort()).toEqual(acknowledged.sort());
  expect((await commit(backend, put('b/b', 0))).revision).toBe(acknowledged.length + 2);
  await backend.close();
});

test('a store waits for the process that has locked its directory, if it is told to', async () => {
  await filled();
  const lock = await lockDirectory(directory);
  const began: string[] = [];
  const waiting = (millis: number): EmbeddedBackend =>
    new EmbeddedBackend({ directory, lockWait: { millis, began: () => void began.push('began') } });
  await expect(waiting(0).open()).rejects.toThrow('is in use by another process');
  expect(began).toEqual([]);
  const backend = waiting(30_000);
  const opened = backend.open();
  setTimeout(() => lock.release(), 1_200);
  await opened;
  expect(began).toEqual(['began']);
  await backend.close();
});
