import type { AdmissionAttributes, AdmissionChain } from '../../admission/interfaces.js';
import type { ApiError } from '../../apimachinery/meta/errors.js';
import {
  newForbidden,
  newBadRequest,
  newGenericNotFound,
  newMethodNotAllowed,
  newMethodNotSupported,
  newNotFound,
  newPathsNotInstalled,
} from '../../apimachinery/meta/errors.js';
import { interpretStorageError } from '../../registry/generic/interpret-error.js';
import { storeUnder } from '../../registry/generic/store/store-under.js';
import type { ApiRegistry, StoredApi } from '../../registry/generic/store/api-registry.js';
import type { Strategy } from '../../registry/rest/interfaces.js';
import type { ServedVersion } from '../../registry/rest/served.js';
import type { FieldManager } from '../../managedfields/interfaces.js';
import type { RequestContext } from '../../request/context.js';
import type { Handler, HttpRequest, HttpResponse } from '../http.js';
import { checkRoute, negotiatePatch } from '../negotiation/media.js';
import { createHandler } from '../handlers/create.js';
import { createSubresourceHandler } from '../handlers/create-subresource.js';
import { deleteCollectionHandler, deleteHandler } from '../handlers/delete.js';
import { getHandler } from '../handlers/get.js';
import { listHandler } from '../handlers/list.js';
import { undecodableError } from '../handlers/undecodable.js';
import { patchHandler } from '../handlers/patch.js';
import { respondNotFoundText } from '../handlers/respond.js';
import { scaleHandler } from '../handlers/scale.js';
import { warnOfDeprecation } from './deprecation.js';
import type { HandlerEnvironment, RequestScope } from './scope.js';
import { updateHandler } from '../handlers/update.js';
import { virtualHandler } from './virtual.js';
import { own } from '../../util/own.js';

/** Verbs that may go over all namespaces of a namespaced type. */
const ACROSS_NAMESPACES = new Set(['list', 'watch']);

/** The handler of all resource requests: finds the type, then the verb. */
export function resourceHandler(registry: ApiRegistry, environment: HandlerEnvironment): Handler {
  return (context, request, response) => {
    const { info } = context;
    // The parser of paths is more generous than the router.
    if (info.path.startsWith('//') || (info.apiPrefix === 'apis' && info.apiGroup === '')) {
      respondNotFoundText(response);
      return;
    }
    const api = registry.lookup(info.apiGroup, info.apiVersion, info.resource);
    if (api === undefined) {
      unknown(registry, context, response);
      return;
    }
    if (api.kind === 'virtual') {
      context.served = true;
      context.handled = true;
      return virtualHandler(api, environment, context, request, response);
    }
    context.served = true;
    const { type } = api.served;
    if (!type.custom && (info.parts.length > 3 || info.verb === 'proxy')) throw newGenericNotFound();
    // The router of the built-in types knows the old paths of watches with GET alone.
    if (
      !type.custom &&
      request.method !== 'GET' &&
      isWatchPath(info.path) &&
      (type.namespaced || info.namespace === '')
    ) {
      throw methodNotAllowed({ served: api.served, context });
    }
    if (!type.custom && EMPTY_NAMESPACE.test(info.path)) checkEmptyNamespace(api.served, context, request);
    const misplaced = type.namespaced
      ? info.namespace === '' && !ACROSS_NAMESPACES.has(info.verb)
      : info.namespace !== '' && (info.resource !== 'namespaces' || info.namespace !== info.name);
    const checkedLater =
      isCreateInEmptyNamespace(api.served, context) ||
      (!type.custom &&
        EMPTY_NAMESPACE.test(info.path) &&
        isChange(info.verb) &&
        (info.name !== '' || !isWrite(info.verb)));
    if (misplaced && !checkedLater) {
      if (!type.custom) {
        // Built-in paths over all namespaces can be listed, and nothing else.
        const listable = type.namespaced && info.name === '' && info.subresource === '';
        throw listable ? methodNotAllowed({ served: api.served, context }) : newGenericNotFound();
      }
      respondNotFoundText(response);
      return;
    }
    if (type.custom) warnOfDeprecation(api.served, context, environment);
    try {
      const running = serve(api, environment, context, request, response);
      if (!(running instanceof Promise)) return;
      return running.catch((error: unknown) => {
        throw explained(error, api, environment, context);
      });
    } catch (error) {
      throw explained(error, api, environment, context);
    }
  };
}

