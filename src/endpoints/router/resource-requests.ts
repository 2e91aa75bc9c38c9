import { newGenericNotFound, newPathsNotInstalled } from '../../apimachinery/meta/errors.js';
import { interpretStorageError } from '../../storage/interpret-error.js';
import type { ComputedApi } from '../../registry/generic/computed.js';
import type { ApiRegistry, StoredApi } from '../../registry/generic/store/api-registry.js';
import { refuseAsking } from '../../asking/parameters.js';
import type { RequestContext } from '../../request/context.js';
import { getOwn } from '../../util/get-own.js';
import { rescue } from '../../util/maybe-promise.js';
import type { Handler, HttpResponse } from '../http.js';
import { respondNotFoundText } from '../handlers/respond.js';
import { undecodableError } from './undecodable.js';
import { routeBuiltin } from './builtin.js';
import { routeComputed } from './computed.js';
import { routeCustomResource } from './custom-resources.js';
import type { HandlerEnvironment } from '../handlers/scope.js';

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
