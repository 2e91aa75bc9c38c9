import { newGenericNotFound, newMethodNotAllowed } from '../../apimachinery/meta/errors.js';
import type { ComputedApi } from '../../registry/generic/computed.js';
import type { RequestInfo } from '../../request/request-info.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import { builtinCodec } from '../handlers/codec/builtin.js';
import { customResourceCodec } from '../handlers/codec/custom-resource.js';
import { createUnstored } from '../handlers/create-unstored.js';
import { getHandler } from '../handlers/get.js';
import { listHandler } from '../handlers/list.js';
import { watchHandler } from '../handlers/watch.js';
import { checkRoute } from '../negotiation/media.js';
import type { RoutedRequest } from '../handlers/scope.js';

/** Routes requests for computed kinds, which have the verbs that their storage has. */
export function routeComputed(api: ComputedApi, exchanged: RoutedRequest): MaybePromise<void> {
  const { served, storage } = api;
  const { environment, context, request } = exchanged;
  const { verb } = context.info;
  context.handled = true;
  if (!hasRoute(api, context.info)) throw newGenericNotFound();
  const check = (route: 'object' | 'list'): void =>
    checkRoute(request.headers.accept, route, environment.features.enabled('CBORServingAndStorage'));
  const codec = served.type.custom ? customResourceCodec : builtinCodec;
  const scope = { ...exchanged, served, subresource: '', codec };
  if (verb === 'create' && 'create' in storage) {
    check('object');
    return createUnstored({ ...scope, storage });
  }
  if (verb === 'get' && 'get' in storage && request.method !== 'HEAD') {
    check('object');
    return getHandler({ ...scope, storage });
  }
  if (verb === 'list' && 'list' in storage && request.method !== 'HEAD') {
    check('list');
    return listHandler({ ...scope, storage });
  }
  if ((verb === 'watch' || verb === 'watchlist') && 'watch' in storage) {
    check('list');
    return watchHandler({ ...scope, storage });
  }
  throw newMethodNotAllowed();
}

/** Reports whether the kind has a path: single objects only if they can be read, all namespaces only for lists. */
function hasRoute({ served: { type }, storage }: ComputedApi, { name, namespace, subresource }: RequestInfo): boolean {
  if (subresource !== '' || (name !== '' && !('get' in storage))) return false;
  if (!type.namespaced) return namespace === '';
  return namespace !== '' || (name === '' && 'list' in storage);
}
