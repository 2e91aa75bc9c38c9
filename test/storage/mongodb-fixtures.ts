import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { coldBackend } from '../../src/storage/mongodb/cold/backend.js';
import { ColdFile } from '../../src/storage/mongodb/cold/file.js';
import { systemClock } from '../../src/util/clock.js';
import { MongoBackend } from '../../src/storage/mongodb/backend.js';
import type { MongoOptions } from '../../src/storage/mongodb/options.js';
import type { StoreFixture } from './fixtures.js';
import type { MongoObserver } from '../../src/storage/mongodb/observer.js';
import { findMongod, ReplicaSet, until, withClient } from './mongod.js';

/** Returns an observer that ignores what it is not given a function for. */
export const observer = (given: Partial<MongoObserver>): MongoObserver => ({
  streamFailed: () => undefined,
  projectionFailed: () => undefined,
  startedOver: () => undefined,
  halted: () => undefined,
  resumed: () => undefined,
  indexFailed: () => undefined,
  ...given,
});

const found = findMongod();
let shared: Promise<ReplicaSet> | undefined;
let databases = 0;

/** Returns a replica set with one member, shared by all tests of a file. */
export function sharedReplicaSet(): Promise<ReplicaSet> {
  shared ??= ReplicaSet.start(mongodPath());
  return shared;
}

export function mongodPath(): string {
  if ('reason' in found) throw new Error(found.reason);
  return found.path;
}

/** Waits until all objects are projected, so that queries find them. */
export const settled = (backend: MongoBackend): Promise<void> =>
  until('all is projected', () => backend.projection.lag()?.objects === 0);

export function newDatabase(): string {
  return `annex-test-${process.pid}-${++databases}`;
}

/** Long timeouts, because most tests do not check how long a busy machine takes. */
export const PATIENT = { selectMillis: 60_000, writeMillis: 200_000 } as const;

/** Returns options for a new database. */
export async function mongoOptions(): Promise<MongoOptions> {
  const { uri } = await sharedReplicaSet();
  return { uri, database: newDatabase(), ...PATIENT };
}

/** The open backends of a test file. */
export class OpenBackends {
  readonly open: MongoBackend[] = [];

  readonly opened = async (options: MongoOptions): Promise<MongoBackend> => {
    const backend = new MongoBackend(options);
    await backend.open();
    this.open.push(backend);
    return backend;
  };

  /** Retries on backends with short timeouts, because a busy machine may take longer. */
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
 * Returns why a store cannot be opened. The driver reports the real reason only if it had time to find it, so the timeout grows until the
 * error is the expected one.
 */
export async function failureOf(uri: string, expected: RegExp): Promise<string> {
  for (let selectMillis = 500; ; selectMillis *= 4) {
    const backend = new MongoBackend({ uri, database: 'refused', selectMillis });
    const reported = await backend.open().then(
      () => 'it opened',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    await backend.close();
    if (expected.test(reported) || selectMillis > 30_000) return reported;
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
        return coldBackend({ backend, file: new ColdFile({ directory, clock }), clock });
      },
      dispose: async () => {
        rmSync(directory, { recursive: true });
        await withClient(fixed.uri, (client) => client.db(fixed.database).dropDatabase());
      },
    };
  },
});

/** Returns fixtures for the store in MongoDB, on the main log and on another one. Without mongod, adds a skipped test with the reason instead. */
export function mongodbFixtures(): StoreFixture[] {
  if (!hasMongod()) return [];
  return [fixtureOf('mongodb', {}), fixtureOf('mongodb, on a log of its own', { log: 'heavy' })];
}

/** The store in MongoDB, with a file for objects that do not fit in memory. */
export const mongodbWithFile = fixtureOf('mongodb with a file', {}, true);

/** Reports whether mongod is available. If not, adds a skipped test with the reason. Call it once per test file. */
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
