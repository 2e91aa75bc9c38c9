import type { FileHandle } from 'node:fs/promises';
import type { Clock } from '../../util/clock.js';
import type { Revision } from '../interfaces.js';
import { BackupError, storageName } from './format.js';
import type { RestoreTarget } from './interfaces.js';
import { BackupReader, verifyBackup, type Verified } from './reader.js';

/**
 * More revisions than a store makes in a second. The store that the backup is of may have gone on, and its revisions must not get another
 * meaning: the restored one continues above all that it can have reached since.
 */
const MAX_RATE = 10_000;
const MIN_SECONDS = 3_600;

export interface RestoreOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Reports whether objects of a type are wanted. */
  wants(type: string): boolean;
  /** The store continues above this revision; 0: chosen by the age of the backup. */
  readonly continueAbove: Revision;
  /** Returns the store. `next`: above all revisions of the backup. */
  target(next: Revision): RestoreTarget;
  /** Called with the numbers of objects that were checked, or written. */
  step(objects: number, all: number, what: string): void;
}

/** What was restored. */
export interface Restored extends Verified {
  readonly restored: number;
  readonly above: Revision;
}

/** Restores a backup into an empty store. The file is checked as a whole before anything is written, and again while it is. */
export async function restoreBackup(file: FileHandle, options: RestoreOptions): Promise<Restored> {
  const verified = await checkBackup(file, (objects, all) => options.step(objects, all, 'objects checked'));
  const { header, objects: all, newest } = verified;
  const above = aboveOf(verified, options);
  const target = options.target(newest);
  try {
    await target.begin({ ...header, types: header.types.filter((type) => options.wants(storageName(type))) });
    let [read, restored] = [0, 0];
    const reader = new BackupReader(file);
    await reader.header();
    for await (const batch of reader.objects()) {
      const wanted = batch.filter(({ type }) => options.wants(type));
      await target.put(wanted);
      read += batch.length;
      restored += wanted.length;
      options.step(read, all, 'objects written');
    }
    if (reader.digest !== verified.digest) throw new BackupError('it was changed while it was read');
    await target.finish(above);
    return { ...verified, restored, above };
  } finally {
    await target.close();
  }
}

async function checkBackup(file: FileHandle, step: (objects: number, all: number) => void): Promise<Verified> {
  const { types } = await new BackupReader(file).header();
  const all = types.reduce((sum, { count }) => sum + count, 0);
  return verifyBackup(file, (objects) => step(objects, all));
}

function aboveOf({ header, newest }: Verified, { clock, continueAbove }: RestoreOptions): Revision {
  if (continueAbove > 0) return Math.max(continueAbove, newest);
  const seconds = (clock.now() - Date.parse(header.time)) / 1_000;
  return newest + MAX_RATE * Math.ceil(Math.max(MIN_SECONDS, Number.isFinite(seconds) ? seconds : 0));
}
