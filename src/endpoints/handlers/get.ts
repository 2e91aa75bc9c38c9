import { newBadRequest } from '../../apimachinery/meta/errors.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';
import type { Getter } from '../../registry/rest/storage.js';
import { negotiateObject, writeCachedObject } from './respond.js';
import { duringOutage, staleRead, warnIfStale } from './outage.js';
import { Query } from './request/query.js';
import type { KindScope } from './scope.js';

/**
 * GET on an object, or on a subresource that returns the same object. Returns a promise only if there is something to wait for:
 * most gets are served at once.
 */
export function getHandler(scope: KindScope<Getter>): MaybePromise<void> {
  const { context, request, storage } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const { namespace, name } = context.info;
  const asked = requestedResourceVersion(query);
  const allowed = asked === '' ? staleRead(scope) : undefined;
  return then(storage.get(context, namespace, name, asked, allowed), (found) => {
    warnIfStale(scope, allowed);
    return writeCachedObject(scope, sink, duringOutage(scope, found));
  });
}

/** Returns the resource version of a get. Rejects the former parameter `export` if its value parses as true. */
export function requestedResourceVersion(query: Query): string {
  if (query.boolean('export') === true) {
    throw newBadRequest('the export parameter, deprecated since v1.14, is no longer supported');
  }
  return query.string('resourceVersion');
}
