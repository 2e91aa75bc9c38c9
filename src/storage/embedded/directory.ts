import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCode, StorageError } from '../errors.js';
import { LOCK_FILE, LOCK_SOCKET } from '../directory-lock.js';
import { damageOfLmdbFile } from '../lmdb-file.js';
import { messageOf } from '../../util/error-message.js';

const FORMAT_FILE = 'FORMAT';
const FORMAT = 'annex embedded store 4\n';
/** Formats whose entries are read as they are: in format 3 none has an author, and there is no history. */
const READABLE = new Set([FORMAT, 'annex embedded store 3\n']);
const CURRENT: ReadonlySet<string> = new Set([FORMAT]);
const DATA_FILE = 'data.mdb';
/** Says that a restore has begun, until the store is complete. */
const RESTORING = 'RESTORING';

/** The name of FORMAT_FILE until the store is complete. */
const UNFINISHED = `${FORMAT_FILE}.new`;
/** The files that may be in a directory whose store was never completed. */
const HARMLESS = new Set([LOCK_FILE, LOCK_SOCKET, UNFINISHED, 'lost+found']);
/** Further files that may be there while the store is being created. */
const UNFINISHED_FILES = new Set([DATA_FILE, 'lock.mdb']);

/**
 * Checks a directory without changing it: throws StorageError 'unusable', with a one-line message, if it holds anything but a store of this
 * format. A directory that does not exist or is empty is fine.
 */
export function checkDirectory(directory: string): void {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw unusable(`cannot read the data directory ${directory}: ${messageOf(error)}`, error);
  }
  if (names.includes(RESTORING)) {
    throw unusable(
      `a restore into ${directory} has begun and is not complete: run annex restore again, which begins anew, or delete the directory to begin with an empty store`,
    );
  }
  if (!names.includes(FORMAT_FILE)) {
    if (names.includes(UNFINISHED) && names.every((name) => HARMLESS.has(name) || UNFINISHED_FILES.has(name))) return;
    const foreign = names.find((name) => !HARMLESS.has(name) && !name.startsWith('.'));
    if (foreign === undefined) return;
    throw unusable(
      `${directory} is not a data directory of Annex (it contains ${JSON.stringify(foreign)}); choose another directory, for example an empty one`,
    );
  }
  const unknown = unknownFormat(directory, READABLE);
  if (unknown !== undefined) throw unusable(unknown);
  const path = join(directory, DATA_FILE);
  if (!names.includes(DATA_FILE)) throw corrupt(path, 'the file is missing');
  const damage = damageOfLmdbFile(path);
  if (damage !== undefined) throw corrupt(path, damage);
}

/** Returns the path of the LMDB file. */
export const dataFile = (directory: string): string => join(directory, DATA_FILE);

/** Reports whether a directory has a complete store. */
export const exists = (directory: string): boolean => existsSync(join(directory, FORMAT_FILE));

/** Marks a directory as one that is being restored into, and removes what an interrupted restore has left in it. Throws if it has a store. */
export function beginRestore(directory: string): void {
  if (!existsSync(join(directory, RESTORING))) {
    checkDirectory(directory);
    if (exists(directory))
      throw unusable(`${directory} has a store: restore into an empty data directory, or move this one away`);
    closeSync(openSync(join(directory, RESTORING), 'w', 0o600));
    sync(directory);
  }
  for (const name of [FORMAT_FILE, UNFINISHED, ...UNFINISHED_FILES]) rmSync(join(directory, name), { force: true });
  sync(directory);
}

/** Called when the store is complete: from here on it can be started. */
export function finishRestore(directory: string): void {
  rmSync(join(directory, RESTORING));
  sync(directory);
}

/** Returns why this version cannot use the store if it has another format. Also for a running server, whose store may have been replaced. */
export function unknownFormat(directory: string, known: ReadonlySet<string> = CURRENT): string | undefined {
  const format = readFileSync(join(directory, FORMAT_FILE), 'utf8');
  if (known.has(format)) return undefined;
  return `the data directory ${directory} has the format ${JSON.stringify(format.trim().slice(0, 60))}, which this version of Annex cannot read (it reads ${JSON.stringify(FORMAT.trim())})`;
}

/** Creates the directory if it does not exist. */
export function prepareDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(`cannot create the data directory ${directory}: ${messageOf(error)}`, error);
  }
}

/** Called before the data file is created: until `finishFormat`, the directory holds nothing that could be lost. */
export function beginFormat(directory: string): void {
  if (hasCurrentFormat(directory)) return;
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

/**
 * Called once there is a data file, before anything is written to it: from here on it must exist and be whole, and servers of earlier
 * formats refuse it.
 */
export function finishFormat(directory: string): void {
  if (hasCurrentFormat(directory)) return;
  sync(join(directory, DATA_FILE));
  renameSync(join(directory, UNFINISHED), join(directory, FORMAT_FILE));
  sync(directory);
}

const hasCurrentFormat = (directory: string): boolean =>
  readdirSync(directory).includes(FORMAT_FILE) && unknownFormat(directory) === undefined;

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
