import type { Registry } from 'prom-client';
import type { TokenAuthenticator } from '../../../authentication/authenticator/interfaces.js';
import type { OidcDependencies } from '../../../authentication/oidc/authenticator.js';
import { HttpsProviderClient } from '../../../authentication/oidc/http.js';
import { loadAuthenticationConfiguration } from '../../../authentication/oidc/load.js';
import { oidcMetrics } from '../../../authentication/oidc/metrics.js';
import { OidcSet } from '../../../authentication/oidc/oidc-set.js';
import { checkConfiguration, ReloadingOidc } from '../../../authentication/oidc/reload.js';
import {
  type AnonymousConfig,
  type AuthenticationConfiguration,
  type JwtAuthenticatorConfig,
  SIGNING_ALGORITHMS,
} from '../../../authentication/oidc/types.js';
import { TokenCache } from '../../../authentication/token/token-cache.js';
import type { Clock } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import type { Logger } from '../../../util/logger.js';
import { watchFile } from '../../../util/files/watch-file.js';
import { readText } from '../../../util/files/read-text.js';
import { readFile, StartError } from '../../certificates/data-directory.js';
import type { Options } from '../../options/options.js';
import { serverId } from '../../http/server-id.js';

/** The time, in milliseconds, for which a verified token is accepted without verifying it again. */
const CACHE_MILLIS = 10_000;

export interface OidcContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Stops the background work. */
  readonly signal: AbortSignal;
}

/** The authenticator for tokens of OpenID providers, undefined if none is configured. */
export interface Oidc {
  readonly tokens: TokenAuthenticator | undefined;
  /** The anonymous authentication that the configuration file specifies. */
  readonly anonymous: AnonymousConfig | undefined;
}

/** Creates the authenticator that the flags or the file configure. Throws StartError if the server must not start with them. */
export function makeOidc(options: Options, context: OidcContext): Oidc {
  if (options.authenticationConfig !== '') return fromFile(options.authenticationConfig, options, context);
  if (options.oidcIssuerUrl === '') return { tokens: undefined, anonymous: undefined };
  return { tokens: cached(fromFlags(options, context), context), anonymous: undefined };
}

const cached = (tokens: TokenAuthenticator, { clock }: OidcContext): TokenCache =>
  new TokenCache(tokens, { successTtl: CACHE_MILLIS, failureTtl: 0, clock });

function dependencies(
  algorithms: readonly string[],
  metrics: OidcDependencies['metrics'],
  { clock, logger }: OidcContext,
): OidcDependencies {
  return {
    algorithms,
    client: (ca) => new HttpsProviderClient(ca),
    clock,
    metrics,
    onError: (text) => logger.error(text),
  };
}

function fromFlags(options: Options, context: OidcContext): OidcSet {
  const { clock, registry, signal } = context;
  const configuration: AuthenticationConfiguration = { jwt: [configOfFlags(options)], anonymous: undefined };
  const { oidc } = oidcMetrics(serverId(), clock, registry);
  try {
    const authenticators = checkConfiguration(configuration, options.serviceAccountIssuer);
    const set = new OidcSet(authenticators, dependencies(options.oidcSigningAlgs, oidc, context));
    void set.start();
    signal.addEventListener('abort', () => set.close(), { once: true });
    return set;
  } catch (error) {
    throw new StartError(`--oidc-issuer-url: invalid authentication configuration: ${messageOf(error)}`);
  }
}

function configOfFlags(options: Options): JwtAuthenticatorConfig {
  const { oidcIssuerUrl: url, oidcUsernameClaim: claim, oidcUsernamePrefix: asked } = options;
  const usual = claim === 'email' ? '' : `${url}#`;
  const prefix = asked === '-' ? '' : asked === '' ? usual : asked;
  const none = { claim: '', prefix: undefined, expression: '' };
  return {
    issuer: {
      url,
      discoveryURL: '',
      certificateAuthority: options.oidcCaFile === '' ? '' : readFile(options.oidcCaFile, '--oidc-ca-file'),
      audiences: [options.oidcClientId],
      audienceMatchPolicy: '',
      egressSelectorType: '',
    },
    claimValidationRules: requiredClaims(options.oidcRequiredClaim),
    claimMappings: {
      username: { claim, prefix, expression: '' },
      groups:
        options.oidcGroupsClaim === ''
          ? none
          : { claim: options.oidcGroupsClaim, prefix: options.oidcGroupsPrefix, expression: '' },
      uid: { claim: '', expression: '' },
      extra: [],
    },
    userValidationRules: [],
  };
}

/** If several pairs have the same key, the last one wins. */
function requiredClaims(pairs: readonly string[]): JwtAuthenticatorConfig['claimValidationRules'] {
  const byClaim = new Map(
    pairs.map((pair): [string, string] => [
      pair.slice(0, pair.indexOf('=')).trim(),
      pair.slice(pair.indexOf('=') + 1).trim(),
    ]),
  );
  return [...byClaim].map(([claim, requiredValue]) => ({ claim, requiredValue, expression: '', message: '' }));
}

function loaded(text: string, path: string): AuthenticationConfiguration {
  try {
    return loadAuthenticationConfiguration(text);
  } catch (error) {
    const where = `failed to load authentication configuration from file ${JSON.stringify(path)}`;
    throw new StartError(`--authentication-config: ${where}: ${messageOf(error)}`);
  }
}

function fromFile(path: string, options: Options, context: OidcContext): Oidc {
  const { clock, logger, registry, signal } = context;
  const text = readFile(path, '--authentication-config');
  const metrics = oidcMetrics(serverId(), clock, registry);
  const disallowedIssuers = options.serviceAccountIssuer;
  const configuration = loaded(text, path);
  try {
    if (configuration.anonymous !== undefined && options.given.has('anonymous-auth')) {
      throw new Error(
        'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
      );
    }
    const authenticators = checkConfiguration(configuration, disallowedIssuers);
    const reloading = new ReloadingOidc(text, configuration, authenticators, {
      read: () => readText(path),
      watch: (changed, until) => watchFile(path, changed, clock, until),
      disallowedIssuers,
      oidc: dependencies(SIGNING_ALGORITHMS, metrics.oidc, context),
      metrics: metrics.config,
      clock,
      onError: (why) => logger.error(why),
    });
    reloading.start(signal);
    return { tokens: cached(reloading, context), anonymous: configuration.anonymous };
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`--authentication-config: ${path}: invalid authentication configuration: ${messageOf(error)}`);
  }
}
