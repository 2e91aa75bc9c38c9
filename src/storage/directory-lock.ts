import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { errorCode, StorageError } from './errors.js';
import { messageOf } from '../util/error-message.js';

/** Holds a directory for this process until it is released or the process ends, however it ends. */
export interface DirectoryLock {
  release(): void;
}

export const LOCK_FILE = 'lock';
export const LOCK_SOCKET = 'lock.sock';

/**
 * Takes the directory, or throws StorageError 'unusable' where another process has it.
 *
 * The lock is flock(2) on an open file, which the kernel gives back whatever happens to the process. Node has no call for
 * it, but such a lock belongs to the open file and not to the process that asked: flock(1) takes it on a descriptor that
 * it inherits, and this process keeps it. Where there is no flock(1), a listening socket in the directory serves.
 */
export async function lockDirectory(directory: string, flock = 'flock'): Promise<DirectoryLock> {
  const file = openSync(join(directory, LOCK_FILE), 'a', 0o600);
  const result = spawnSync(flock, ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', file] });
  if (result.error === undefined && result.status === 0) {
    return {
      release: () => {
        closeSync(file);
      },
    };
  }
  closeSync(file);
  if (result.error === undefined) throw inUse(directory);
  return lockBySocket(directory);
}

/**
 * The socket is made under a name of its own and then linked to the lock's name, which fails where that exists. A name that
 * nobody listens on belongs to a dead process and is moved away; should that have hit a living one, it is put back.
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
    // Another process was quicker; the next attempt sees what it did.
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
    server.listen(path, () => {
      resolve(server);
    });
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

function inUse(directory: string): StorageError {
  return new StorageError(
    'unusable',
    `the data directory ${directory} is in use by another process; stop it, or choose another directory`,
  );
}
