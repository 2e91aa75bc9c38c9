/** AuthenticationConfiguration of apiserver.config.k8s.io; an absent text is ''. */
export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtAuthenticatorConfig[];
  /** Undefined: as the flag says. */
  readonly anonymous: AnonymousConfig | undefined;
}

export interface AnonymousConfig {
  readonly enabled: boolean;
  /** Paths on which alone anonymous requests are taken; none: all. */
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
  /** PEM; '' for the host's CAs. */
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
  /** Undefined: not given, which is not the same as ''. */
  readonly prefix: string | undefined;
  readonly expression: string;
}

export interface ClaimMappings {
  readonly username: PrefixedMapping;
  readonly groups: PrefixedMapping;
  readonly uid: { readonly claim: string; readonly expression: string };
  readonly extra: readonly { readonly key: string; readonly valueExpression: string }[];
}

/** What is wrong with a configuration; the text names everything. */
export class AuthenticationConfigError extends Error {
  override readonly name = 'AuthenticationConfigError';
}

/** What providers may sign with. */
export const SIGNING_ALGORITHMS = ['ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'];
