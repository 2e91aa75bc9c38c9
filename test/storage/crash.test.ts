import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { compileSources } from './compiled.js';
import { collect, commit, decode, everything, put, RESOURCE } from './fixtures.js';

const ROUNDS = 20;

interface Acknowledged {
  readonly revision: number;
  /** The value, or `-` if the key was deleted. */
  readonly value: string;
}

/** Runs a writer, kills it at a random moment of its work, and returns everything it had acknowledged. */
async function killInMidWork(script: string, directory: string, round: number): Promise<Map<string, Acknowledged>> {
  const child = spawn(process.execPath, [script, directory, String(round)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  let killing: NodeJS.Timeout | undefined;
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    killing ??= setTimeout(() => child.kill('SIGKILL'), Math.random() * 250);
  });
  const signal = await new Promise((resolve) => child.once('close', (_code, by) => resolve(by)));
  expect([signal, errors]).toEqual(['SIGKILL', '']);
  const acknowledged = new Map<string, Acknowledged>();
  for (const line of output.slice(0, output.lastIndexOf('\n') + 1).split('\n')) {
    const [key = '', revision, value = ''] = line.split(' ');
    const known = acknowledged.get(key)?.revision ?? 0;
    if (key !== '' && Number(revision) >= known) acknowledged.set(key, { revision: Number(revision), value });
  }
  return acknowledged;
}

test('a process killed at any moment loses no acknowledged write and leaves no partial one', async () => {
  const script = join(
    compileSources('crash', [
      'src/storage',
      'src/util',
      'src/apimachinery',
      'src/scheduling',
      'src/go',
      'test/storage',
    ]),
    'test/storage/crash-writer.js',
  );
  const directory = await mkdtemp(join(tmpdir(), 'annex-crash-'));
  let last = 0;
  let writes = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const acknowledged = await killInMidWork(script, directory, round);
      const backend = new EmbeddedBackend({ directory });
      await backend.open();
      const current = await backend.currentRevision();
      // Revisions continue from those of the last run and include every acknowledged one.
      expect(acknowledged.get('open')?.revision).toBe(last === 0 ? 1 : last);
      acknowledged.delete('open');
      const list = await backend.list(RESOURCE, everything);
      const found = new Map(list.items.map((item) => [item.key, item]));
      for (const [key, { revision, value }] of acknowledged) {
        writes++;
        expect(revision).toBeLessThanOrEqual(current);
        const item = found.get(key);
        if (item === undefined || item.revision > revision) continue;
        expect([key, item.revision, decode(item)['spec']]).toMatchObject([key, revision, { value }]);
      }
      const events = await collect(backend, backend.compactedRevision(), current - backend.compactedRevision());
      expect(events.map((event) => event.revision)).toEqual(
        Array.from({ length: events.length }, (_, i) => backend.compactedRevision() + 1 + i),
      );
      const gone = new Map<string, number>();
      for (const event of events) if (event.type === 'DELETED') gone.set(event.key, event.revision);
      for (const [key, { revision, value }] of acknowledged) {
        // A missing object was deleted, by this write or by a later one that was in flight.
        if (!found.has(key) && revision > backend.compactedRevision())
          expect(gone.get(key)).toBeGreaterThanOrEqual(revision);
        if (value === '-' && found.has(key)) expect(found.get(key)?.revision).toBeGreaterThan(revision);
      }
      for (const item of list.items)
        expect(decode(item)['metadata']).toMatchObject({ resourceVersion: String(item.revision) });
      last = (await commit(backend, put(`check/r${round}`, 0))).revision;
      expect(last).toBe(current + 1);
      await backend.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  expect(writes).toBeGreaterThan(ROUNDS);
}, 120_000);

test('two processes cannot open one directory, and a killed one releases it', async () => {
  const script = join(
    compileSources('lock', ['src/storage', 'src/util', 'src/apimachinery', 'src/scheduling', 'src/go', 'test/storage']),
    'test/storage/crash-writer.js',
  );
  const directory = await mkdtemp(join(tmpdir(), 'annex-lock-'));
  const child = spawn(process.execPath, [script, directory, '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const second = new EmbeddedBackend({ directory });
    await expect(second.open()).rejects.toMatchObject({
      code: 'unusable',
      message: expect.stringContaining('in use by another process') as string,
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
    await second.open();
    await second.close();
  } finally {
    child.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  }
});
