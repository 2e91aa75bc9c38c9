/** AuthenticationConfiguration of apiserver.config.k8s.io. A string that is absent is ''. */
export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtAuthenticatorConfig[];
  /** Undefined: the flag applies. */
  readonly anonymous: AnonymousConfig | undefined;
}

export interface AnonymousConfig {
  readonly enabled: boolean;
  /** The only paths on which anonymous requests are allowed; empty: all paths. */
  readonly conditions: readonly string[];
}

export interface JwtAuthenticatorConfig {
  readonly issuer: IssuerConfig;
  readonly claimValidationRules: readonly ClaimValidationRule[];
  readonly claimMappings: ClaimMappings;
  readonly userValidationRules: readonly UserValidationRule[];
}

export interface IssuerConfig {
  readonly url: string;
  readonly discoveryURL: string;
  /** PEM; '' for the CAs of the host. */
  readonly certificateAuthority: string;
  readonly audiences: readonly string[];
  readonly audienceMatchPolicy: string;
  readonly egressSelectorType: string;
}

export interface ClaimValidationRule {
  readonly claim: string;
  readonly requiredValue: string;
  readonly expression: string;
  readonly message: string;
}

export interface UserValidationRule {
  readonly expression: string;
  readonly message: string;
}

export interface PrefixedMapping {
  readonly claim: string;
  /** Undefined if not set, which differs from ''. */
  readonly prefix: string | undefined;
  readonly expression: string;
}

export interface ClaimMappings {
  readonly username: PrefixedMapping;
  readonly groups: PrefixedMapping;
  readonly uid: { readonly claim: string; readonly expression: string };
  readonly extra: readonly { readonly key: string; readonly valueExpression: string }[];
}

/** The configuration is invalid; the message lists every problem. */
export class AuthenticationConfigError extends Error {
  override readonly name = 'AuthenticationConfigError';
}

/** The algorithms that providers may sign with. */
export const SIGNING_ALGORITHMS = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'];
