import { type ApiError, newForbidden } from '../../apimachinery/meta/errors.js';
import { quote } from '../../apimachinery/meta/meta.js';
import type { AuthorizerAttributes } from './interfaces.js';

/** Escapes text so that it does not look like HTML. Quotes are kept. */
export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function describe(attributes: AuthorizerAttributes): string {
  const who = `User ${quote(attributes.user.name)} cannot ${attributes.verb}`;
  if (!attributes.resourceRequest) return `${who} path ${quote(attributes.path)}`;
  const resource =
    attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  const what = `${who} resource ${quote(resource)} in API group ${quote(attributes.apiGroup)}`;
  return attributes.namespace === ''
    ? `${what} at the cluster scope`
    : `${what} in the namespace ${quote(attributes.namespace)}`;
}

/** Returns the 403 of kube-apiserver if no authorizer allowed `attributes`. */
export function forbidden(attributes: AuthorizerAttributes, reason: string): ApiError {
  const message = escapeHtml(describe(attributes));
  return newForbidden(
    { group: attributes.apiGroup, resource: attributes.resource },
    attributes.name,
    reason === '' ? message : `${message}: ${reason}`,
  );
}
