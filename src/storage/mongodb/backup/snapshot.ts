import type { ClientSession, Db, MongoClient } from 'mongodb';
import { sleep, type Clock } from '../../../util/clock.js';
import { typeOf, type BackupHeader, type BackupObject } from '../../backup/format.js';
import type { BackupSource } from '../../backup/interfaces.js';
import { StorageError } from '../../errors.js';
import type { StoredObject } from '../../interfaces.js';
import { isLogIdentity } from '../../log-identity.js';
import { recordOf } from '../../record.js';
import { requireFormat } from '../assembly.js';
import type { Database } from '../connection/connection.js';
import { isSnapshotLost } from '../connection/failures.js';
import { LIVING, logPlace, MAIN_LOG, statesOf, type LogPlace, type StateDocument } from '../documents.js';
import { newestRevision } from '../log/read.js';
import { recordedCluster } from '../owner-cluster.js';
import { Merge, type LoggedState } from '../reading/list.js';
import { loggedStates, type LoggedTypes, type SnapshotReads } from './logged-states.js';
import { collectionsOfTypes, overridesOf } from './types.js';

const ATTEMPTS = 8;
const PAUSE_MILLIS = 10;
const BATCH = 1_000;

type State = Pick<StateDocument, '_id' | '_annex'>;

export interface SnapshotOptions {
  readonly store: Database & { readonly client: MongoClient };
  readonly clock: Clock;
  /** Reports whether objects of a type are wanted. */
  wants(type: string): boolean;
}

/** All logs and types in one snapshot of MongoDB. */
interface View {
  readonly session: ClientSession;
  readonly reads: SnapshotReads;
  readonly revisions: ReadonlyMap<string, number>;
  readonly logged: LoggedTypes;
}

/** Opens a snapshot with everything that was acknowledged before. The connection is closed with it, or if that fails. */
export async function openSnapshot(options: SnapshotOptions): Promise<BackupSource> {
  try {
    return await snapshotOf(options);
  } catch (error) {
    await options.store.client.close();
    throw error;
  }
}

async function snapshotOf(options: SnapshotOptions): Promise<BackupSource> {
  const { db } = options.store;
  await requireFormat(db);
  const cluster = await recordedCluster(db);
  const [places, time] = [await placesOf(options.store), new Date(options.clock.now()).toISOString()];
  for (let attempt = 1; ; attempt++) {
    const collections = await collectionsOfTypes(db);
    const view = await openView(options, places);
    try {
      const names = [...new Set([...collections.keys(), ...view.logged.keys()])];
      const wanted = names.filter((name) => !isLogIdentity(name) && options.wants(name)).sort();
      const counts: [string, number][] = [];
      for (const name of wanted) counts.push([name, await countIn(db, name, view)]);
      const types = counts.filter(([, count]) => count > 0).map(([name, count]) => typeOf(name, count));
      const logs = [...view.revisions]
        .filter(([name]) => name !== MAIN_LOG)
        .map(([name, revision]) => ({ name, revision }));
      const revision = view.revisions.get(MAIN_LOG) ?? 0;
      const header = {
        revision,
        types,
        time,
        ...(logs.length > 0 && { logs }),
        ...(cluster !== undefined && { cluster }),
      };
      const ordered = counts.filter(([, count]) => count > 0).map(([name]) => name);
      return new MongoSnapshot(options, places, header, ordered, view);
    } catch (error) {
      await view.session.endSession();
      // A type was moved or removed.
      if (!isSnapshotLost(error) || attempt >= ATTEMPTS) throw error;
      await sleep(options.clock, PAUSE_MILLIS * attempt);
    }
  }
}

async function placesOf(store: Database): Promise<readonly LogPlace[]> {
  const overrides = await overridesOf(store.db);
  return [...new Set([MAIN_LOG, ...overrides.map(({ log }) => log)])].map((name) => logPlace(store, name));
}

