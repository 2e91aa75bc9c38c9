import { type ApiError, newBadRequest } from '../../../apimachinery/meta/errors.js';
import type { AuthorizerAttributes } from '../../../authorization/authorizer/interfaces.js';
import type { RequestScope } from '../scope.js';

export const namespaceRequired = (): ApiError => newBadRequest('Namespace parameter required.');

/** Rejects an empty namespace, which the router of built-in types accepts: the last check of a write before the object is looked up. */
export function requireNamespace({ served, context }: RequestScope): void {
  if (served.type.namespaced && context.info.namespace === '') throw namespaceRequired();
}

/** Returns the attributes of a request that also needs the permission for another verb. */
export function authorizerAttributes(
  { context, served, subresource }: RequestScope,
  verb: string,
): AuthorizerAttributes {
  const { namespace, name, path } = context.info;
  return {
    user: context.user,
    verb,
    resourceRequest: true,
    namespace,
    apiGroup: served.gvk.group,
    apiVersion: served.gvk.version,
    resource: served.groupResource.resource,
    subresource,
    name,
    path,
  };
}
