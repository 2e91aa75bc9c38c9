import { writeSync } from 'node:fs';
import { EmbeddedBackend } from '../../src/storage/embedded/backend.js';
import { put, remove, RESOURCE } from './fixtures.js';

/**
 * A process that writes until it is killed: `crash-writer <directory> <seed>`. For every acknowledged write it prints a line: key,
 * revision, and the value, or `-` for a deletion.
 */
const [directory = '', seed = '1'] = process.argv.slice(2);
const WRITERS = 12;
const KEYS = 6;

async function writer(backend: EmbeddedBackend, number: number): Promise<never> {
  for (let i = 0; ; i++) {
    const key = `w${number}/k${i % KEYS}`;
    const current = await backend.get(RESOURCE, key);
    const expected = current?.revision ?? 0;
    const value = `${seed}-${number}-${i}`;
    const deletes = expected !== 0 && i % 5 === 4;
    const filler = 'x'.repeat((i * 977) % 9000);
    const result = await backend.write(deletes ? remove(key, expected) : put(key, expected, { value, filler }));
    if (result.outcome === 'conflict') throw new Error(`conflict on ${key}`);
    writeSync(1, `${key} ${result.object.revision} ${deletes ? '-' : value}\n`);
  }
}

async function main(): Promise<void> {
  const backend = new EmbeddedBackend({ directory, historyMillis: 300 });
  await backend.open();
  writeSync(1, `open ${backend.revisionNow()} -\n`);
  await Promise.all(Array.from({ length: WRITERS }, (_, number) => writer(backend, number)));
}

main().catch((error: unknown) => {
  writeSync(2, `${String(error)}\n`);
  process.exitCode = 1;
});
