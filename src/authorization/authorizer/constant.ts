import type { AuthorizationResult, Authorizer, RuleResolver, RulesResult } from './interfaces.js';
import { ALLOW } from './results.js';

const DENY: AuthorizationResult = { decision: 'no-opinion', reason: 'Everything is forbidden.' };

const EVERYTHING: RulesResult = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
  error: '',
};
const NOTHING: RulesResult = { resourceRules: [], nonResourceRules: [], incomplete: false, error: '' };

/** The mode AlwaysAllow. */
export const alwaysAllow: Authorizer & RuleResolver = { authorize: () => ALLOW, rulesFor: () => EVERYTHING };

/** The mode AlwaysDeny. It returns no opinion, so a later mode may still allow, and gives the reason if none does. */
export const alwaysDeny: Authorizer & RuleResolver = { authorize: () => DENY, rulesFor: () => NOTHING };