/** What cannot be decoded, say, comes to light in the middle of any verb. */
function explained(
  error: unknown,
  { store }: StoredApi,
  { features }: HandlerEnvironment,
  context: RequestContext,
): unknown {
  const unsafe = features.enabled('AllowUnsafeMalformedObjectDeletion');
  return undecodableError(error, store, context.info.verb, unsafe) ?? interpretStorageError(error, 'get');
}

const EMPTY_NAMESPACE = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/(?:watch\/)?namespaces\/\/(?!\/*$)/;

/** To the router of the built-in types the empty name is a name like others; handlers of single objects want one. */
function checkEmptyNamespace(served: ServedVersion, context: RequestContext, request: HttpRequest): void {
  const { info } = context;
  const { resource } = served.groupResource;
  if (!served.type.namespaced && (resource !== 'namespaces' || info.subresource === '')) throw newGenericNotFound();
  if (info.subresource !== '') {
    const known = served.discovery.find(({ name }) => name === `${resource}/${info.subresource}`);
    if (known === undefined) throw newGenericNotFound();
    // Without a name, reading is listing.
    const asked = info.verb === 'list' ? 'get' : info.verb;
    if (request.method === 'HEAD' || !known.verbs.includes(asked)) throw methodNotAllowed({ served, context });
    if (!served.type.namespaced) throw newBadRequest('name must be provided');
  } else if (info.verb === '' || request.method === 'HEAD' || (info.name !== '' && info.verb === 'create')) {
    throw methodNotAllowed({ served, context });
  }
  const listed = ACROSS_NAMESPACES.has(info.verb) || info.verb === 'watchlist';
  if (!isChange(info.verb) && !listed && !isCreateInEmptyNamespace(served, context)) {
    throw newBadRequest('Namespace parameter required.');
  }
}

const isWrite = (verb: string): boolean => verb === 'update' || verb === 'patch';

/** Options and bodies are looked at before the namespace. */
const isChange = (verb: string): boolean => verb === 'delete' || verb === 'deletecollection' || isWrite(verb);

/** Is refused when the object is looked at. */
const isCreateInEmptyNamespace = ({ type }: ServedVersion, { info }: RequestContext): boolean =>
  !type.custom && info.verb === 'create' && info.name === '' && EMPTY_NAMESPACE.test(info.path);

const isWatchPath = (path: string): boolean => /^\/+(?:api\/v1|apis\/[^/]+\/[^/]+)\/watch\//.test(path);

/** Paths of built-in group versions are known to the router, which answers with a Status; all others are plain text. */
function unknown(registry: ApiRegistry, context: RequestContext, response: HttpResponse): void {
  const { apiGroup, apiPrefix } = context.info;
  if (!registry.isComplete) throw newPathsNotInstalled();
  if (apiPrefix === 'api' || registry.isBuiltInGroup(apiGroup)) throw newGenericNotFound();
  respondNotFoundText(response);
}

function serve(
  api: StoredApi,
  environment: HandlerEnvironment,
  context: RequestContext,
  request: HttpRequest,
  response: HttpResponse,
): Promise<void> | void {
  const { served, store } = api;
  const { subresource, name } = context.info;
  // The router of the built-in types knows no HEAD.
  if (request.method === 'HEAD' && !served.type.custom) {
    const known = subresource === '' || served.discovery.some((entry) => entry.name.endsWith(`/${subresource}`));
    throw known ? methodNotAllowed({ served, context }) : newGenericNotFound();
  }
  // One literal with all members: V8 gives each object that is spread and added to a hidden class of its own, which makes every later access slow.
  const scope = (strategy: Strategy, fieldManager: FieldManager): RequestScope => ({
    environment: api.terminating ? { ...environment, admission: forbidCreate(environment.admission) } : environment,
    context,
    request,
    response,
    served,
    store: context.audit === undefined ? store : storeUnder(store, context.audit),
    subresource,
    strategy,
    fieldManager,
  });
  if (subresource === '') return verb(scope(served.strategy, served.fieldManager));
  if (subresource === 'scale' && served.scale !== undefined) {
    context.handled = true;
    return scaleHandler(scope(served.strategy, served.scale.fieldManager), served.scale);
  }
  const created = own(served.created, subresource);
  if (created !== undefined) {
    if (context.info.verb !== 'create') throw methodNotAllowed({ served, context });
    context.handled = true;
    return createSubresourceHandler(scope(served.strategy, created.fieldManager), created);
  }
  const sub = own(served.subresources, subresource);
  if (sub === undefined) {
    if (!served.type.custom) throw newGenericNotFound();
    throw newNotFound(served.groupResource, name);
  }
  return subresourceVerb(scope(sub.strategy, sub.fieldManager));
}

/** Admission of a type whose definition is going: nothing new. */
function forbidCreate(chain: AdmissionChain): AdmissionChain {
  const refuse = (attributes: AdmissionAttributes): void => {
    if (attributes.operation !== 'CREATE') return;
    const why = 'create not allowed while custom resource definition is terminating';
    throw newForbidden(attributes.resource, attributes.name, why);
  };
  return {
    mutates: (operation) => operation === 'CREATE' || chain.mutates(operation),
    readsObjects: (operation, resource) => chain.readsObjects(operation, resource),
    admit(attributes) {
      refuse(attributes);
      return chain.admit(attributes);
    },
    validate(attributes) {
      refuse(attributes);
      return chain.validate(attributes);
    },
  };
}

/** Collections are not changed as a whole, and nothing is created below a name. */
function checkTarget(scope: RequestScope): void {
  const { verb: asked, name } = scope.context.info;
  const one = asked === 'update' || asked === 'patch' || asked === 'delete';
  if (scope.served.type.custom) {
    if (!one || name !== '') return;
    // A patch's type is looked at before its name.
    if (asked === 'patch') negotiatePatch(scope.request.headers['content-type'], scope.served.patchTypes, true);
    throw newBadRequest('name must be provided');
  }
  const misplaced = (one && name === '') || (asked === 'create' && name !== '');
  if (misplaced || !scope.served.verbs.includes(asked === 'watchlist' ? 'watch' : asked)) throw methodNotAllowed(scope);
}

/** What the router of the built-in types refuses never comes to the handler that warns. */
function warnOfBuiltin(scope: RequestScope): void {
  const { served, context, request, environment } = scope;
  if (served.type.custom || !served.version.deprecated) return;
  const { verb: asked } = context.info;
  if (asked === 'patch') negotiatePatch(request.headers['content-type'], served.patchTypes, false);
  const route = asked === 'list' || asked === 'watch' || asked === 'watchlist' ? 'list' : 'object';
  checkRoute(request.headers.accept, route, environment.features.enabled('CBORServingAndStorage'));
  warnOfDeprecation(served, context, environment);
}

function verb(scope: RequestScope): Promise<void> | void {
  checkTarget(scope);
  warnOfBuiltin(scope);
  scope.context.handled = true;
  switch (scope.context.info.verb) {
    case 'get':
      return getHandler(scope);
    case 'list':
      return listHandler(scope, false);
    case 'watch':
    case 'watchlist':
      return listHandler(scope, true);
    case 'create':
      return createHandler(scope);
    case 'update':
      return updateHandler(scope);
    case 'patch':
      return patchHandler(scope);
    case 'delete':
      return deleteHandler(scope);
    case 'deletecollection':
      return deleteCollectionHandler(scope);
    default:
      throw methodNotAllowed(scope);
  }
}

/** Subresources that show and write the object itself: status, finalize, approval. */
function subresourceVerb(scope: RequestScope): Promise<void> | void {
  const { served, subresource } = scope;
  const entry = served.discovery.find(({ name }) => name === `${served.groupResource.resource}/${subresource}`);
  if (!served.type.custom && entry?.verbs.includes(scope.context.info.verb) === false) throw methodNotAllowed(scope);
  scope.context.handled = true;
  switch (scope.context.info.verb) {
    case 'get':
      return getHandler(scope);
    case 'update':
      return updateHandler(scope);
    case 'patch':
      return patchHandler(scope);
    default:
      throw methodNotAllowed(scope);
  }
}

/** Built-in paths are refused by the router, custom ones by the handler: each with its own words. */
function methodNotAllowed(scope: Pick<RequestScope, 'served' | 'context'>): ApiError {
  const { served, context } = scope;
  if (served.type.custom) return newMethodNotSupported(served.groupResource, context.info.verb);
  return newMethodNotAllowed();
}
