import {
  newGenericNotFound,
  newPathsNotInstalled,
  ApiError,
  newInternalError,
  type StatusCause,
} from '../../apimachinery/meta/errors.js';
import { interpretStorageError } from '../../storage/interpret-error.js';
import type { ComputedApi } from '../../registry/generic/computed.js';
import type { ApiRegistry, StoredApi } from '../../registry/generic/store/api-registry.js';
import { refuseAsking } from '../../asking/parameters.js';
import type { RequestContext } from '../../request/context.js';
import { getOwn } from '../../util/get-own.js';
import { rescue } from '../../util/maybe-promise.js';
import type { Handler, HttpResponse } from '../http.js';
import { respondNotFoundText } from '../handlers/respond.js';
import { routeBuiltin } from './builtin.js';
import { routeComputed } from './computed.js';
import { routeCustomResource } from './custom-resources.js';
import type { HandlerEnvironment } from '../handlers/scope.js';
import { formatGroupResource, quote } from '../../apimachinery/meta/meta.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import { StorageError, type Undecodable } from '../../storage/errors.js';

/** The maximum number of objects that one response names. */
const MAX_CAUSES = 100;

/**
 * Returns the error for a request that found objects that cannot be decoded; undefined for any other error. `unsafe`: such
 * objects may be deleted unread, so the error names them.
 */
function undecodableError(error: unknown, store: ResourceStore, verb: string, unsafe: boolean): ApiError | undefined {
  if (!(error instanceof StorageError) || error.code !== 'corrupt') return undefined;
  const objects = error.info.undecodable ?? [];
  const [first] = objects;
  if (!unsafe && first?.isUntransformable === true) {
    const isList = verb === 'list' || verb === 'deletecollection' || verb === 'watch';
    const key = quote(store.displayKey(first.key));
    return newInternalError(isList ? `unable to transform key ${key}: ${first.reason}` : first.reason);
  }
  if (!unsafe || first === undefined) return new ApiError(500, '', error.message);
  switch (verb) {
    case 'list':
    case 'deletecollection':
      return unreadableList(store, objects);
    case 'get':
    case 'delete':
      return newInternalError(storageError(first, store.displayKey(first.key).slice('/registry'.length)));
    default:
      return first.isUntransformable === true
        ? newInternalError(notDecodable(first))
        : new ApiError(500, '', notDecodable(first));
  }
}

function unreadableList(store: ResourceStore, objects: readonly Undecodable[]): ApiError {
  const { groupResource } = store;
  const causes: StatusCause[] = objects.slice(0, MAX_CAUSES).map((object) => {
    const key = store.displayKey(object.key);
    return { reason: 'UnexpectedServerResponse', message: storageError(object, key), field: key };
  });
  if (objects.length > MAX_CAUSES)
    causes.push({ reason: 'FieldValueTooMany', message: 'too many errors, the list is truncated' });
  return new ApiError(
    500,
    'StorageReadError',
    `failed to read one or more ${formatGroupResource(groupResource)} from the storage`,
    {
      name: 'list',
      ...(groupResource.group === '' ? {} : { group: groupResource.group }),
      kind: groupResource.resource,
      causes,
    },
  );
}

const storageError = (object: Undecodable, key: string): string =>
  `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${notDecodable(object)}`;

const notDecodable = ({ revision, reason: why, isUntransformable }: Undecodable): string =>
  isUntransformable === true
    ? `data from the storage is not transformable revision=0: ${why}`
    : `object not decodable revision=${String(revision)}: ${why}`;

/** The verbs that `where`, `orderBy` and `count` select something for. */
const LISTS: ReadonlySet<string> = new Set(['list', 'watch', 'watchlist']);

/** Returns the handler of all resource requests, which looks up the type and passes the request to its router. */
export function resourceHandler(registry: ApiRegistry, environment: HandlerEnvironment): Handler {
  return (context, request, response) => {
    const { info } = context;
    // The path parser accepts more than the routers do.
    if (info.path.startsWith('//') || (info.apiPrefix === 'apis' && info.apiGroup === '')) {
      respondNotFoundText(response);
      return;
    }
    const api = registry.lookup(info.apiGroup, info.apiVersion, info.resource);
    if (api === undefined) {
      unknown(registry, context, response);
      return;
    }
    context.served = isServed(api, info.subresource);
    if (!LISTS.has(info.verb)) refuseAsking(request.url ?? '', info.verb);
    const exchanged = { environment, context, request, response };
    if (api.kind === 'computed') return routeComputed(api, exchanged);
    const route = api.served.type.custom ? routeCustomResource : routeBuiltin;
    return rescue(
      () => route(api, exchanged),
      (error) => {
        throw convertError(error, api, environment, context);
      },
    );
  };
}

/** Reports whether a resource has this subresource. Metrics name no others, or clients could create series at will. */
function isServed(api: StoredApi | ComputedApi, subresource: string): boolean {
  if (subresource === '') return true;
  if (api.kind === 'computed') return false;
  const { served } = api;
  return (
    getOwn(served.subresources, subresource) !== undefined ||
    getOwn(served.createOnlySubresources, subresource) !== undefined ||
    (subresource === 'scale' && served.scale !== undefined)
  );
}

/** Converts errors that can occur in any verb, such as that of an undecodable object. */
function convertError(
  error: unknown,
  { store }: StoredApi,
  { features }: HandlerEnvironment,
  context: RequestContext,
): unknown {
  const unsafe = features.enabled('AllowUnsafeMalformedObjectDeletion');
  return undecodableError(error, store, context.info.verb, unsafe) ?? interpretStorageError(error, 'get');
}

/** Responds to a request for an unknown resource: with a Status in built-in groups, whose paths the router knows, else with plain text. */
function unknown(registry: ApiRegistry, context: RequestContext, response: HttpResponse): void {
  const { apiGroup, apiPrefix } = context.info;
  if (!registry.isComplete) throw newPathsNotInstalled();
  if (apiPrefix === 'api' || registry.isBuiltInGroup(apiGroup)) throw newGenericNotFound();
  respondNotFoundText(response);
}
