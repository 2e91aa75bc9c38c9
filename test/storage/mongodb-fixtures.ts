import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ColdBackend } from '../../src/storage/mongodb/cold/backend.js';
import { ColdFile } from '../../src/storage/mongodb/cold/file.js';
import { systemClock } from '../../src/util/clock.js';
import { MongoBackend, type MongoOptions } from '../../src/storage/mongodb/backend.js';
import type { StoreFixture } from './fixtures.js';
import { findMongod, ReplicaSet, until, withClient } from './mongod.js';

const found = findMongod();
let shared: Promise<ReplicaSet> | undefined;
let databases = 0;

/** A replica set of one member for all tests of a file. */
export function sharedReplicaSet(): Promise<ReplicaSet> {
  shared ??= ReplicaSet.start(mongodPath());
  return shared;
}

export function mongodPath(): string {
  if ('reason' in found) throw new Error(found.reason);
  return found.path;
}

/** People find what was written as soon as it is projected. */
export const settled = (backend: MongoBackend): Promise<void> =>
  until('all is projected', () => backend.projectionLag()?.objects === 0);

export function newDatabase(): string {
  return `annex-test-${process.pid}-${++databases}`;
}

/** What is to be told is seldom how long a busy machine takes for it. */
export const PATIENT = { selectMillis: 60_000, writeMillis: 200_000 } as const;

/** A fresh database for a backend. */
export async function mongoOptions(): Promise<MongoOptions> {
  const { uri } = await sharedReplicaSet();
  return { uri, database: newDatabase(), forTests: true, ...PATIENT };
}

/** Backends of a file's tests. */
export class OpenBackends {
  readonly open: MongoBackend[] = [];

  readonly opened = async (options: MongoOptions): Promise<MongoBackend> => {
    const backend = new MongoBackend(options);
    await backend.open();
    this.open.push(backend);
    return backend;
  };

  /** For those that give up soon: a busy machine may take longer. */
  readonly openedAtLast = async (options: MongoOptions): Promise<MongoBackend> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.opened(options);
      } catch (error) {
        if (attempt === 100) throw error;
      }
    }
  };

  readonly closeAll = async (): Promise<void> => {
    await Promise.all(this.open.splice(0).map((backend) => backend.close()));
  };
}

/**
 * Why a store cannot be opened. How soon it is told does not matter, but what was wrong last is told only if there was time to find out:
 * it gets more until it tells what is expected.
 */
export async function failureOf(uri: string, expected: RegExp): Promise<string> {
  for (let selectMillis = 500; ; selectMillis *= 4) {
    const backend = new MongoBackend({ uri, database: 'refused', selectMillis });
    const told = await backend.open().then(
      () => 'it opened',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    await backend.close();
    if (expected.test(told) || selectMillis > 30_000) return told;
  }
}

const fixtureOf = (name: string, more: Partial<MongoOptions>, withFile = false): StoreFixture => ({
  name,
  prepare: async () => {
    const fixed = { ...(await mongoOptions()), ...more };
    const directory = mkdtempSync(join(tmpdir(), 'annex-cold-'));
    return {
      backend: (options) => {
        const backend = new MongoBackend({ ...fixed, ...options });
        if (!withFile) return backend;
        const clock = options?.clock ?? systemClock;
        return new ColdBackend(backend, new ColdFile({ directory, clock }), clock);
      },
      dispose: async () => {
        rmSync(directory, { recursive: true });
        await withClient(fixed.uri, (client) => client.db(fixed.database).dropDatabase());
      },
    };
  },
});

/** The store in MongoDB, on the main log and on another one, where there is a mongod; else a skipped test that tells why there is none. */
export function mongodbFixtures(): StoreFixture[] {
  if (!hasMongod()) return [];
  return [fixtureOf('mongodb', {}), fixtureOf('mongodb, on a log of its own', { log: 'heavy' })];
}

/** The store in MongoDB, with a file for what memory has no room for. */
export const mongodbWithFile = fixtureOf('mongodb with a file', {}, true);

/** Whether there is a mongod; where not, a skipped test tells why. To be called once in a test file. */
export function hasMongod(): boolean {
  if ('reason' in found) {
    test.skip(`MongoDB: ${found.reason}`, () => undefined);
    return false;
  }
  afterAll(async () => {
    if (shared !== undefined) await (await shared).dispose();
  });
  return true;
}
