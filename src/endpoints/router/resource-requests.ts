import { newGenericNotFound, newPathsNotInstalled } from '../../apimachinery/meta/errors.js';
import { interpretStorageError } from '../../registry/generic/interpret-error.js';
import { storeUnder } from '../../registry/generic/store/store-under.js';
import type { ApiRegistry, StoredApi } from '../../registry/generic/store/api-registry.js';
import type { RequestContext } from '../../request/context.js';
import { rescue } from '../../util/maybe-promise.js';
import type { Handler, HttpResponse } from '../http.js';
import { respondNotFoundText } from '../handlers/respond.js';
import { undecodableError } from '../handlers/undecodable.js';
import { routeBuiltin } from './builtin.js';
import { createOnlyHandler } from './create-only.js';
import { routeCustomResource } from './custom-resources.js';
import type { HandlerEnvironment } from './scope.js';

/** The handler of all resource requests: finds the type and hands the request to the router of its kind. */
export function resourceHandler(registry: ApiRegistry, environment: HandlerEnvironment): Handler {
  return (context, request, response) => {
    const { info } = context;
    // The parser of paths is more generous than the routers.
    if (info.path.startsWith('//') || (info.apiPrefix === 'apis' && info.apiGroup === '')) {
      respondNotFoundText(response);
      return;
    }
    const api = registry.lookup(info.apiGroup, info.apiVersion, info.resource);
    if (api === undefined) {
      unknown(registry, context, response);
      return;
    }
    context.served = true;
    const exchanged = { environment, context, request, response };
    if (api.kind === 'virtual') return createOnlyHandler(api, exchanged);
    const route = api.served.type.custom ? routeCustomResource : routeBuiltin;
    const installed = timedApi(api, context);
    return rescue(
      () => route(installed, exchanged),
      (error) => {
        throw explained(error, api, environment, context);
      },
    );
  };
}

/** The same, with the request's stopwatch on its store. Plain gets, which memory answers, go without: that they wait shows in their handler. */
function timedApi(api: StoredApi, { stopwatch, span, audit, info }: RequestContext): StoredApi {
  if (stopwatch === undefined || (info.verb === 'get' && audit === undefined && span === undefined)) return api;
  const { kind, served, store, terminating } = api;
  return { kind, served, store: storeUnder(store, stopwatch), terminating };
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

/** Paths of built-in group versions are known to the router, which answers with a Status; all others are plain text. */
function unknown(registry: ApiRegistry, context: RequestContext, response: HttpResponse): void {
  const { apiGroup, apiPrefix } = context.info;
  if (!registry.isComplete) throw newPathsNotInstalled();
  if (apiPrefix === 'api' || registry.isBuiltInGroup(apiGroup)) throw newGenericNotFound();
  respondNotFoundText(response);
}
