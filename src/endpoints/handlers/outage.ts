import type { ListResult } from '../../registry/rest/storage.js';
import type { CachedObject, WhileAway } from '../../storage/cacher/interfaces.js';
import { ObjectList } from '../../storage/object-list.js';
import type { KindScope, OutageReads, TellingOfOutage } from './scope.js';

type Scope = Pick<KindScope<unknown>, 'environment' | 'context' | 'served'>;

/** What a read or a deletecollection gets if the store does not answer. Undefined while it does, and for an error. */
export function whileAway(scope: Scope, reads: boolean): WhileAway | undefined {
  const { outage } = scope.environment;
  if (outage?.age === undefined) return undefined;
  if (reads && readsOld(scope, outage)) return 'newest-known';
  const { namespace } = scope.context.info;
  return namespace !== '' && outage.isTerminating(namespace) && outage.shownEmpty(namespace, scope.served.groupResource)
    ? 'if-empty'
    : undefined;
}

/** What a get of the most recent state gets if the store does not answer. Undefined while it does, and for an error. */
export function staleRead(scope: Scope): WhileAway | undefined {
  const { outage } = scope.environment;
  return outage?.age !== undefined && readsOld(scope, outage) ? 'newest-known' : undefined;
}

const readsOld = (scope: Scope, outage: OutageReads): boolean => outage.staleReads || telling(scope) !== undefined;

/** Warns the client about a response that may be old. */
export function warnIfStale({ environment: { outage }, context }: Scope, allowed: WhileAway | undefined): void {
  if (allowed === 'newest-known' && outage?.age !== undefined)
    context.warn(`${outage.reason}: the response shows the state that was known then`);
}

/** Returns an object as it is shown while the store does not answer. */
export const duringOutage = (scope: Scope, object: CachedObject): CachedObject =>
  telling(scope)?.shown(object) ?? object;

/** Returns a list as it is shown while the store does not answer. */
export function listDuringOutage(scope: Scope, result: ListResult): ListResult {
  const tells = telling(scope);
  if (tells === undefined) return result;
  const { list } = result;
  const items = [...list.items()].map((object) => tells.shown(object));
  return { ...result, list: new ObjectList(list.revision, items, list.lastKey, list) };
}

function telling({ environment: { outage }, served }: Scope): TellingOfOutage | undefined {
  const telling = outage?.telling?.();
  const { group, resource } = served.groupResource;
  return telling?.type.group === group && telling.type.resource === resource ? telling : undefined;
}
