import type { ReadAt, WhileAway } from '../../storage/cacher/interfaces.js';
import type { RequestScope } from '../router/scope.js';

/** What a read or a deletecollection gets if the store does not answer. Undefined while it does, and for an error. */
export function whileAway(scope: RequestScope, reads: boolean): WhileAway | undefined {
  const { outage } = scope.environment;
  if (outage?.age === undefined) return undefined;
  if (reads && outage.staleReads) return 'newest-known';
  const { namespace } = scope.context.info;
  return namespace !== '' && outage.isTerminating(namespace) && outage.shownEmpty(namespace, scope.served.groupResource)
    ? 'if-empty'
    : undefined;
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
