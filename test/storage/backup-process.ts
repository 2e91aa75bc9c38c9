import { createWriteStream, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { restoreBackup } from '../../src/storage/backup/restore.js';
import { writeBackup } from '../../src/storage/backup/writer.js';
import { EmbeddedRestore } from '../../src/storage/embedded/restore.js';
import { EmbeddedSnapshot } from '../../src/storage/embedded/snapshot.js';
import { MongoRestore } from '../../src/storage/mongodb/backup/restore.js';
import { systemClock } from '../../src/util/clock.js';

/**
 * Backs a directory up, or restores a file, in a process that can be killed: `backup <directory> <file>`, `restore <file> <directory>`,
 * `restore <file> <uri> <database>`; or opens a snapshot and keeps it: `hold <directory>`. Prints a line for each batch of objects.
 */
const [verb = '', from = '', to = '', database = ''] = process.argv.slice(2);
const step = (objects: number): void => void writeSync(1, `${objects}\n`);

async function backup(): Promise<void> {
  const source = await EmbeddedSnapshot.open({ directory: from, clock: systemClock, wants: () => true });
  const file = createWriteStream(to);
  const write = (bytes: Buffer): Promise<void> => new Promise((done) => file.write(bytes, () => done()));
  await writeBackup(source, write, step);
  await source.close();
  await new Promise((done) => file.end(done));
}

async function restore(): Promise<void> {
  const file = await open(from, 'r');
  const connection = { uri: to, database, selectMillis: 60_000 };
  await restoreBackup(file, {
    clock: systemClock,
    wants: () => true,
    continueAbove: 0,
    target: (next) => (database === '' ? new EmbeddedRestore(to, next) : new MongoRestore(connection, systemClock)),
    step: (objects) => step(objects),
  });
}

async function hold(): Promise<void> {
  const source = await EmbeddedSnapshot.open({ directory: from, clock: systemClock, wants: () => true });
  step(source.header.revision);
  await new Promise((done) => setTimeout(done, 1e9));
}

(verb === 'backup' ? backup() : verb === 'hold' ? hold() : restore()).then(
  () => process.exit(0),
  (error: unknown) => {
    writeSync(2, `${String(error)}\n`);
    process.exit(1);
  },
);
