import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator/interfaces.js';
import { readToken } from '../token/jws.js';
import { OidcAuthenticator, type OidcDependencies } from './authenticator.js';
import { issuerOf } from './id-token.js';
import type { CompiledAuthenticator } from './validate.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The providers of one configuration. Each is discovered independently; a token goes to the provider that it names. */
export class OidcSet implements TokenAuthenticator {
  private readonly byIssuer: ReadonlyMap<string, OidcAuthenticator>;

  constructor(authenticators: readonly CompiledAuthenticator[], dependencies: OidcDependencies) {
    this.byIssuer = new Map(
      authenticators.map((compiled) => [compiled.config.issuer.url, new OidcAuthenticator(compiled, dependencies)]),
    );
  }

  get issuers(): readonly string[] {
    return [...this.byIssuer.keys()];
  }

  /** Starts discovery of all providers in parallel; resolves after the first attempt with each. */
  async start(): Promise<void> {
    await Promise.all([...this.byIssuer.values()].map((authenticator) => authenticator.start()));
  }

  /** The reasons why providers are unhealthy; empty if all are ready. */
  get problems(): readonly string[] {
    return [...this.byIssuer.values()].flatMap(({ unhealthy }) => (unhealthy === undefined ? [] : [unhealthy]));
  }

  close(): void {
    for (const authenticator of this.byIssuer.values()) authenticator.close();
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): MaybePromise<AuthenticationResponse | undefined> {
    if (this.byIssuer.size === 0) return undefined;
    const parsed = readToken(token);
    if (parsed === undefined) return undefined;
    return this.byIssuer.get(issuerOf(parsed.claims))?.authenticateToken(token, audiences, signal);
  }
}