/** Opens a session that reads one moment. `revisions`: returns the states at these revisions; absent: at those of the moment. */
async function openView(
  { store: { client }, clock }: SnapshotOptions,
  places: readonly LogPlace[],
  revisions?: ReadonlyMap<string, number>,
): Promise<View> {
  // After an election, a snapshot may be older than what was acknowledged.
  const acknowledged = await Promise.all(places.map((place) => newestRevision(place)));
  for (let attempt = 1; ; attempt++) {
    const session = client.startSession({ snapshot: true });
    const reads: SnapshotReads = { session, readConcern: { level: 'snapshot' } };
    try {
      const logged: LoggedTypes = new Map();
      const found = new Map<string, number>();
      for (const [i, place] of places.entries()) {
        const wanted = revisions?.get(place.name);
        const { newest, revision } = await loggedStates(place, reads, { at: wanted, into: logged });
        if (newest < (acknowledged[i] ?? 0)) throw new StaleError();
        found.set(place.name, revision);
      }
      return { session, reads, revisions: found, logged };
    } catch (error) {
      await session.endSession();
      if (!(isSnapshotLost(error) || error instanceof StaleError) || attempt >= ATTEMPTS) throw error;
      await sleep(clock, PAUSE_MILLIS * attempt);
    }
  }
}

class StaleError extends Error {
  override readonly message = 'MongoDB shows a state from before an election; try again';
}

async function countIn(db: Db, type: string, { logged, reads }: View): Promise<number> {
  const collection = statesOf(db, type);
  const states = logged.get(type);
  let count = await collection.countDocuments(LIVING, reads);
  if (states === undefined) return count;
  const keys = [...states.keys()];
  for (let at = 0; at < keys.length; at += BATCH)
    count -= await collection.countDocuments({ _id: { $in: keys.slice(at, at + BATCH) }, ...LIVING }, reads);
  for (const { object } of states.values()) if (object !== undefined) count++;
  return count;
}

/** MongoDB keeps the past for five minutes, if it is not told otherwise. After that, the log leads back from a newer snapshot. */
class MongoSnapshot implements BackupSource {
  constructor(
    private readonly options: SnapshotOptions,
    private readonly places: readonly LogPlace[],
    readonly header: BackupHeader,
    private readonly types: readonly string[],
    private view: View,
  ) {}

  async *objects(): AsyncGenerator<readonly BackupObject[], void, undefined> {
    for (const type of this.types) {
      let after: string | undefined;
      for (let done = false; !done;) {
        try {
          for await (const batch of this.batches(type, after)) {
            after = batch.at(-1)?.key ?? after;
            yield batch;
          }
          done = true;
        } catch (error) {
          if (!isSnapshotLost(error)) throw error;
          await this.renew();
        }
      }
    }
  }

  async close(): Promise<void> {
    await this.view.session.endSession();
    await this.options.store.client.close();
  }

  /** Yields the objects of a type with keys after one. */
  private async *batches(
    type: string,
    after: string | undefined,
  ): AsyncGenerator<readonly BackupObject[], void, undefined> {
    let batch: BackupObject[] = [];
    const { logged, reads } = this.view;
    const merge = new Merge(from(after, logged.get(type) ?? new Map<string, LoggedState>()), (stored) => {
      batch.push(objectOf(type, stored));
    });
    const filter = { ...(after !== undefined && { _id: { $gt: after } }), ...LIVING };
    const cursor = statesOf(this.options.store.db, type)
      .find(filter, { ...reads, batchSize: BATCH })
      .sort({ _id: 1 })
      .project<State>({ _annex: 1 });
    try {
      while (await cursor.hasNext()) {
        for (const state of cursor.readBufferedDocuments()) merge.take(state);
        yield batch;
        batch = [];
      }
      merge.end();
      yield batch;
    } finally {
      await cursor.close().catch(() => undefined);
    }
  }

  private async renew(): Promise<void> {
    await this.view.session.endSession();
    try {
      this.view = await openView(this.options, this.places, this.view.revisions);
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== 'compacted') throw error;
      throw new StorageError(
        'compacted',
        'the backup took longer than MongoDB and the log keep the past: raise --history-window of the servers for its time, or minSnapshotHistoryWindowInSeconds of MongoDB',
      );
    }
  }
}

function from(after: string | undefined, states: ReadonlyMap<string, LoggedState>): ReadonlyMap<string, LoggedState> {
  if (after === undefined) return states;
  const begin = Buffer.from(after);
  return new Map([...states].filter(([, { id }]) => id.compare(begin) > 0));
}

function objectOf(type: string, stored: StoredObject): BackupObject {
  const { key, revision } = stored;
  if (stored.bytes.length > 0) return { type, key, revision, record: recordOf(stored) };
  throw new StorageError('corrupt', `${type} ${key} is damaged in the store, or of another version: delete it first`);
}
