import { CelList, type Value } from '@annex/cel';
import type { Clock } from '../../util/clock.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import { readToken, texts } from '../token/jws.js';
import type { UserInfo } from '../user/user.js';
import { DistributedClaims } from './distributed-claims.js';
import { claimsValue, type Expression, userValue } from './expressions.js';
import type { ProviderClient } from './http.js';
import { type Claims, issuerOf, verifyIdToken } from './id-token.js';
import { Provider } from './provider.js';
import type { CompiledAuthenticator, CompiledRule } from './validate.js';
import { messageOf } from '../../util/error-message.js';

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

export interface OidcMetrics {
  /** Records how many seconds verifying and mapping a token took. */
  authenticated(issuer: string, result: 'success' | 'failure', seconds: number): void;
  keysFetched(issuer: string, result: { readonly keySet: string } | 'failure'): void;
  /** Drops the series of an issuer that is no longer configured. */
  dropped(issuer: string): void;
}

export interface OidcDependencies {
  readonly algorithms: readonly string[];
  readonly client: (ca: string | undefined) => ProviderClient;
  readonly clock: Clock;
  readonly metrics: OidcMetrics;
  readonly onError: (text: string) => void;
}

/** Authenticates the ID tokens of one provider and maps their claims to a user. */
export class OidcAuthenticator implements TokenAuthenticator {
  readonly issuer: string;
  private readonly client: ProviderClient;
  private readonly provider: Provider;
  private readonly distributed: DistributedClaims | undefined;

  constructor(
    private readonly compiled: CompiledAuthenticator,
    private readonly dependencies: OidcDependencies,
  ) {
    const { issuer, claimMappings } = compiled.config;
    const { algorithms, client, clock, metrics, onError } = dependencies;
    this.issuer = issuer.url;
    this.client = client(issuer.certificateAuthority === '' ? undefined : issuer.certificateAuthority);
    this.provider = new Provider({
      issuer: issuer.url,
      discoveryUrl: issuer.discoveryURL,
      client: this.client,
      clock,
      onError,
      fetched: (result) => metrics.keysFetched(issuer.url, result),
    });
    const claim = claimMappings.groups.claim;
    if (claim !== '') {
      const { audiences } = issuer;
      this.distributed = new DistributedClaims({
        claim,
        client: this.client,
        audiences,
        algorithms,
        clock,
        onError,
      });
    }
  }

  /** Starts discovery, which is retried in the background; resolves after the first attempt. */
  start(): Promise<void> {
    return this.provider.start();
  }

  /** The reason why tokens cannot be verified yet, or undefined. */
  get unhealthy(): string | undefined {
    const why = this.provider.unhealthy;
    return why === undefined ? undefined : `oidc: authenticator for issuer "${this.issuer}" is not healthy: ${why}`;
  }

  close(): void {
    this.provider.close();
    this.distributed?.close();
    this.client.close();
  }

  async authenticateToken(
    token: string,
    _audiences: readonly string[],
    signal: AbortSignal,
  ): Promise<AuthenticationResponse | undefined> {
    const parsed = readToken(token);
    if (parsed === undefined || issuerOf(parsed.claims) !== this.issuer) return undefined;
    if (this.provider.unhealthy !== undefined) throw new AuthenticationError('oidc: authenticator not initialized');
    const { clock, metrics } = this.dependencies;
    const began = clock.monotonic();
    try {
      const user = await this.userOf(token, signal);
      metrics.authenticated(this.issuer, 'success', (clock.monotonic() - began) / 1000);
      return { user };
    } catch (error) {
      metrics.authenticated(this.issuer, 'failure', (clock.monotonic() - began) / 1000);
      throw new AuthenticationError(messageOf(error));
    }
  }

  private async userOf(token: string, signal: AbortSignal): Promise<UserInfo> {
    const { provider, issuer, dependencies, compiled } = this;
    const { audiences } = compiled.config.issuer;
    const { algorithms, clock } = dependencies;
    let claims: Claims;
    try {
      claims = await verifyIdToken(token, { provider, issuer, audiences, algorithms, clock });
    } catch (error) {
      throw new Error(`oidc: verify token: ${messageOf(error)}`);
    }
    if (this.distributed !== undefined) {
      claims = await this.distributed.expand(claims, signal).catch((error: unknown) => {
        throw new Error(`oidc: could not expand distributed claims: ${messageOf(error)}`);
      });
    }
    return mapUser(compiled, claims);
  }
}

