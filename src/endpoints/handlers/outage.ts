import type { ReadAt, WhileAway } from '../../storage/cacher/interfaces.js';
import type { RequestScope } from '../router/scope.js';

/** What reads may show while the store does not answer (docs/design/outage.md). */
export interface OutageReads {
  /** How long the store has not answered, in milliseconds; undefined while it does. */
  readonly age: number | undefined;
  /** Says that the store does not answer, and for how long. */
  readonly reason: string;
  /** True if gets and lists without a resourceVersion show what memory has. */
  readonly staleReads: boolean;
  /** Reports whether the cluster is deleting a namespace, so that no object can be created in it. */
  isTerminating(namespace: string): boolean;
  /** Remembers that memory had no object of a type in a namespace, to check that once the store answers. False if there is no room. */
  shownEmpty(scope: RequestScope): boolean;
}

/** What a read or a deletecollection gets if the store does not answer. Undefined while it does, and for an error. */
export function whileAway(scope: RequestScope, reads: boolean): WhileAway | undefined {
  const { outage } = scope.environment;
  if (outage?.age === undefined) return undefined;
  if (reads && outage.staleReads) return 'newest-known';
  const { namespace } = scope.context.info;
  return namespace !== '' && outage.isTerminating(namespace) && outage.shownEmpty(scope) ? 'if-empty' : undefined;
}

/** Adds `whileAway` to a read that requires the most recent state. */
export function readWhileAway(scope: RequestScope, at: ReadAt): ReadAt {
  if (at.mode !== 'most-recent') return at;
  const { outage } = scope.environment;
  return outage?.age !== undefined && outage.staleReads ? { ...at, whileAway: 'newest-known' } : at;
}

/** Warns the client about a response that may be old. */
export function warnIfStale({ environment: { outage }, context }: RequestScope, allowed: WhileAway | undefined): void {
  if (allowed === 'newest-known' && outage?.age !== undefined)
    context.warn(`${outage.reason}: the response shows the state that was known then`);
}
