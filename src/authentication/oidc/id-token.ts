import { quote, quoteList } from '../../apimachinery/meta/meta.js';
import type { Clock } from '../../util/clock.js';
import { readToken, texts } from '../token/jws.js';
import type { Provider } from './provider.js';

const NOT_BEFORE_LEEWAY_SECONDS = 60;

export type Claims = Readonly<Record<string, unknown>>;

/** Returns the issuer that an unverified token names. Google sometimes omits the scheme. */
export function issuerOf(claims: Claims): string {
  const { iss } = claims;
  if (iss === 'accounts.google.com') return 'https://accounts.google.com';
  return typeof iss === 'string' ? iss : '';
}

export interface IdTokenOptions {
  readonly provider: Provider;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly clock: Clock;
}

/**
 * Returns the claims of an ID token. Throws an Error unless the provider signed it, for one of the audiences, and it is
 * currently valid.
 */
export async function verifyIdToken(token: string, options: IdTokenOptions): Promise<Claims> {
  const { provider, issuer, audiences, algorithms, clock } = options;
  const parsed = readToken(token);
  if (parsed === undefined) throw new Error('oidc: malformed jwt');
  const { header, claims } = parsed;
  const alg = typeof header['alg'] === 'string' ? header['alg'] : '';
  if (!algorithms.includes(alg)) {
    const expected = quoteList(algorithms);
    throw new Error(`oidc: id token signed with unsupported algorithm, expected ${expected} got ${quote(alg)}`);
  }
  await provider.verify(token, { alg, kid: typeof header['kid'] === 'string' ? header['kid'] : '' });
  if (issuerOf(claims) !== issuer) {
    const got = quote(issuerOf(claims));
    throw new Error(`oidc: id token issued by a different provider, expected ${quote(issuer)} got ${got}`);
  }
  checkAudiences(claims, audiences);
  checkTimes(claims, clock.now());
  return claims;
}

function checkAudiences(claims: Claims, audiences: readonly string[]): void {
  const held = texts(claims['aud']) ?? [];
  if (audiences.some((audience) => held.includes(audience))) return;
  const got = quoteList(held);
  if (audiences.length === 1) throw new Error(`oidc: expected audience ${quote(audiences[0] ?? '')} got ${got}`);
  throw new Error(`oidc: expected audience in ${quoteList([...audiences].sort())} got ${got}`);
}

function checkTimes({ exp, nbf }: Claims, now: number): void {
  const expiry = typeof exp === 'number' && Number.isFinite(exp) ? exp : 0;
  if (expiry * 1000 < now) throw new Error(`oidc: token is expired (Token Expiry: ${goTime(expiry)})`);
  if (nbf === undefined || nbf === null) return;
  if (typeof nbf !== 'number' || now + NOT_BEFORE_LEEWAY_SECONDS * 1000 < nbf * 1000) {
    throw new Error(`oidc: current time ${goTime(now / 1000)} before the nbf (not before) time`);
  }
}

/** Formats a time as Go does. A year beyond the range of Date is printed as seconds. */
function goTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return String(seconds);
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`;
}
