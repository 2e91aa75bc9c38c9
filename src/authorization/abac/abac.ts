import type { UserInfo } from '../../authentication/user/user.js';
import type {
  AuthorizationResult,
  Authorizer,
  AuthorizerAttributes,
  NonResourceRule,
  ResourceRule,
  RuleResolver,
  RulesResult,
} from '../authorizer/interfaces.js';
import type { AbacPolicy } from './policy.js';
import { ALLOW } from '../authorizer/results.js';
import { trimRight } from '../../util/text/trim.js';

const NO_MATCH: AuthorizationResult = { decision: 'no-opinion', reason: 'No policy matched.' };
const READ_VERBS: readonly string[] = ['get', 'list', 'watch'];

/** Attribute-based access control: a request is allowed if any policy of the file matches. */
export class AbacAuthorizer implements Authorizer, RuleResolver {
  constructor(private readonly policies: readonly AbacPolicy[]) {}

  authorize(attributes: AuthorizerAttributes): AuthorizationResult {
    for (const policy of this.policies) if (matches(policy, attributes)) return ALLOW;
    return NO_MATCH;
  }

  rulesFor(user: UserInfo, namespace: string): RulesResult {
    const resourceRules: ResourceRule[] = [];
    const nonResourceRules: NonResourceRule[] = [];
    for (const policy of this.policies) {
      const here = policy.namespace === '*' || policy.namespace === namespace;
      if (!here || !subjectMatches(policy, user)) continue;
      const verbs = policy.readonly ? READ_VERBS : ['*'];
      const { apiGroup, resource, nonResourcePath } = policy;
      if (resource !== '')
        resourceRules.push({ verbs, apiGroups: [apiGroup], resources: [resource], resourceNames: [] });
      if (nonResourcePath !== '') nonResourceRules.push({ verbs, nonResourceURLs: [nonResourcePath] });
    }
    return { resourceRules, nonResourceRules, incomplete: false, error: '' };
  }
}

function matches(policy: AbacPolicy, attributes: AuthorizerAttributes): boolean {
  if (policy.readonly && !READ_VERBS.includes(attributes.verb)) return false;
  if (!subjectMatches(policy, attributes.user)) return false;
  if (!attributes.resourceRequest) return pathMatches(policy.nonResourcePath, attributes.path);
  return (
    (policy.namespace === '*' || policy.namespace === attributes.namespace) &&
    (policy.resource === '*' || policy.resource === attributes.resource) &&
    (policy.apiGroup === '*' || policy.apiGroup === attributes.apiGroup)
  );
}

/** If both user and group are set, both must match; a policy with neither matches no user. */
function subjectMatches(policy: AbacPolicy, user: UserInfo): boolean {
  if (policy.user === '' && policy.group === '') return false;
  if (policy.user !== '' && policy.user !== user.name) return false;
  return policy.group === '' || user.groups.includes(policy.group);
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(trimRight(pattern, '*'));
}
