export type AuthorizerType = 'Webhook' | 'Node' | 'RBAC' | 'ABAC' | 'AlwaysAllow' | 'AlwaysDeny';

/** All modes that `--authorization-mode` accepts, sorted. */
export const AUTHORIZER_TYPES: readonly AuthorizerType[] = [
  'ABAC',
  'AlwaysAllow',
  'AlwaysDeny',
  'Node',
  'RBAC',
  'Webhook',
];

/** An AuthorizationConfiguration with defaults applied. Durations are in milliseconds. */
export interface AuthorizationConfiguration {
  readonly authorizers: readonly AuthorizerConfiguration[];
}

export interface AuthorizerConfiguration {
  readonly type: string;
  readonly name: string;
  readonly webhook: WebhookConfiguration | undefined;
}

export interface WebhookConfiguration {
  readonly authorizedTTL: number;
  readonly cacheAuthorizedRequests: boolean;
  readonly unauthorizedTTL: number;
  readonly cacheUnauthorizedRequests: boolean;
  readonly timeout: number;
  readonly subjectAccessReviewVersion: string;
  readonly matchConditionSubjectAccessReviewVersion: string;
  readonly failurePolicy: string;
  readonly connectionInfo: {
    readonly type: string;
    /** Undefined if not set. */
    readonly kubeConfigFile: string | undefined;
  };
  readonly matchConditions: readonly string[];
}

/** An invalid configuration; the message is in kube-apiserver's words. */
export class AuthorizationConfigError extends Error {
  override readonly name = 'AuthorizationConfigError';
}
