import { compactVerify, type CryptoKey, importJWK, type JWK } from 'jose';
import { quote } from '../../apimachinery/meta/meta.js';
import type { Clock, Timer } from '../../util/clock.js';
import type { ProviderClient } from './http.js';
import { messageOf } from '../../util/error-message.js';

const RETRY_MILLIS = 10_000;
/**
 * A token with an unknown key triggers a fetch of the keys at once, because the provider may just have rotated them.
 * Clients can name any key, so after this many fetches in a row only one per second is allowed.
 */
const FETCHES_AT_ONCE = 5;
const FETCH_MILLIS = 1_000;
const WELL_KNOWN = '/.well-known/openid-configuration';

export interface ProviderOptions {
  readonly issuer: string;
  /** '' for the well-known path below the issuer. */
  readonly discoveryUrl: string;
  readonly client: ProviderClient;
  readonly clock: Clock;
  readonly onError: (text: string) => void;
  /** Called after every attempt to fetch keys; `keySet` is the text of the key set. */
  readonly fetched: (result: { readonly keySet: string } | 'failure') => void;
}

interface KeySet {
  readonly keys: readonly JWK[];
  readonly imported: Map<string, Promise<CryptoKey | undefined>>;
}

/** An identity provider. Discovery runs in the background and is retried until it succeeds; keys are fetched on demand. */
export class Provider {
  private jwksUri: string | undefined;
  private problem = 'not initialized';
  private timer: Timer | undefined;
  private keySet: KeySet | undefined;
  /** A token bucket: the fetches left as of `at`, a monotonic time in milliseconds. */
  private allowance = { fetches: FETCHES_AT_ONCE, at: -Infinity };
  private fetching: Promise<KeySet> | undefined;
  private readonly stop = new AbortController();
  private initialized: Promise<void> | undefined;

  constructor(private readonly options: ProviderOptions) {}

  /** Starts discovery; resolves after the first attempt. */
  start(): Promise<void> {
    this.initialized ??= this.discover();
    return this.initialized;
  }

  /** The reason why the provider is not ready, or undefined. */
  get unhealthy(): string | undefined {
    return this.jwksUri === undefined ? this.problem : undefined;
  }

  close(): void {
    this.stop.abort();
    this.timer?.cancel();
  }

  private async discover(): Promise<void> {
    const { issuer, discoveryUrl, client, onError, clock } = this.options;
    try {
      const url = discoveryUrl === '' ? issuer.replace(/\/$/, '') + WELL_KNOWN : discoveryUrl;
      const document = parseObject(await client.get(url, undefined, this.stop.signal), 'discovery document');
      if (document['issuer'] !== issuer) {
        const got = typeof document['issuer'] === 'string' ? document['issuer'] : '';
        const why = `issuer did not match the issuer returned by provider, expected ${quote(issuer)} got ${quote(got)}`;
        throw new Error(`oidc: ${why}`);
      }
      const { jwks_uri: uri } = document;
      if (typeof uri !== 'string' || uri === '') throw new Error('provider did not return JWKS URL');
      this.jwksUri = uri;
    } catch (error) {
      if (this.stop.signal.aborted) return;
      this.problem = messageOf(error);
      onError(`oidc authenticator: initializing provider ${issuer}: ${this.problem}`);
      this.timer = clock.setTimer(RETRY_MILLIS, () => void this.discover());
    }
  }

  /** Verifies the signature against the provider's keys. Fetches new keys if none of the known ones verifies it. Throws an Error. */
  async verify(token: string, header: { readonly alg: string; readonly kid: string }): Promise<void> {
    const known = this.keySet;
    if (known !== undefined && (await verifiedBy(known, token, header))) return;
    const fresh = await this.freshKeys(known);
    if (fresh === known || !(await verifiedBy(fresh, token, header))) {
      throw new Error('failed to verify signature: failed to verify id token signature');
    }
  }

  private async freshKeys(known: KeySet | undefined): Promise<KeySet> {
    // Another request may have fetched new keys in the meantime.
    if (this.keySet !== undefined && this.keySet !== known) return this.keySet;
    if (this.fetching === undefined && known !== undefined && !this.tryAcquireFetch()) return known;
    this.fetching ??= this.fetchKeys().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private tryAcquireFetch(): boolean {
    const now = this.options.clock.monotonic();
    const { fetches, at } = this.allowance;
    const left = Math.min(FETCHES_AT_ONCE, fetches + (now - at) / FETCH_MILLIS);
    this.allowance = { fetches: left < 1 ? left : left - 1, at: now };
    return left >= 1;
  }

  private async fetchKeys(): Promise<KeySet> {
    const { client, fetched } = this.options;
    try {
      const text = await client.get(this.jwksUri ?? '', undefined, this.stop.signal);
      const { keys } = parseObject(text, 'key set');
      if (!Array.isArray(keys)) throw new Error('the key set has no keys');
      this.keySet = { keys: (keys as readonly unknown[]).filter(isJwk), imported: new Map() };
      fetched({ keySet: text });
      return this.keySet;
    } catch (error) {
      fetched('failure');
      throw new Error(`failed to verify signature: fetching keys ${messageOf(error)}`);
    }
  }
}

const isJwk = (value: unknown): value is JWK =>
  typeof value === 'object' && value !== null && 'kty' in value && (value.kty === 'RSA' || value.kty === 'EC');

function parseObject(text: string, what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`the ${what} is not JSON`);
  }
  if (typeof value !== 'object' || value === null) throw new Error(`the ${what} is not an object`);
  return value as Record<string, unknown>;
}

async function verifiedBy(
  { keys, imported }: KeySet,
  token: string,
  { alg, kid }: { readonly alg: string; readonly kid: string },
): Promise<boolean> {
  for (const [i, jwk] of keys.entries()) {
    if (kid !== '' && jwk.kid !== kid) continue;
    const slot = `${i} ${alg}`;
    let key = imported.get(slot);
    if (key === undefined) {
      key = importKey(jwk, alg);
      imported.set(slot, key);
    }
    const usable = await key;
    if (usable === undefined) continue;
    try {
      await compactVerify(token, usable, { algorithms: [alg] });
      return true;
    } catch {
      // Not signed with this key.
    }
  }
  return false;
}

/** Imports only the public half of a key. Returns undefined if the key does not support the algorithm. */
async function importKey({ kty, n, e, crv, x, y }: JWK, alg: string): Promise<CryptoKey | undefined> {
  try {
    const parts = kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y };
    const key = await importJWK(parts as JWK, alg);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined;
  }
}
