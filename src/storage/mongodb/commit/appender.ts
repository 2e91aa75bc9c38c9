import type { Revision } from '../../interfaces.js';
import { stateCollection, type LogDocument, type LogPlace, type State } from '../documents.js';
import { isDuplicateKey, isFenced, isRefusal, isWriteConflict } from '../failures.js';
import { documentAt, fenceAt, insertionOf, statementsOf, type Operations, type Statement } from './statements.js';
import type { Transactions } from './transactions.js';
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
  /** The revision of the first entry. */
  readonly first: Revision;
  readonly log: readonly LogDocument[];
  readonly changes: readonly StateChange[];
}

/**
 * How an append ended.
 * - committed: durable on a majority.
 * - stale: another replica's entry has the first revision.
 * - overtaken: the floor of the history has reached the first revision, which somebody may have had.
 * - busy: another replica is about to append, or MongoDB asks to try again; nothing was written.
 * - mismatch: an object is not in the state that was expected; nothing was written.
 * - refused: MongoDB will not take it, now or later; nothing was written.
 * - unreachable: MongoDB was lost before the commit was asked for; nothing was written.
 * - withheld: the commit was not to be asked for any more; nothing was written.
 * - unknown: the answer to the commit was lost.
 */
export type AppendOutcome =
  | { readonly outcome: 'committed' | 'stale' | 'overtaken' | 'mismatch' | 'withheld' }
  | { readonly outcome: 'busy' | 'refused' | 'unreachable' | 'unknown'; readonly error: unknown };

/** The statements of a transaction, in order. */
interface Parts {
  readonly fence: Statement;
  readonly entries: readonly Statement[];
  readonly changes: readonly Statement[];
}

const COMMITTED: AppendOutcome = { outcome: 'committed' };
const WITHHELD: AppendOutcome = { outcome: 'withheld' };
/** After this many appends step by step it is tried again to send one as a whole. */
const MAX_STEPS = 64;

/** Appends entries to the log and brings the current state up to them, both or neither. */
export class Appender {
  /** So many appends are still made step by step, */
  private steps = 0;
  /** and so many the next time that a transaction sent as a whole was given up. */
  private stepsThen = 1;

  constructor(
    private readonly place: LogPlace,
    private readonly session: WriterSession,
  ) {}

  /** `mayCommit` is asked before the commit is asked for: from then on nobody knows what becomes of it until MongoDB tells. */
  async append(append: Append, mayCommit: () => boolean): Promise<AppendOutcome> {
    const entries: Statement[] = [];
    const changes: Statement[] = [];
    try {
      entries.push(...insertionOf(this.place.collection, append.log));
      for (const [resource, some] of byResource(append.changes))
        changes.push(...statementsOf(stateCollection(resource), operationsOf(some)));
    } catch (error) {
      return { outcome: 'refused', error };
    }
    let transactions: Transactions;
    try {
      transactions = await this.session.current();
    } catch (error) {
      this.session.abandon();
      return { outcome: 'unreachable', error };
    }
    const fence = fenceAt(this.place, append.first);
    const whole = await this.asWhole(transactions, fence, [...entries, ...changes], mayCommit);
    return whole ?? this.stepByStep(transactions, { fence, entries, changes }, mayCommit);
  }

  /**
   * All at once, which takes one answer instead of three: where statements can fail only with an error, as the fence does,
   * the commit after one that failed commits nothing. Undefined: it is to be done step by step, which also tells what MongoDB does not like.
   */
  private async asWhole(
    transactions: Transactions,
    fence: Statement,
    statements: readonly Statement[],
    mayCommit: () => boolean,
  ): Promise<AppendOutcome | undefined> {
    if (!transactions.takesWhole || statements.some(({ verb }) => verb !== 'insert')) return undefined;
    if (this.steps > 0) {
      this.steps--;
      return undefined;
    }
    if (!mayCommit()) return WITHHELD;
    const result = await transactions.whole([fence, ...statements]);
    switch (result.outcome) {
      case 'committed':
        this.stepsThen = 1;
        return COMMITTED;
      case 'given-up':
        // Most likely somebody else appends too, and will do so again.
        this.steps = this.stepsThen;
        this.stepsThen = Math.min(2 * this.stepsThen, MAX_STEPS);
        return undefined;
      case 'unknown':
        this.session.abandon();
        return result;
    }
  }

  private async stepByStep(transactions: Transactions, parts: Parts, mayCommit: () => boolean): Promise<AppendOutcome> {
    const failure = (await this.write(transactions, parts)) ?? (mayCommit() ? undefined : WITHHELD);
    if (failure !== undefined) {
      await this.abort(transactions, failure);
      return failure;
    }
    try {
      await transactions.commit();
      return COMMITTED;
    } catch (error) {
      this.session.abandon();
      return { outcome: 'unknown', error };
    }
  }

  /** All but the commit; what went wrong, or undefined. */
  private async write(
    transactions: Transactions,
    { fence, entries, changes }: Parts,
  ): Promise<AppendOutcome | undefined> {
    const statements = [...entries, ...changes];
    try {
      const [passed, ...results] = await transactions.begin([fence, ...statements]);
      if (typeof passed !== 'number') return isFenced(passed) ? { outcome: 'overtaken' } : failed(passed);
      for (const [i, result] of results.entries()) {
        const isEntry = i < entries.length;
        if (typeof result !== 'number')
          return isDuplicateKey(result) ? { outcome: isEntry ? 'stale' : 'mismatch' } : failed(result);
        if (!isEntry && result !== statements[i]?.documents.length) return { outcome: 'mismatch' };
      }
      return undefined;
    } catch (error) {
      return failed(error);
    }
  }

  private async abort(transactions: Transactions, { outcome }: AppendOutcome): Promise<void> {
    if (outcome === 'unreachable') {
      this.session.abandon();
      return;
    }
    try {
      await transactions.abort();
    } catch {
      this.session.abandon();
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
