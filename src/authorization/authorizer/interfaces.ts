import type { UserInfo } from '../../authentication/user/user.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

export interface SelectorRequirement {
  readonly key: string;
  /** `In`, `NotIn`, `Exists`, `DoesNotExist`. */
  readonly operator: string;
  readonly values: readonly string[];
}

/** The attributes of a request to authorize (spec: Authorization, 2). */
export interface AuthorizerAttributes {
  readonly user: UserInfo;
  /** `get`, `list`, `watch`, `create` … for resources, otherwise the HTTP method in lower case. */
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly namespace: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
  /** Parsed selectors. A selector that cannot be parsed is absent and listed in the errors. */
  readonly fieldSelector?: readonly SelectorRequirement[];
  readonly labelSelector?: readonly SelectorRequirement[];
}

export type Decision = 'allow' | 'deny' | 'no-opinion';

export interface AuthorizationResult {
  readonly decision: Decision;
  /** The reason for the 403 message and the audit log; may be empty. */
  readonly reason: string;
  /** An error during evaluation; it does not decide by itself. */
  readonly error?: string;
}

/** `authorize` may return synchronously, so that the hot path creates no promise. */
export interface Authorizer {
  authorize(attributes: AuthorizerAttributes, signal: AbortSignal): MaybePromise<AuthorizationResult>;
}

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

export interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface RulesResult {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
  readonly incomplete: boolean;
  /** The reason why the rules are incomplete; may be empty. */
  readonly error: string;
}

/** Lists what a user may do in a namespace, for SelfSubjectRulesReview and `kubectl auth can-i --list`. */
export interface RuleResolver {
  rulesFor(user: UserInfo, namespace: string): RulesResult;
}
