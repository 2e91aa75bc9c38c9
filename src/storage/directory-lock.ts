import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { errorCode, StorageError } from './errors.js';
import { messageOf } from '../util/error-message.js';
import { type Clock, sleep } from '../util/clock.js';

/** Locks a directory for this process until released, or until the process ends for any reason. */
export interface DirectoryLock {
  release(): void;
}

export const LOCK_FILE = 'lock';
export const LOCK_SOCKET = 'lock.sock';

/**
 * Locks the directory, or throws StorageError 'unusable' if another process holds the lock.
 *
 * The lock is flock(2) on an open file, which the kernel releases whatever happens to the process. Node has no call for flock(2), but such
 * a lock belongs to the open file, not to the process that took it: flock(1) takes it on a descriptor that it inherits, and this process
 * keeps that descriptor open. Without flock(1), a listening socket in the directory is the lock.
 */
export async function lockDirectory(directory: string, flock = 'flock'): Promise<DirectoryLock> {
  const lock = await lockByFileOrSocket(directory, flock);
  writeFileSync(join(directory, LOCK_FILE), processSpace());
  return lock;
}

/**
 * Reports whether the process that holds the lock of a directory runs where this one does, so that process ids mean the same to both. LMDB
 * tells the processes that read a file by their ids.
 */
export const isLockedHere = (directory: string): boolean =>
  readFileSync(join(directory, LOCK_FILE), 'utf8') === processSpace();

/** Identifies the boot of the machine and the namespace of process ids; '' if the system has none. */
function processSpace(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

async function lockByFileOrSocket(directory: string, flock: string): Promise<DirectoryLock> {
  const file = openSync(join(directory, LOCK_FILE), 'a', 0o600);
  const result = spawnSync(flock, ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', file] });
  if (result.error === undefined && result.status === 0) {
    return {
      release: () => closeSync(file),
    };
  }
  closeSync(file);
  if (result.error === undefined) throw inUse(directory);
  return lockBySocket(directory);
}

const RETRY_MILLIS = 500;

/** Like `lockDirectory`, but waits for a process that is about to end. `began` is called if there is something to wait for. */
export async function lockWithin(
  directory: string,
  clock: Clock,
  wait: { readonly millis: number; began(): void },
): Promise<DirectoryLock> {
  const end = clock.monotonic() + wait.millis;
  for (let waiting = false; ; waiting = true) {
    try {
      return await lockDirectory(directory);
    } catch (error) {
      if (!isInUse(error) || clock.monotonic() >= end) throw error;
      if (!waiting) wait.began();
      await sleep(clock, RETRY_MILLIS);
    }
  }
}

const IN_USE = 'is in use by another process';

/** Reports whether a directory could not be locked because another process holds the lock. */
export const isInUse = (error: unknown): boolean => messageOf(error).includes(IN_USE);

/**
 * Creates the socket under a temporary name and links it to the lock's name, which fails if that name exists. A name without a listener
 * belongs to a dead process and is moved aside. If a live process took the name in the meantime, it is put back.
 */
async function lockBySocket(directory: string): Promise<DirectoryLock> {
  const own = join(directory, `.${randomBytes(6).toString('hex')}`);
  const name = join(directory, LOCK_SOCKET);
  rmSync(own, { force: true });
  const server = await listen(own);
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      linkSync(own, name);
      rmSync(own, { force: true });
      return {
        release: () => {
          rmSync(name, { force: true });
          server.close();
        },
      };
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') {
        server.close();
        throw new StorageError('unusable', `cannot lock ${directory}: ${messageOf(error)}`, { cause: error });
      }
    }
    if (await answers(name)) break;
    removeStale(name, `${own}-stale`);
  }
  server.close();
  rmSync(own, { force: true });
  throw inUse(directory);
}

function removeStale(name: string, aside: string): void {
  try {
    const found = statSync(name).ino;
    renameSync(name, aside);
    if (statSync(aside).ino !== found) linkSync(aside, name);
    rmSync(aside, { force: true });
  } catch {
    // Another process was faster; the next attempt sees the result.
  }
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once('error', (error) => {
      reject(
        new StorageError('unusable', `cannot lock the data directory with a socket at ${path}: ${error.message}`, {
          cause: error,
        }),
      );
    });
    server.listen(path, () => resolve(server));
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function inUse(directory: string): StorageError {
  return new StorageError(
    'unusable',
    `the data directory ${directory} ${IN_USE}; stop it, or choose another directory`,
  );
}
