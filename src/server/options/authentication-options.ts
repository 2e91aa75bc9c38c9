import { SIGNING_ALGORITHMS } from '../../authentication/oidc/types.js';
import { array, bool, duration, FlagError, flagsOf, type FlagValues, type GivenFlags, list, text } from './flags.js';

const flag = flagsOf('Authentication flags:');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The default issuer of service account tokens, and default audience of the server. */
const DEFAULT_ISSUER = 'https://kubernetes.default.svc';

/** Authentication flags, except those of client certificates and front proxies. */
export const AUTHENTICATION_FLAGS = {
  apiAudiences: flag(
    'api-audiences',
    list,
    [],
    'Audiences of the server: a token must be valid for one of them. Defaults to the service account issuers.',
  ),
  serviceAccountKeyFile: flag(
    'service-account-key-file',
    array,
    [],
    'PEM file of public or private RSA or ECDSA keys that verify service account tokens. The file may contain several keys, and the flag may be given several times. Defaults to the signing key and --tls-private-key-file.',
  ),
  serviceAccountSigningKeyFile: flag(
    'service-account-signing-key-file',
    text,
    '',
    'PEM file of the private key that signs service account tokens. If unset, a key is created: in MongoDB if --encryption-provider-config encrypts Secrets, else in the data directory.',
  ),
  clusterSigningCertFile: flag(
    'cluster-signing-cert-file',
    text,
    '',
    'PEM file of the CA that issues the certificates of CertificateSigningRequests and of the administrator. Clients with its certificates are authenticated as with --client-ca-file. If unset, a CA is created, where the key of service account tokens is.',
  ),
  clusterSigningKeyFile: flag(
    'cluster-signing-key-file',
    text,
    '',
    'PEM file of the RSA or ECDSA private key that belongs to --cluster-signing-cert-file.',
  ),
  rootCaFile: flag(
    'root-ca-file',
    text,
    '',
    'PEM file of the CAs that verify the certificate in --tls-cert-file, for service account tokens in Secrets, the ConfigMaps kube-root-ca.crt and the admin kubeconfig. Defaults to the CA certificates in --tls-cert-file.',
  ),
  serviceAccountIssuer: flag(
    'service-account-issuer',
    array,
    [DEFAULT_ISSUER],
    'Issuer of service account tokens. If given several times, the first one is used for new tokens, and all are accepted.',
  ),
  serviceAccountJwksUri: flag(
    'service-account-jwks-uri',
    text,
    '',
    'URL of the key set in the discovery document, if the server itself does not serve it; must be https.',
  ),
  serviceAccountLookup: flag(
    'service-account-lookup',
    bool,
    true,
    'Accept tokens from Secrets only while the Secret and the service account exist.',
  ),
  serviceAccountMaxTokenExpiration: flag(
    'service-account-max-token-expiration',
    duration,
    0,
    'Maximum lifetime of a requested token; longer lifetimes are shortened. Between 1 hour and 2^32 seconds. 0: no limit.',
  ),
  serviceAccountExtendTokenExpiration: flag(
    'service-account-extend-token-expiration',
    bool,
    true,
    'Extend pod tokens that are requested for 3607 seconds to one year; their use after the requested time is recorded in the audit log.',
  ),
  enableBootstrapTokenAuth: flag(
    'enable-bootstrap-token-auth',
    bool,
    false,
    'Accept Secrets of type bootstrap.kubernetes.io/token in kube-system as tokens with which nodes join.',
  ),
  authenticationTokenWebhookConfigFile: flag(
    'authentication-token-webhook-config-file',
    text,
    '',
    'Kubeconfig file of the webhook that authenticates tokens.',
  ),
  authenticationTokenWebhookVersion: flag(
    'authentication-token-webhook-version',
    text,
    'v1beta1',
    'Version of the TokenReviews that are sent to the webhook: v1 or v1beta1.',
  ),
  authenticationTokenWebhookCacheTtl: flag(
    'authentication-token-webhook-cache-ttl',
    duration,
    2 * MINUTE,
    'How long responses of the webhook are cached. 0: no caching.',
  ),
  authenticationConfig: flag(
    'authentication-config',
    text,
    '',
    'File with an AuthenticationConfiguration, reloaded when it changes and every minute. Mutually exclusive with --oidc-*, and with --anonymous-auth if the file configures anonymous requests.',
  ),
  oidcIssuerUrl: flag(
    'oidc-issuer-url',
    text,
    '',
    'URL of the OpenID provider whose ID tokens are accepted; must be https.',
  ),
  oidcClientId: flag('oidc-client-id', text, '', 'Client ID that ID tokens must be issued for.'),
  oidcCaFile: flag('oidc-ca-file', text, '', 'PEM file of the CAs of the provider. Defaults to those of the host.'),
  oidcUsernameClaim: flag('oidc-username-claim', text, 'sub', "Claim with the user's name."),
  oidcUsernamePrefix: flag(
    'oidc-username-prefix',
    text,
    '',
    'Prefix of user names. Defaults to the issuer and # for all claims except email; - disables the prefix.',
  ),
  oidcGroupsClaim: flag('oidc-groups-claim', text, '', "Claim with the user's groups, a string or a list."),
  oidcGroupsPrefix: flag('oidc-groups-prefix', text, '', 'Prefix of group names.'),
  oidcSigningAlgs: flag(
    'oidc-signing-algs',
    list,
    ['RS256'],
    `Signing algorithms accepted from the provider: ${SIGNING_ALGORITHMS.join(', ')}.`,
  ),
  oidcRequiredClaim: flag(
    'oidc-required-claim',
    array,
    [],
    'A claim that every ID token must have, with its value: key=value. May be given several times.',
  ),
} as const;

type Values = FlagValues<typeof AUTHENTICATION_FLAGS> & GivenFlags;

/** Throws FlagError for the first problem. */
export function validateAuthenticationOptions(options: Values & { readonly tlsCertFile: string }): void {
  if ((options.clusterSigningCertFile === '') !== (options.clusterSigningKeyFile === ''))
    throw new FlagError('--cluster-signing-cert-file and --cluster-signing-key-file must be given together');
  if (options.rootCaFile !== '' && options.tlsCertFile === '')
    throw new FlagError('--root-ca-file requires --tls-cert-file');
  validateServiceAccounts(options);
  validateOidc(options);
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

function validateOidc(options: Values): void {
  const given = [...options.given].some((name) => name.startsWith('oidc-'));
  if (options.authenticationConfig !== '') {
    if (given) throw new FlagError('authentication-config file and oidc-* flags are mutually exclusive');
    return;
  }
  if (given && (options.oidcIssuerUrl === '' || options.oidcClientId === '')) {
    throw new FlagError('oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set');
  }
  const unknown = options.oidcSigningAlgs.find((algorithm) => !SIGNING_ALGORITHMS.includes(algorithm));
  if (unknown !== undefined) throw new FlagError(`oidc: unsupported signing alg: ${JSON.stringify(unknown)}`);
  const claim = options.oidcRequiredClaim.find((pair) => !pair.includes('='));
  if (claim !== undefined)
    throw new FlagError(
      `invalid argument ${JSON.stringify(claim)} for --oidc-required-claim: malformed pair, expect string=string`,
    );
}
