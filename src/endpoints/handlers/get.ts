import { newBadRequest } from '../../apimachinery/meta/errors.js';
import { parseListResourceVersion, parseResourceVersion } from '../../registry/generic/resource-version.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import { timed } from '../../util/metrics/stopwatch.js';
import type { StoredType } from '../../registry/generic/store/resource-store.js';
import type { ReadAt } from '../../storage/cacher/interfaces.js';
import { negotiateObject, writeCachedObject } from './respond.js';
import { readWhileAway, warnIfStale } from './outage.js';
import { Query } from './request/query.js';
import type { RequestScope } from '../router/scope.js';

/**
 * GET on an object, or on a subresource that returns the same object. Returns a promise only if there is something to wait for:
 * most gets are served at once.
 */
export function getHandler(scope: RequestScope): MaybePromise<void> {
  const { context, request, store, served } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const { namespace, name } = context.info;
  const asked = requestedResourceVersion(query);
  const key = store.key(namespace, name);
  const at = readWhileAway(scope, readAt(asked, served.type));
  const object = store.getNow(key, at);
  if (object !== undefined) return writeCachedObject(scope, sink, object);
  return timed(context.stopwatch, 'etcd', () => store.get(key, name, at, asked)).then((found) => {
    if (at.mode === 'most-recent') warnIfStale(scope, at.whileAway);
    return writeCachedObject(scope, sink, found);
  });
}

/** Returns the resource version of a get. Rejects the former parameter `export` if its value parses as true. */
export function requestedResourceVersion(query: Query): string {
  if (query.boolean('export') === true) {
    throw newBadRequest('the export parameter, deprecated since v1.14, is no longer supported');
  }
  return query.string('resourceVersion');
}

/** Returns the state that a get must read (spec: List and get semantics). */
export function readAt(resourceVersion: string, { uncached = false }: StoredType): ReadAt {
  if (resourceVersion === '') return { mode: 'most-recent' };
  // Without a watch cache, a get rejects invalid versions as a list does.
  const revision = uncached ? parseListResourceVersion(resourceVersion) : parseResourceVersion(resourceVersion);
  return revision === 0 ? { mode: 'any' } : { mode: 'not-older-than', revision, atOnce: uncached };
}
