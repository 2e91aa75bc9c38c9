import type { Clock } from '../../util/clock.js';
import { LruCache } from '../../util/caches/lru-cache.js';
import { readToken, isRecord } from '../token/jws.js';
import type { ProviderClient } from './http.js';
import { type Claims, issuerOf, verifyIdToken } from './id-token.js';
import { Provider } from './provider.js';
import { messageOf } from '../../util/error-message.js';

/** The maximum number of issuers whose keys are kept. Tokens of a trusted issuer name them. */
const MAX_ISSUERS = 64;

export interface DistributedClaimsOptions {
  /** The claim that may be distributed. */
  readonly claim: string;
  readonly client: ProviderClient;
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly clock: Clock;
  readonly onError: (text: string) => void;
}

/** Fetches a distributed claim from the endpoint that the token names (OpenID Connect Core 1.0, 5.6.2). */
export class DistributedClaims {
  private readonly providers = new LruCache<string, Provider>({
    capacity: MAX_ISSUERS,
    onEvict: (_issuer, provider) => provider.close(),
  });

  constructor(private readonly options: DistributedClaimsOptions) {}

  close(): void {
    this.providers.clear((_issuer, provider) => provider.close());
  }

  /** Returns the claims with the distributed one added. Throws an Error. */
  async expand(claims: Claims, signal: AbortSignal): Promise<Claims> {
    const { claim } = this.options;
    const { _claim_names: names, _claim_sources: sources } = claims;
    if (Object.hasOwn(claims, claim) || names === undefined) return claims;
    if (!isRecord(names)) throw new Error('oidc: error parsing distributed claim names');
    if (sources === undefined) throw new Error('oidc: no claim sources');
    if (!isRecord(sources)) throw new Error('oidc: could not parse claim sources');
    const name = Object.hasOwn(names, claim) ? names[claim] : undefined;
    if (typeof name !== 'string') return claims;
    const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
    if (!isRecord(source))
      throw new Error(`id token _claim_names contained a source ${name} missing in _claims_sources`);
    const { endpoint, access_token: accessToken } = source;
    // A source without an endpoint is an aggregated claim, which is not supported.
    if (typeof endpoint !== 'string' || endpoint === '') return claims;
    const value = await this.resolve(endpoint, typeof accessToken === 'string' ? accessToken : '', signal);
    return { ...claims, [claim]: value };
  }

  private async resolve(endpoint: string, accessToken: string, signal: AbortSignal): Promise<unknown> {
    const { claim, client, audiences, algorithms, clock } = this.options;
    let token: string;
    try {
      token = await client.get(endpoint, accessToken === '' ? undefined : accessToken, signal);
    } catch (error) {
      throw new Error(`while getting distributed claim "${claim}": ${messageOf(error)}`);
    }
    const parsed = readToken(token);
    if (parsed === undefined)
      throw new Error(`getting untrusted issuer from endpoint ${endpoint} failed for claim "${claim}"`);
    const issuer = issuerOf(parsed.claims);
    const provider = await this.providerOf(issuer);
    const claims = await verifyIdToken(token, { provider, issuer, audiences, algorithms, clock }).catch(
      (error: unknown) => {
        throw new Error(`verify distributed claim token: ${messageOf(error)}`);
      },
    );
    if (!Object.hasOwn(claims, claim)) {
      throw new Error(`jwt returned by distributed claim endpoint "${endpoint}" did not contain claim: ${claim}`);
    }
    return claims[claim];
  }

  private async providerOf(issuer: string): Promise<Provider> {
    const { client, clock, onError } = this.options;
    let provider = this.providers.get(issuer);
    if (provider === undefined) {
      provider = new Provider({ issuer, discoveryUrl: '', client, clock, onError, fetched: () => undefined });
      this.providers.set(issuer, provider);
    }
    await provider.start();
    if (provider.unhealthy !== undefined) {
      throw new Error(`verifying untrusted issuer ${issuer} failed: verifier not initialized for issuer: "${issuer}"`);
    }
    return provider;
  }
}
