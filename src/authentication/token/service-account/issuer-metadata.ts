import type { VerificationKey } from './service-account-keys.js';

/** How long relying parties may cache the documents, in seconds. */
export const METADATA_MAX_AGE = 3600;
export const OPENID_CONFIGURATION_PATH = '/.well-known/openid-configuration';
export const JWKS_PATH = '/openid/v1/jwks';

/** The documents with which relying parties verify the server's tokens: OpenID Connect discovery and the key set. */
export interface IssuerMetadata {
  readonly configuration: string;
  readonly keySet: string;
}

/** Returns undefined and calls `warn` if OpenID Connect does not allow the issuer's URL: tokens work, but discovery is not served. */
export function issuerMetadata(
  issuer: string,
  /** '' for the server's own key set. */
  jwksUri: string,
  /** The host and port at which relying parties reach the server. */
  serverAddress: string,
  keys: readonly VerificationKey[],
  warn: (text: string) => void,
): IssuerMetadata | undefined {
  const problem = issuerProblem(issuer);
  if (problem !== undefined) {
    warn(`service account issuer discovery is disabled: ${problem}`);
    return undefined;
  }
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].sort();
  return {
    configuration: JSON.stringify({
      issuer,
      jwks_uri: jwksUri === '' ? `https://${serverAddress}${JWKS_PATH}` : jwksUri,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: algorithms,
    }),
    keySet: JSON.stringify({ keys: keys.map(publicJwk) }),
  };
}

function issuerProblem(issuer: string): string | undefined {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.protocol !== 'https:') return `issuer URL must use https scheme, got: ${issuer}`;
  if (url.search !== '') return `issuer URL may not include a query, got: ${issuer}`;
  if (url.hash !== '') return `issuer URL may not include a fragment, got: ${issuer}`;
  return undefined;
}

function publicJwk({ key, id, algorithm }: VerificationKey): Record<string, string | undefined> {
  const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' });
  return { use: 'sig', kty, kid: id, ...(crv !== undefined && { crv }), alg: algorithm, x, y, n, e };
}
