import { open, type FileHandle } from 'node:fs/promises';
import { Progress } from '../cli/progress.js';
import type { Options } from '../server/options/options.js';
import { embeddedDirectory, mongodbUri } from '../server/options/storage-options.js';
import { BackupError } from '../storage/backup/format.js';
import type { RestoreTarget } from '../storage/backup/interfaces.js';
import { restoreBackup } from '../storage/backup/restore.js';
import { redact } from '../storage/mongodb/connection/redact.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import type { RestoreFlags } from './flags.js';

const SELECT_MILLIS = 5_000;

/** `annex restore`. Returns a line that says what was restored. */
export async function restore(options: Options, flags: RestoreFlags, clock: Clock): Promise<string> {
  const { input, continueAbove } = flags;
  const file = await openFile(input);
  const progress = new Progress(clock, process.stderr);
  const wanted = new Set(flags.types);
  const wants = (type: string): boolean => wanted.size === 0 || wanted.has(type);
  try {
    const target = await targetOf(options, clock);
    const step = (objects: number, all: number, what: string): void => progress.step(objects, all, what);
    const { header, restored, above } = await restoreBackup(file, { clock, wants, continueAbove, target, step });
    progress.clear();
    return `Restored ${restored} objects of revision ${header.revision} (${header.time}). The store continues above revision ${above}.`;
  } catch (error) {
    if (error instanceof BackupError)
      throw new Error(`${input} cannot be restored: ${error.message}`, { cause: error });
    throw withoutCredentials(options, error);
  } finally {
    progress.clear();
    await file.close();
  }
}

/** The file is read twice. */
async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, 'r');
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error(`${path} is not a file: save the backup to one first, because it is checked before it is restored`);
}

async function targetOf(options: Options, clock: Clock): Promise<(next: number) => RestoreTarget> {
  if (options.storageBackend !== 'mongodb') {
    const { EmbeddedRestore } = await import('../storage/embedded/restore.js');
    return (next) => new EmbeddedRestore(embeddedDirectory(options), next);
  }
  const { MongoRestore } = await import('../storage/mongodb/backup/restore.js');
  const uri = mongodbUri(options, process.env);
  return () => new MongoRestore({ uri, database: options.mongodbDatabase, selectMillis: SELECT_MILLIS }, clock);
}

function withoutCredentials(options: Options, error: unknown): unknown {
  if (options.storageBackend !== 'mongodb') return error;
  return new Error(redact(messageOf(error), mongodbUri(options, process.env)), { cause: error });
}
