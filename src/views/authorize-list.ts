import type { UserInfo } from '../authentication/user/user.js';
import { forbidden } from '../authorization/authorizer/forbidden.js';
import type { Authorizer, AuthorizerAttributes } from '../authorization/authorizer/interfaces.js';
import type { SourceName } from './sources.js';

/** Throws a 403 unless a user may list a type in a namespace, or in all if it is ''. */
export async function authorizeList(
  authorizer: Authorizer,
  { user, signal }: { readonly user: UserInfo; readonly signal: AbortSignal },
  { group, version, resource }: SourceName,
  namespace: string,
): Promise<void> {
  const attributes: AuthorizerAttributes = {
    user,
    verb: 'list',
    resourceRequest: true,
    namespace,
    apiGroup: group,
    apiVersion: version === '' ? '*' : version,
    resource,
    subresource: '',
    name: '',
    path: '',
  };
  const { decision, reason } = await authorizer.authorize(attributes, signal);
  if (decision !== 'allow') throw forbidden(attributes, reason);
}
