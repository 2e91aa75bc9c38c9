import type { AnyBulkWriteOperation, ClientSession, Collection } from 'mongodb';
import type { Revision } from '../interfaces.js';
import { entriesOf, statesOf, type LogDocument, type LogPlace, type StateDocument } from './documents.js';
import { isDuplicateKey, isRefusal, isWriteConflict } from './failures.js';
import type { WriterSession } from './writer-session.js';

/** What a write does to the current state. */
export interface StateChange {
  readonly resource: string;
  readonly key: string;
  readonly expected: Revision;
  /** The new state; undefined deletes. */
  readonly state: Omit<StateDocument, '_id'> | undefined;
}

/** Everything of one transaction. */
export interface Append {
  readonly log: readonly LogDocument[];
  readonly changes: readonly StateChange[];
}

/**
 * How an append ended.
 * - committed: durable on a majority.
 * - stale: another replica's entry has the first revision.
 * - busy: another replica is about to append, or MongoDB asks to try again; nothing was written.
 * - mismatch: an object is not in the state that was expected; nothing was written.
 * - refused: MongoDB will not take it, now or later; nothing was written.
 * - unreachable: MongoDB was lost before the commit was asked for; nothing was written.
 * - unknown: the answer to the commit was lost.
 */
export type AppendOutcome =
  | { readonly outcome: 'committed' | 'stale' | 'mismatch' }
  | { readonly outcome: 'busy' | 'refused' | 'unreachable' | 'unknown'; readonly error: unknown };

const TRANSACTION = {
  readConcern: { level: 'local' },
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 10_000 },
  readPreference: 'primary',
} as const;

/** Appends entries to the log and brings the current state up to them, both or neither. */
export class Appender {
  private readonly log: Collection<LogDocument>;

  constructor(
    private readonly place: LogPlace,
    private readonly session: WriterSession,
  ) {
    this.log = entriesOf(place);
  }

  async append(append: Append): Promise<AppendOutcome> {
    let session: ClientSession;
    try {
      session = await this.session.current();
      session.startTransaction(TRANSACTION);
    } catch (error) {
      await this.session.abandon();
      return { outcome: 'unreachable', error };
    }
    const failure = await this.write(append, session);
    if (failure !== undefined) {
      await this.abort(session, failure);
      return failure;
    }
    try {
      await session.commitTransaction();
      return { outcome: 'committed' };
    } catch (error) {
      await this.session.abandon();
      return { outcome: 'unknown', error };
    }
  }

  /** All statements of the transaction; what went wrong, or undefined. */
  private async write(append: Append, session: ClientSession): Promise<AppendOutcome | undefined> {
    try {
      await this.log.insertMany([...append.log], { session, ordered: true });
    } catch (error) {
      return isDuplicateKey(error) ? { outcome: 'stale' } : failed(error);
    }
    try {
      for (const [resource, changes] of byResource(append.changes)) {
        const states = statesOf(this.place.db, resource);
        const result = await states.bulkWrite(changes.map(operation), { session, ordered: true });
        if (result.matchedCount + result.upsertedCount + result.deletedCount !== changes.length)
          return { outcome: 'mismatch' };
      }
      return undefined;
    } catch (error) {
      return isDuplicateKey(error) ? { outcome: 'mismatch' } : failed(error);
    }
  }

  private async abort(session: ClientSession, { outcome }: AppendOutcome): Promise<void> {
    if (outcome === 'unreachable') {
      await this.session.abandon();
      return;
    }
    try {
      await session.abortTransaction();
    } catch {
      await this.session.abandon();
    }
  }
}

function failed(error: unknown): AppendOutcome {
  if (isWriteConflict(error)) return { outcome: 'busy', error };
  return { outcome: isRefusal(error) ? 'refused' : 'unreachable', error };
}

function operation(change: StateChange): AnyBulkWriteOperation<StateDocument> {
  const { key, expected, state } = change;
  // Revision 0 is never stored: where the object exists, the upsert fails because of its _id.
  const filter = { _id: key, '_annex.revision': expected };
  if (state === undefined) return { deleteOne: { filter } };
  return { replaceOne: { filter, replacement: state, upsert: expected === 0 } };
}

function byResource(changes: readonly StateChange[]): Map<string, StateChange[]> {
  const groups = new Map<string, StateChange[]>();
  for (const change of changes) {
    const group = groups.get(change.resource);
    if (group === undefined) groups.set(change.resource, [change]);
    else group.push(change);
  }
  return groups;
}
