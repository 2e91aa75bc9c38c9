import type { AdmissionAttributes, AdmissionChain } from '../../admission/interfaces.js';
import { newBadRequest, newForbidden, newMethodNotSupported, newNotFound } from '../../apimachinery/meta/errors.js';
import type { StoredApi } from '../../registry/generic/store/api-registry.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import { getOwn } from '../../util/get-own.js';
import { customResourceCodec } from '../handlers/codec/custom-resource.js';
import { respondNotFoundText } from '../handlers/respond.js';
import { scaleHandler } from '../handlers/scale.js';
import { negotiatePatch } from '../negotiation/media.js';
import { warnOfDeprecation } from './deprecation.js';
import { type RoutedRequest, requestScope, type RequestScope } from '../handlers/scope.js';
import { isMisplaced, SUBRESOURCE_VERBS, VERBS, type VerbHandler } from './verbs.js';

/**
 * Routes requests for custom resources, which have no routes of their own: one handler serves every path below their groups, like
 * kube-apiserver's crdHandler.
 */
export function routeCustomResource(api: StoredApi, exchanged: RoutedRequest): MaybePromise<void> {
  const { served } = api;
  const { context, response } = exchanged;
  const { info } = context;
  if (isMisplaced(served.type, info)) {
    respondNotFoundText(response);
    return;
  }
  warnOfDeprecation(served, context, exchanged.environment);
  const environment = api.terminating
    ? { ...exchanged.environment, admission: forbidCreate(exchanged.environment.admission) }
    : exchanged.environment;
  const asked = environment === exchanged.environment ? exchanged : { ...exchanged, environment };
  const { subresource } = info;
  if (subresource === '') {
    const scope = requestScope(api, served, customResourceCodec, asked);
    checkName(scope);
    return run(scope, VERBS);
  }
  if (subresource === 'scale' && served.scale !== undefined && api.scale !== undefined) {
    const { scale, strategy } = served;
    context.handled = true;
    return scaleHandler(
      requestScope(api, { strategy, fieldManager: scale.fieldManager }, customResourceCodec, asked),
      api.scale,
    );
  }
  const part = getOwn(served.subresources, subresource);
  if (part === undefined) throw newNotFound(served.groupResource, info.name);
  return run(requestScope(api, part, customResourceCodec, asked), SUBRESOURCE_VERBS);
}

/** Rejects updates, patches and deletes without a name. */
function checkName({ served, context, request }: RequestScope): void {
  const { verb, name } = context.info;
  if (name !== '' || (verb !== 'update' && verb !== 'patch' && verb !== 'delete')) return;
  // The type of a patch is checked before its name.
  if (verb === 'patch') negotiatePatch(request.headers['content-type'], served.patchTypes);
  throw newBadRequest('name must be provided');
}

function run(scope: RequestScope, handlers: ReadonlyMap<string, VerbHandler>): MaybePromise<void> {
  const { served, context } = scope;
  const { verb } = context.info;
  context.handled = true;
  const handler = handlers.get(verb);
  if (handler === undefined) throw newMethodNotSupported(served.groupResource, verb);
  return handler(scope);
}

/** Wraps the admission of a type whose definition is terminating, to forbid creates. */
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