/** Returns the user that the claims describe. Throws an Error if a claim is missing or malformed, or if a rule fails. */
function mapUser(compiled: CompiledAuthenticator, claims: Claims): UserInfo {
  const value = claimsValue(claims);
  const user: UserInfo = {
    name: userName(compiled, claims, value),
    groups: groupsOf(compiled, claims, value),
    uid: uidOf(compiled, claims, value),
    extra: extraOf(compiled, claims, value),
  };
  for (const { claim, requiredValue } of compiled.config.claimValidationRules) {
    if (claim !== '') requireClaim(claims, claim, requiredValue);
  }
  checkRules(compiled.claimRules, value, 'error evaluating claim validation expression');
  if (compiled.userRules.length > 0) {
    checkRules(compiled.userRules, userValue(user), 'error evaluating user info validation rule');
  }
  return user;
}

function textClaim(claims: Claims, name: string, what: string): string {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (value === undefined) throw new Error(`oidc: parse ${what} "${name}": claim not present`);
  if (typeof value !== 'string') throw new Error(`oidc: parse ${what} "${name}": not a string`);
  return value;
}

function evaluate(expression: Expression, value: Value, what: string): Value {
  try {
    return expression.evaluate(value);
  } catch (error) {
    throw new Error(`oidc: error evaluating ${what} claim expression: ${messageOf(error)}`);
  }
}

function userName({ config, username }: CompiledAuthenticator, claims: Claims, value: Value): string {
  if (username !== undefined) {
    const name = evaluate(username, value, 'username');
    if (typeof name !== 'string') {
      throw new Error(
        'oidc: error evaluating username claim expression: username claim expression must return a string',
      );
    }
    if (name === '') throw new Error('oidc: empty username via CEL expression is not allowed');
    return name;
  }
  const { claim, prefix = '' } = config.claimMappings.username;
  const name = textClaim(claims, claim, 'username claims');
  if (claim === 'email' && Object.hasOwn(claims, 'email_verified')) {
    const { email_verified: verified } = claims;
    if (typeof verified !== 'boolean') throw new Error("oidc: parse 'email_verified' claim: not a boolean");
    if (!verified) throw new Error('oidc: email not verified');
  }
  return prefix + name;
}

function groupsOf({ config, groups }: CompiledAuthenticator, claims: Claims, value: Value): readonly string[] {
  const { claim, prefix = '' } = config.claimMappings.groups;
  if (claim !== '' && Object.hasOwn(claims, claim)) {
    // null means no groups; a string is a single group.
    const held = claims[claim] === null ? [] : texts(claims[claim]);
    if (held === undefined) throw new Error(`oidc: parse groups claim "${claim}": not a string or a list of strings`);
    return held.map((group) => prefix + group);
  }
  return groups === undefined ? [] : stringsOf(evaluate(groups, value, 'group'), 'group claim expression');
}

function uidOf({ config, uid }: CompiledAuthenticator, claims: Claims, value: Value): string {
  const { claim } = config.claimMappings.uid;
  if (claim !== '') return textClaim(claims, claim, 'uid claim');
  if (uid === undefined) return '';
  const found = evaluate(uid, value, 'uid');
  if (typeof found !== 'string') {
    throw new Error('oidc: error evaluating uid claim expression: uid claim expression must return a string');
  }
  return found;
}

function extraOf({ extra }: CompiledAuthenticator, claims: Claims, value: Value): Record<string, readonly string[]> {
  const out: Record<string, readonly string[]> = {};
  const { jti } = claims;
  if (typeof jti === 'string' && jti !== '') out[CREDENTIAL_ID] = [`JTI=${jti}`];
  for (const { key, expression } of extra) {
    const values = stringsOf(expression.evaluate(value), `extra claim expression: ${expression.source}`);
    if (values.length > 0) out[key] = values;
  }
  return out;
}

/** Returns the result of an expression as a list of strings. Empty strings and null count as absent. */
function stringsOf(value: Value, what: string): readonly string[] {
  if (value === null || value === '') return [];
  if (typeof value === 'string') return [value];
  const items = value instanceof CelList ? [...value] : undefined;
  if (items?.every((item): item is string => typeof item === 'string') !== true) {
    throw new Error(`oidc: error evaluating ${what}: expression must return a string or a list of strings`);
  }
  return items.filter((item) => item !== '');
}

function requireClaim(claims: Claims, claim: string, wanted: string): void {
  if (!Object.hasOwn(claims, claim)) throw new Error(`oidc: required claim ${claim} not present in ID token`);
  const value = claims[claim];
  if (typeof value !== 'string') throw new Error(`oidc: parse claim ${claim}: not a string`);
  if (value !== wanted) {
    throw new Error(`oidc: required claim ${claim} value does not match. Got = ${value}, want = ${wanted}`);
  }
}

function checkRules(rules: readonly CompiledRule[], value: Value, what: string): void {
  for (const { expression, message } of rules) {
    let verdict: Value;
    try {
      verdict = expression.evaluate(value);
    } catch (error) {
      throw new Error(`oidc: ${what}: ${messageOf(error)}`);
    }
    if (verdict !== true) {
      throw new Error(`oidc: ${what}: validation expression '${expression.source}' failed: ${message}`);
    }
  }
}
