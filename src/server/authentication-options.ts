import { array, bool, duration, flag, FlagError, list, text } from './flags.js';

const GROUP = 'Authentication flags:';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The issuer of service account tokens, and the audience of the server itself, where no flag says otherwise. */
export const DEFAULT_ISSUER = 'https://kubernetes.default.svc';

/** Flags that say who is believed to be whom, beside those of certificates and proxies. */
export const AUTHENTICATION_FLAGS = {
  apiAudiences: flag(
    GROUP,
    'api-audiences',
    list,
    [],
    'Names of the server: a token for an audience must be for one of these. Without it the service account issuers.',
  ),
  serviceAccountKeyFile: flag(
    GROUP,
    'service-account-key-file',
    array,
    [],
    'PEM file of RSA or ECDSA keys, public or private, that verify service account tokens. May hold several and be given several times. Without it the key that signs and --tls-private-key-file.',
  ),
  serviceAccountSigningKeyFile: flag(
    GROUP,
    'service-account-signing-key-file',
    text,
    '',
    'PEM file of the private key that signs service account tokens. Without it the data directory gets one.',
  ),
  serviceAccountIssuer: flag(
    GROUP,
    'service-account-issuer',
    array,
    [DEFAULT_ISSUER],
    'Issuer of service account tokens. Given several times, the first issues and all are accepted.',
  ),
  serviceAccountJwksUri: flag(
    GROUP,
    'service-account-jwks-uri',
    text,
    '',
    'Address of the key set that the discovery document names, where it is not the server itself. https only.',
  ),
  serviceAccountLookup: flag(
    GROUP,
    'service-account-lookup',
    bool,
    true,
    'Tokens of Secrets are valid only while the Secret and the account exist.',
  ),
  serviceAccountMaxTokenExpiration: flag(
    GROUP,
    'service-account-max-token-expiration',
    duration,
    0,
    'Longest life of a token that is asked for; longer ones are shortened. Between 1 hour and 2^32 seconds. 0: no limit.',
  ),
  serviceAccountExtendTokenExpiration: flag(
    GROUP,
    'service-account-extend-token-expiration',
    bool,
    true,
    'Tokens of pods that ask for 3607 seconds last a year; their use after that time is noted in the audit log.',
  ),
  enableBootstrapTokenAuth: flag(
    GROUP,
    'enable-bootstrap-token-auth',
    bool,
    false,
    'Secrets of type bootstrap.kubernetes.io/token in kube-system are tokens with which nodes join.',
  ),
  authenticationTokenWebhookConfigFile: flag(
    GROUP,
    'authentication-token-webhook-config-file',
    text,
    '',
    'Kubeconfig file of a service that is asked about tokens.',
  ),
  authenticationTokenWebhookVersion: flag(
    GROUP,
    'authentication-token-webhook-version',
    text,
    'v1beta1',
    'Version of the TokenReviews that the webhook gets: v1 or v1beta1.',
  ),
  authenticationTokenWebhookCacheTtl: flag(
    GROUP,
    'authentication-token-webhook-cache-ttl',
    duration,
    2 * MINUTE,
    "How long the webhook's answers are remembered. 0: not at all.",
  ),
} as const;

type Values = {
  readonly [K in keyof typeof AUTHENTICATION_FLAGS]: (typeof AUTHENTICATION_FLAGS)[K]['default'];
} & { readonly given: ReadonlySet<string> };

/** Throws FlagError for the first problem. */
export function validateAuthenticationOptions(options: Values): void {
  validateServiceAccounts(options);
  const version = options.authenticationTokenWebhookVersion;
  if (options.authenticationTokenWebhookConfigFile !== '' && version !== 'v1' && version !== 'v1beta1') {
    throw new FlagError(
      `unsupported authentication webhook version ${JSON.stringify(version)}, supported versions are "v1", "v1beta1"`,
    );
  }
}

function validateServiceAccounts(options: Values): void {
  const { serviceAccountIssuer: issuers, serviceAccountJwksUri: jwks } = options;
  const seen = new Set<string>();
  for (const issuer of issuers) {
    if (issuer === '') throw new FlagError('service-account-issuer should not be an empty string');
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      throw new FlagError(`service-account-issuer ${JSON.stringify(issuer)} contained a ':' but was not a valid URL`);
    }
    if (seen.has(issuer)) throw new FlagError(`service-account-issuer ${JSON.stringify(issuer)} is already specified`);
    seen.add(issuer);
  }
  if (jwks !== '' && !URL.canParse(jwks)) throw new FlagError('service-account-jwks-uri must be a valid URL');
  if (jwks !== '' && new URL(jwks).protocol !== 'https:') {
    throw new FlagError(`service-account-jwks-uri requires https scheme, parsed as: ${jwks}`);
  }
  const max = options.serviceAccountMaxTokenExpiration;
  if (max !== 0 && (max < HOUR || max > 2 ** 32 * 1000)) {
    throw new FlagError('the service-account-max-token-expiration must be between 1 hour and 2^32 seconds');
  }
}
