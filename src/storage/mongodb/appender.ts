import type { ClientSession } from 'mongodb';
import type { Revision } from '../interfaces.js';
import { stateCollection, type LogDocument, type LogPlace, type State } from './documents.js';
import { isDuplicateKey, isRefusal, isWriteConflict } from './failures.js';
import { documentAt, insertionOf, run, statementsOf, type Operations } from './statements.js';
import type { WriterSession } from './writer-session.js';

/** What a write does to the current state. */
export interface StateChange {
  readonly resource: string;
  readonly key: string;
  readonly expected: Revision;
  /** The new state; undefined deletes. */
  readonly state: State | undefined;
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
 * - withheld: the commit was not to be asked for any more; nothing was written.
 * - unknown: the answer to the commit was lost.
 */
export type AppendOutcome =
  | { readonly outcome: 'committed' | 'stale' | 'mismatch' | 'withheld' }
  | { readonly outcome: 'busy' | 'refused' | 'unreachable' | 'unknown'; readonly error: unknown };

const TRANSACTION = {
  readConcern: { level: 'local' },
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 10_000 },
  readPreference: 'primary',
} as const;

const WITHHELD: AppendOutcome = { outcome: 'withheld' };

/** Appends entries to the log and brings the current state up to them, both or neither. */
export class Appender {
  constructor(
    private readonly place: LogPlace,
    private readonly session: WriterSession,
  ) {}

  /** `mayCommit` is asked when all but the commit is done: from then on nobody knows what becomes of it until MongoDB tells. */
  async append(append: Append, mayCommit: () => boolean): Promise<AppendOutcome> {
    let session: ClientSession;
    try {
      session = await this.session.current();
      session.startTransaction(TRANSACTION);
    } catch (error) {
      await this.session.abandon();
      return { outcome: 'unreachable', error };
    }
    const failure = (await this.write(append, session)) ?? (mayCommit() ? undefined : WITHHELD);
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
    const { db, collection } = this.place;
    try {
      for (const statement of insertionOf(collection, append.log)) await run(db, statement, session);
    } catch (error) {
      return isDuplicateKey(error) ? { outcome: 'stale' } : failed(error);
    }
    try {
      for (const [resource, changes] of byResource(append.changes)) {
        for (const statement of statementsOf(stateCollection(resource), operationsOf(changes)))
          if ((await run(db, statement, session)) !== statement.documents) return { outcome: 'mismatch' };
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

/** What becomes of one object in a transaction, however often it changes. */
interface Course {
  /** Revision of its state before; 0: there is none. */
  readonly expected: Revision;
  /** The first and the last of the states that it gets. */
  readonly first: StateChange['state'];
  last: StateChange['state'];
}

/**
 * One operation for each object, sorted by kind, of which each takes a command. An object that is made and deleted again
 * takes two, so that it shows if it was there before.
 */
function operationsOf(changes: readonly StateChange[]): Operations {
  const courses = new Map<string, Course>();
  for (const { key, expected, state } of changes) {
    const course = courses.get(key);
    if (course === undefined) courses.set(key, { expected, first: state, last: state });
    else course.last = state;
  }
  const operations: Operations = { inserts: [], replacements: [], deletions: [] };
  for (const [_id, { expected, first, last }] of courses) {
    const document = last ?? (expected === 0 ? first : undefined);
    // Where the object exists already, the insert fails because of its _id.
    if (expected === 0 && document !== undefined) operations.inserts.push({ _id, ...document });
    if (last === undefined) operations.deletions.push({ q: documentAt(_id, expected), limit: 1 });
    else if (expected !== 0) operations.replacements.push({ q: documentAt(_id, expected), u: last });
  }
  return operations;
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
