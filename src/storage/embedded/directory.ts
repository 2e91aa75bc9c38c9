import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, StorageError } from '../errors.js';
import { LOCK_FILE, LOCK_SOCKET } from '../directory-lock.js';
import { damageOfLmdbFile } from '../lmdb-file.js';
import { messageOf } from '../../util/error-message.js';

const FORMAT_FILE = 'FORMAT';
const FORMAT = 'annex embedded store 3\n';
const DATA_FILE = 'data.mdb';

/** Stands in place of FORMAT_FILE until the store is made. */
const UNFINISHED = `${FORMAT_FILE}.new`;
/** What may stand in a directory whose store was never finished. */
const HARMLESS = new Set([LOCK_FILE, LOCK_SOCKET, UNFINISHED, 'lost+found']);
/** What may stand there too while it is being made. */
const UNFINISHED_FILES = new Set([DATA_FILE, 'lock.mdb']);

/**
 * Looks at a directory without changing anything in it: throws StorageError 'unusable', in one line, where it holds something
 * else than a store of this format. A directory that does not exist, or is empty, is fine.
 */
export function checkDirectory(directory: string): void {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw unusable(`cannot read the data directory ${directory}: ${messageOf(error)}`, error);
  }
  if (!names.includes(FORMAT_FILE)) {
    if (names.includes(UNFINISHED) && names.every((name) => HARMLESS.has(name) || UNFINISHED_FILES.has(name))) return;
    const foreign = names.find((name) => !HARMLESS.has(name) && !name.startsWith('.'));
    if (foreign === undefined) return;
    throw unusable(
      `${directory} is not a data directory of Annex (it holds ${JSON.stringify(foreign)}); choose another or an empty one`,
    );
  }
  const unknown = unknownFormat(directory);
  if (unknown !== undefined) throw unusable(unknown);
  const path = join(directory, DATA_FILE);
  if (!names.includes(DATA_FILE)) throw corrupt(path, 'it is gone');
  const damage = damageOfLmdbFile(path);
  if (damage !== undefined) throw corrupt(path, damage);
}

/** Why this version cannot use the store, where that has another format; for a running server, too, whose store was replaced. */
export function unknownFormat(directory: string): string | undefined {
  const format = readFileSync(join(directory, FORMAT_FILE), 'utf8');
  if (format === FORMAT) return undefined;
  return `the data directory ${directory} has the format ${JSON.stringify(format.trim().slice(0, 60))}, which this version of Annex cannot read (it reads ${JSON.stringify(FORMAT.trim())})`;
}

/** Makes the directory and writes the format record where there is none. */
export function prepareDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(`cannot make the data directory ${directory}: ${messageOf(error)}`, error);
  }
}

/** Before the data file is made: from here on until `finishFormat` the directory holds nothing that could be lost. */
export function beginFormat(directory: string): void {
  if (readdirSync(directory).includes(FORMAT_FILE)) return;
  const path = join(directory, UNFINISHED);
  const file = openSync(path, 'w', 0o600);
  try {
    writeSync(file, FORMAT);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  sync(directory);
}

/** When there is a data file: from here on it has to be there, and whole. */
export function finishFormat(directory: string): void {
  if (readdirSync(directory).includes(FORMAT_FILE)) return;
  sync(join(directory, DATA_FILE));
  renameSync(join(directory, UNFINISHED), join(directory, FORMAT_FILE));
  sync(directory);
}

function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function corrupt(path: string, what: string): StorageError {
  return unusable(`${path} cannot be used: ${what}; restore it from a backup, or choose another data directory`);
}

function unusable(message: string, cause?: unknown): StorageError {
  return new StorageError('unusable', message, { cause });
}
