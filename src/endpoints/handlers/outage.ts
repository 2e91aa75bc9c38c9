import type { WhileAway } from '../../storage/cacher/interfaces.js';
import type { KindScope } from './scope.js';

type Scope = Pick<KindScope<unknown>, 'environment' | 'context' | 'served'>;

/** What a read or a deletecollection gets if the store does not answer. Undefined while it does, and for an error. */
export function whileAway(scope: Scope, reads: boolean): WhileAway | undefined {
  const { outage } = scope.environment;
  if (outage?.age === undefined) return undefined;
  if (reads && outage.staleReads) return 'newest-known';
  const { namespace } = scope.context.info;
  return namespace !== '' && outage.isTerminating(namespace) && outage.shownEmpty(namespace, scope.served.groupResource)
    ? 'if-empty'
    : undefined;
}

/** What a get of the most recent state gets if the store does not answer. Undefined while it does, and for an error. */
export function staleRead({ environment: { outage } }: Scope): WhileAway | undefined {
  return outage?.age !== undefined && outage.staleReads ? 'newest-known' : undefined;
}

/** Warns the client about a response that may be old. */
export function warnIfStale({ environment: { outage }, context }: Scope, allowed: WhileAway | undefined): void {
  if (allowed === 'newest-known' && outage?.age !== undefined)
    context.warn(`${outage.reason}: the response shows the state that was known then`);
}
