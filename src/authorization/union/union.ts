import { SYSTEM_PRIVILEGED_GROUP, type UserInfo } from '../../authentication/user/user.js';
import type {
  AuthorizationResult,
  Authorizer,
  AuthorizerAttributes,
  NonResourceRule,
  ResourceRule,
  RuleResolver,
  RulesResult,
} from '../authorizer/interfaces.js';
import { aggregateTexts, NO_OPINION, result, ALLOW } from '../authorizer/results.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** Calls the authorizers in order; the first that allows or denies decides. Stays synchronous as long as they do. */
export class UnionAuthorizer implements Authorizer {
  constructor(private readonly authorizers: readonly Authorizer[]) {}

  authorize(attributes: AuthorizerAttributes, signal: AbortSignal): MaybePromise<AuthorizationResult> {
    return this.from(0, [], attributes, signal);
  }

  private from(
    start: number,
    seen: readonly AuthorizationResult[],
    attributes: AuthorizerAttributes,
    signal: AbortSignal,
  ): MaybePromise<AuthorizationResult> {
    let results = seen;
    for (let index = start; index < this.authorizers.length; index++) {
      const answer = this.authorizers[index]?.authorize(attributes, signal) ?? NO_OPINION;
      if (answer instanceof Promise) {
        return answer.then((settled) => {
          if (settled.decision !== 'no-opinion') return settled;
          return this.from(index + 1, [...results, settled], attributes, signal);
        });
      }
      if (answer.decision !== 'no-opinion') return answer;
      if (answer.reason !== '' || answer.error !== undefined) results = [...results, answer];
    }
    return join(results);
  }
}

function join(results: readonly AuthorizationResult[]): AuthorizationResult {
  if (results.length === 0) return NO_OPINION;
  const reasons = results.map(({ reason }) => reason).filter((reason) => reason !== '');
  const errors = results.flatMap(({ error }) => (error === undefined ? [] : [error]));
  return result('no-opinion', reasons.join('\n'), errors.length === 0 ? undefined : aggregateTexts(errors));
}

/** Merges the rules of several resolvers; incomplete if any of them is. */
export class UnionRuleResolver implements RuleResolver {
  constructor(private readonly resolvers: readonly RuleResolver[]) {}

  rulesFor(user: UserInfo, namespace: string): RulesResult {
    const resourceRules: ResourceRule[] = [];
    const nonResourceRules: NonResourceRule[] = [];
    const errors: string[] = [];
    let incomplete = false;
    for (const resolver of this.resolvers) {
      const rules = resolver.rulesFor(user, namespace);
      resourceRules.push(...rules.resourceRules);
      nonResourceRules.push(...rules.nonResourceRules);
      incomplete ||= rules.incomplete;
      if (rules.error !== '') errors.push(rules.error);
    }
    return { resourceRules, nonResourceRules, incomplete, error: aggregateTexts(errors) };
  }
}

/** Allows every request of the members of system:masters, and has no opinion on other users. */
export const privilegedGroupAuthorizer = {
  authorize: ({ user }: AuthorizerAttributes): AuthorizationResult =>
    user.groups.includes(SYSTEM_PRIVILEGED_GROUP) ? ALLOW : NO_OPINION,
} satisfies Authorizer;
