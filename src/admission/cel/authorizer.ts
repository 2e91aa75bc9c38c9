import { AuthorizerValue, ResourceCheck, type AuthorizationQuery } from '@annex/cel';
import { parseFieldSelector } from '../../apimachinery/selectors/field-selectors.js';
import { parseLabelSelector } from '../../apimachinery/selectors/label-parser.js';
import { SelectorError } from '../../apimachinery/selectors/labels.js';
import { ALL_SERVICE_ACCOUNTS, SERVICE_ACCOUNT_PREFIX, type UserInfo } from '../../authentication/user/user.js';
import type {
  Authorizer,
  AuthorizerAttributes,
  SelectorRequirement,
} from '../../authorization/authorizer/interfaces.js';
import { fieldRequirements, labelRequirements } from '../../authorization/authorizer/selectors.js';
import type { RequestFacts } from './request.js';
import { then } from '../../util/maybe-promise.js';

/** The values of `authorizer` and `authorizer.requestResource` for one request. They cache decisions. */
export interface AuthorizerValues {
  readonly authorizer: AuthorizerValue;
  readonly requestResource: ResourceCheck;
}

export function authorizerValues(authorizer: Authorizer, request: RequestFacts, signal: AbortSignal): AuthorizerValues {
  const value = new AuthorizerValue((query) => {
    const answer = authorizer.authorize(attributesOf(query, request.user), signal);
    return then(answer, read);
  });
  const { resource, subresource, namespace, name } = request;
  const requestResource = new ResourceCheck(value, {
    group: resource.group,
    resource: resource.resource,
    subresource,
    namespace,
    name,
    fieldSelector: '',
    labelSelector: '',
  });
  return { authorizer: value, requestResource };
}

type Answer = Awaited<ReturnType<Authorizer['authorize']>>;

const read = ({ decision, reason, error }: Answer): { allowed: boolean; reason: string; error?: string } => ({
  allowed: decision === 'allow',
  reason,
  ...(error !== undefined && { error }),
});

function userOf(query: AuthorizationQuery, user: UserInfo): UserInfo {
  const account = query.serviceAccount;
  if (account === undefined) return user;
  return {
    name: `${SERVICE_ACCOUNT_PREFIX}${account.namespace}:${account.name}`,
    uid: '',
    groups: [ALL_SERVICE_ACCOUNTS, `${ALL_SERVICE_ACCOUNTS}:${account.namespace}`],
    extra: {},
  };
}

function attributesOf(query: AuthorizationQuery, requester: UserInfo): AuthorizerAttributes {
  const user = userOf(query, requester);
  const { verb, path = '', resource } = query;
  if (resource === undefined) {
    const none = { namespace: '', apiGroup: '', apiVersion: '', resource: '', subresource: '', name: '' };
    return { user, verb, path, resourceRequest: false, ...none };
  }
  const field = requirements(resource.fieldSelector, (text) =>
    fieldRequirements(parseFieldSelector(text, String).requirements),
  );
  const label = requirements(resource.labelSelector, (text) =>
    labelRequirements(parseLabelSelector(text).requirements),
  );
  return {
    user,
    verb,
    path: '',
    resourceRequest: true,
    namespace: resource.namespace,
    apiGroup: resource.group,
    apiVersion: '*',
    resource: resource.resource,
    subresource: resource.subresource,
    name: resource.name,
    ...(field.length > 0 && { fieldSelector: field }),
    ...(label.length > 0 && { labelSelector: label }),
  };
}

/** Drops a selector that cannot be parsed, which only makes the check broader. */
function requirements(
  text: string,
  parse: (text: string) => readonly SelectorRequirement[],
): readonly SelectorRequirement[] {
  if (text === '') return [];
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof SelectorError) return [];
    throw error;
  }
}
