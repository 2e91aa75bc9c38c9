import { type ApiError, newBadRequest } from '../../../apimachinery/meta/errors.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { AuthorizerAttributes } from '../../../authorization/authorizer/interfaces.js';
import type { RequestScope } from '../../router/scope.js';

export const namespaceRequired = (): ApiError => newBadRequest('Namespace parameter required.');

/** Rejects an empty namespace, which the router of built-in types accepts: the last check of a write before the object is looked up. */
export function requireNamespace({ served, context }: RequestScope): void {
  if (served.type.namespaced && context.info.namespace === '') throw namespaceRequired();
}

/** Checks that the object's name matches the URL's. */
export function checkName(object: KubeObject, name: string): void {
  const given = object.metadata.name ?? '';
  if (given === '') {
    throw newBadRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (given !== name) {
    throw newBadRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
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
