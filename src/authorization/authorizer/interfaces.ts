import type { UserInfo } from '../../authentication/user/user.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

export interface SelectorRequirement {
  readonly key: string;
  /** `In`, `NotIn`, `Exists`, `DoesNotExist`. */
  readonly operator: string;
  readonly values: readonly string[];
}

/** What a request is about to do (spec: Authorization, 2). */
export interface AuthorizerAttributes {
  readonly user: UserInfo;
  /** `get`, `list`, `watch`, `create` … for resources, the lower-case HTTP method otherwise. */
  readonly verb: string;
  readonly resourceRequest: boolean;
  readonly namespace: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly path: string;
  /** Parsed selectors; a selector that could not be parsed is left out and named in the errors. */
  readonly fieldSelector?: readonly SelectorRequirement[];
  readonly labelSelector?: readonly SelectorRequirement[];
}

export type Decision = 'allow' | 'deny' | 'no-opinion';

export interface AuthorizationResult {
  readonly decision: Decision;
  /** For the 403 message and the audit log; may be empty. */
  readonly reason: string;
  /** An error met on the way; it does not itself decide. */
  readonly error?: string;
}

/** `authorize` may answer at once, so that the hot path makes no promise. */
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
  /** Why it is incomplete; may be empty. */
  readonly error: string;
}

/** What a user may do in a namespace, for SelfSubjectRulesReview and `kubectl auth can-i --list`. */
export interface RuleResolver {
  rulesFor(user: UserInfo, namespace: string): RulesResult;
}
