import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../util/clock.js';
import { metricsOf } from '../../util/metrics/metrics.js';
import {
  AuthenticationError,
  type AuthenticationResponse,
  type TokenAuthenticator,
} from '../authenticator/interfaces.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import { untilAborted } from '../../util/cancellation.js';
import { CachedCalls } from '../../scheduling/cached-calls.js';
import { responseBytes } from './response-bytes.js';

const { counter, gauge } = metricsOf();

/** The timeout of one lookup in milliseconds, however many requests wait for it. */
const LOOKUP_MILLIS = 30_000;
/** The maximum number of bytes of all cached responses. */
const MAX_BYTES = 32 << 20;
/** The maximum number of concurrent lookups, and of those that wait for a place among them. */
const MAX_LOOKUPS = 200;
const MAX_WAITING = 1000;

const METRICS = {
  requests: counter('authentication_token_cache_request_total', 'Token lookups, by cache hit or miss.', ['status']),
  fetches: counter('authentication_token_cache_fetch_total', 'Uncached token lookups by result.', ['status']),
  active: gauge(
    'authentication_token_cache_active_fetch_count',
    'Uncached token lookups in progress, and requests waiting for one.',
    ['status'],
  ),
};

export interface TokenCacheOptions {
  /** How long a user is cached, in milliseconds; 0: not at all. */
  readonly successTtl: number;
  /** How long an unrecognized token is cached, in milliseconds. Errors are not cached. */
  readonly failureTtl: number;
  readonly clock: Clock;
}

interface Answer {
  readonly response: AuthenticationResponse | undefined;
}

/** Caches the results of tokens by salted digest. Requests with the same token share one lookup, which no single request can cancel. */
export class TokenCache implements TokenAuthenticator {
  private readonly salt = randomBytes(32).toString('latin1');
  private readonly lookups: CachedCalls<Answer>;

  constructor(
    private readonly inner: TokenAuthenticator,
    private readonly options: TokenCacheOptions,
  ) {
    this.lookups = new CachedCalls({
      name: 'token',
      clock: options.clock,
      maxBytes: MAX_BYTES,
      weigh: ({ response }) => responseBytes(response),
      max: MAX_LOOKUPS,
      maxPerFlow: MAX_LOOKUPS,
      maxWaiting: MAX_WAITING,
      maxWaitingPerFlow: MAX_WAITING,
      waitMillis: LOOKUP_MILLIS,
    });
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): MaybePromise<AuthenticationResponse | undefined> {
    const key = hash('sha256', JSON.stringify([this.salt, token, ...audiences]), 'base64url');
    const known = this.lookups.known(key);
    if (known !== undefined) {
      METRICS.requests.withLabelValues('hit').inc();
      return known.response;
    }
    METRICS.requests.withLabelValues('miss').inc();
    const { outcome } = this.lookups.shared(key, () => this.fetch(key, token, audiences));
    METRICS.active.withLabelValues('blocked').inc();
    const ended = (): Error => new AuthenticationError('the request ended before its token was looked up');
    return untilAborted(outcome, signal, ended)
      .then(({ response }) => response)
      .finally(() => METRICS.active.withLabelValues('blocked').dec());
  }

  private async fetch(key: string, token: string, audiences: readonly string[]): Promise<Answer> {
    const { clock, successTtl, failureTtl } = this.options;
    const controller = new AbortController();
    const timer = clock.setTimer(LOOKUP_MILLIS, () => controller.abort());
    METRICS.active.withLabelValues('in_flight').inc();
    try {
      // Nobody knows the user of a token before the lookup, so all tokens are one flow.
      const response = await this.lookups.run('', async () =>
        this.inner.authenticateToken(token, audiences, controller.signal),
      );
      this.lookups.remember(key, { response }, response === undefined ? failureTtl : successTtl);
      METRICS.fetches.withLabelValues('ok').inc();
      return { response };
    } catch (error) {
      METRICS.fetches.withLabelValues('error').inc();
      throw error;
    } finally {
      METRICS.active.withLabelValues('in_flight').dec();
      timer.cancel();
    }
  }
}
