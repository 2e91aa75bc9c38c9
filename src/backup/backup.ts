import { closeSync, createWriteStream, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { dirname, join, resolve } from 'node:path';
import { Progress } from '../cli/progress.js';
import type { Options } from '../server/options/options.js';
import { embeddedDirectory, mongodbUri } from '../server/options/storage-options.js';
import { storageName } from '../storage/backup/format.js';
import type { BackupSource } from '../storage/backup/interfaces.js';
import { writeBackup, type Written } from '../storage/backup/writer.js';
import { redact } from '../storage/mongodb/connection/redact.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import type { BackupFlags } from './flags.js';

const SELECT_MILLIS = 5_000;
const STDOUT = '-';
const NAME = /^annex-\d{8}T\d{6}Z-\d+\.backup$/;

/** `annex backup`. Returns a line that says what was written. */
export async function backup(options: Options, flags: BackupFlags, clock: Clock): Promise<string> {
  const source = await openSource(options, flags, clock);
  const progress = new Progress(clock, process.stderr);
  try {
    const { revision, types } = source.header;
    const missing = flags.types.filter((type) => !types.some((there) => storageName(there) === type));
    if (missing.length > 0) throw new Error(`the store has no objects of ${missing.join(', ')}`);
    const all = types.reduce((sum, { count }) => sum + count, 0);
    const step = (objects: number): void => progress.step(objects, all, 'objects');
    const { path, written } = await writeTo(flags, source, step);
    progress.clear();
    const sizes = `${mebibytes(written.bytes)} in ${mebibytes(written.fileBytes)}`;
    return `Backed up ${written.objects} objects of ${types.length} types at revision ${revision} to ${path}: ${sizes}, SHA-256 ${written.digest}.`;
  } finally {
    progress.clear();
    await source.close();
  }
}

async function openSource(options: Options, { types }: BackupFlags, clock: Clock): Promise<BackupSource> {
  const wanted = new Set(types);
  const wants = (type: string): boolean => wanted.size === 0 || wanted.has(type);
  if (options.storageBackend !== 'mongodb') {
    const { EmbeddedSnapshot } = await import('../storage/embedded/snapshot.js');
    return await EmbeddedSnapshot.open({ directory: embeddedDirectory(options), clock, wants });
  }
  const [{ connect }, { openSnapshot }] = await Promise.all([
    import('../storage/mongodb/connection/connection.js'),
    import('../storage/mongodb/backup/snapshot.js'),
  ]);
  const uri = mongodbUri(options, process.env);
  const store = await connect({ uri, database: options.mongodbDatabase, selectMillis: SELECT_MILLIS });
  try {
    return await openSnapshot({ store, clock, wants });
  } catch (error) {
    throw new Error(redact(messageOf(error), uri), { cause: error });
  }
}

async function writeTo(
  { output, keep }: BackupFlags,
  source: BackupSource,
  step: (objects: number) => void,
): Promise<{ readonly path: string; readonly written: Written }> {
  if (output === STDOUT) {
    const written = await writeBackup(source, (bytes) => writeAll(process.stdout, bytes), step);
    return { path: 'standard output', written };
  }
  const directory = isDirectory(output) ? resolve(output) : undefined;
  const path = directory === undefined ? resolve(output) : join(directory, nameOf(source));
  // Nobody takes it for a backup before it is complete.
  const partial = `${path}.partial`;
  try {
    const written = await writeFile(partial, (write) => writeBackup(source, write, step));
    renameSync(partial, path);
    syncDirectory(dirname(path));
    if (directory !== undefined && keep > 0) removeOlder(directory, keep);
    return { path, written };
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

function nameOf({ header: { time, revision } }: BackupSource): string {
  return `annex-${time.replace(/[-:]|\.\d+/g, '')}-${revision}.backup`;
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

async function writeFile<T>(path: string, work: (write: (bytes: Buffer) => Promise<void>) => Promise<T>): Promise<T> {
  const stream = createWriteStream(path, { mode: 0o600, flush: true });
  await once(stream, 'open');
  const result = await work((bytes) => writeAll(stream, bytes));
  stream.end();
  await once(stream, 'close');
  return result;
}

function writeAll(stream: NodeJS.WritableStream, bytes: Buffer): Promise<void> {
  return new Promise((done, failed) => {
    stream.write(bytes, (error) => {
      if (error) failed(error);
      else done();
    });
  });
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Removes all backups of a directory but the newest ones, by their names, and what interrupted ones have left. */
function removeOlder(directory: string, keep: number): void {
  const names = readdirSync(directory);
  const old = names
    .filter((name) => NAME.test(name))
    .sort()
    .slice(0, -keep);
  const partial = names.filter((name) => NAME.test(name.replace(/\.partial$/, '')) && name.endsWith('.partial'));
  for (const name of [...old, ...partial]) rmSync(join(directory, name), { force: true });
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
