import { namespaceRequired } from '../handlers/request/target.js';
import { newBadRequest, newGenericNotFound, newMethodNotAllowed } from '../../apimachinery/meta/errors.js';
import type { StoredApi } from '../../registry/generic/store/api-registry.js';
import type { ServedVersion } from '../../registry/rest/served.js';
import { namesNamespaces, type RequestInfo } from '../../request/request-info.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import { getOwn } from '../../util/get-own.js';
import type { HttpRequest } from '../http.js';
import { builtinCodec } from '../handlers/codec/builtin.js';
import { createSubresourceHandler } from '../handlers/create-subresource.js';
import { checkPatchRoute, checkRoute } from '../negotiation/media.js';
import { warnOfDeprecation } from './deprecation.js';
import { type RoutedRequest, requestScope, type RequestScope } from '../handlers/scope.js';
import { ALL_NAMESPACES_VERBS, isMisplaced, SUBRESOURCE_VERBS, VERBS } from './verbs.js';

/** Routes requests for built-in types as kube-apiserver's API installer does: a request without a route is rejected before it reaches a handler. */
export function routeBuiltin(api: StoredApi, exchanged: RoutedRequest): MaybePromise<void> {
  const { served } = api;
  const { context, request } = exchanged;
  const { info } = context;
  checkPath(served, info, request);
  // No route accepts HEAD.
  if (request.method === 'HEAD') {
    const { subresource } = info;
    const known = subresource === '' || served.discovery.some((entry) => entry.name.endsWith(`/${subresource}`));
    throw known ? newMethodNotAllowed() : newGenericNotFound();
  }
  if (info.subresource === '') return object(requestScope(api, served, builtinCodec, exchanged));
  const created = getOwn(served.createOnlySubresources, info.subresource);
  if (created !== undefined) {
    if (info.verb !== 'create') throw newMethodNotAllowed();
    const scope = requestScope(
      api,
      { strategy: served.strategy, fieldManager: created.fieldManager },
      builtinCodec,
      exchanged,
    );
    context.handled = true;
    checkAccept(scope);
    return createSubresourceHandler(scope, created);
  }
  const part = getOwn(served.subresources, info.subresource);
  if (part === undefined) throw newGenericNotFound();
  return subresource(requestScope(api, part, builtinCodec, exchanged));
}

function object(scope: RequestScope): MaybePromise<void> {
  const { served, context } = scope;
  const { verb, name } = context.info;
  // Updates, patches and deletes require a name; a create must not have one.
  const misplaced = (isChangeOfOne(verb) && name === '') || (verb === 'create' && name !== '');
  const handler = VERBS.get(verb);
  if (handler === undefined || misplaced || !served.verbs.includes(verb === 'watchlist' ? 'watch' : verb))
    throw newMethodNotAllowed();
  context.handled = true;
  checkMediaTypes(scope);
  warnOfDeprecation(served, context, scope.environment);
  return handler(scope);
}

function subresource(scope: RequestScope): MaybePromise<void> {
  const { served, context } = scope;
  const { verb } = context.info;
  const entry = served.discovery.find(({ name }) => name === `${served.groupResource.resource}/${scope.subresource}`);
  const handler = SUBRESOURCE_VERBS.get(verb);
  if (handler === undefined || entry?.verbs.includes(verb) === false) throw newMethodNotAllowed();
  context.handled = true;
  checkMediaTypes(scope);
  return handler(scope);
}

/** Checks the media types, as routes do before anything else. */
function checkMediaTypes(scope: RequestScope): void {
  const { served, request, context } = scope;
  if (context.info.verb === 'patch') checkPatchRoute(request.headers['content-type'], served.patchTypes);
  checkAccept(scope);
}

function checkAccept({ request, context, environment }: RequestScope): void {
  const { verb } = context.info;
  const route = verb === 'list' || verb === 'watch' || verb === 'watchlist' ? 'list' : 'object';
  checkRoute(request.headers.accept, route, environment.features.enabled('CBORServingAndStorage'));
}

const EMPTY_NAMESPACE = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/(?:watch\/)?namespaces\/\/(?!\/*$)/;
const WATCH_PATH = /^\/+(?:api\/v1|apis\/[^/]+\/[^/]+)\/watch\//;

/** Rejects a path without a route. */
function checkPath(served: ServedVersion, info: RequestInfo, request: HttpRequest): void {
  const { namespaced } = served.type;
  if (info.parts.length > 3 || info.verb === 'proxy') throw newGenericNotFound();
  // The deprecated paths of watches only accept GET.
  if (request.method !== 'GET' && WATCH_PATH.test(info.path) && (namespaced || info.namespace === ''))
    throw newMethodNotAllowed();
  const isEmptyNamespace = EMPTY_NAMESPACE.test(info.path);
  if (isEmptyNamespace) {
    checkEmptyNamespace(served, info, request);
    // Options and bodies are checked before the namespace.
    const isOfOne = info.name !== '' || !isWrite(info.verb);
    if (isCreateInCollection(info) || (isChange(info.verb) && isOfOne)) return;
  }
  if (!isMisplaced(served.type, info)) return;
  // Paths across all namespaces only support lists.
  const listable = namespaced && info.name === '' && info.subresource === '';
  throw listable ? newMethodNotAllowed() : newGenericNotFound();
}

/** Checks a path with an empty namespace. The router treats it like any other name; handlers of single objects require one. */
function checkEmptyNamespace(served: ServedVersion, info: RequestInfo, request: HttpRequest): void {
  const { resource } = served.groupResource;
  const { namespaced } = served.type;
  if (!namespaced && (!namesNamespaces(info) || info.subresource === '')) throw newGenericNotFound();
  if (info.subresource !== '') {
    const known = served.discovery.find(({ name }) => name === `${resource}/${info.subresource}`);
    if (known === undefined) throw newGenericNotFound();
    // A read without a name has the verb list.
    const asked = info.verb === 'list' ? 'get' : info.verb;
    if (request.method === 'HEAD' || !known.verbs.includes(asked)) throw newMethodNotAllowed();
    if (!namespaced) throw newBadRequest('name must be provided');
  } else if (info.verb === '' || request.method === 'HEAD' || (info.name !== '' && info.verb === 'create')) {
    throw newMethodNotAllowed();
  }
  const listed = ALL_NAMESPACES_VERBS.has(info.verb) || info.verb === 'watchlist';
  if (!isChange(info.verb) && !listed && !isCreateInCollection(info)) throw namespaceRequired();
}

const isWrite = (verb: string): boolean => verb === 'update' || verb === 'patch';
const isChange = (verb: string): boolean => isChangeOfOne(verb) || verb === 'deletecollection';
const isChangeOfOne = (verb: string): boolean => isWrite(verb) || verb === 'delete';
const isCreateInCollection = ({ verb, name }: RequestInfo): boolean => verb === 'create' && name === '';
