import { aggregate, type FieldError, FieldPath, forbidden } from '../../apimachinery/meta/field-error.js';
import { deepEqual } from '../../apimachinery/json/json.js';
import { type Clock, sleep } from '../../util/clock.js';
import { hashLabel, type ConfigMetrics } from '../../util/files/config-metrics.js';
import { reloadOnChange } from '../../util/files/file-reload.js';
import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator/interfaces.js';
import type { OidcDependencies } from './authenticator.js';
import { loadAuthenticationConfiguration } from './load.js';
import { OidcSet } from './oidc-set.js';
import type { AnonymousConfig, AuthenticationConfiguration } from './types.js';
import { type CompiledAuthenticator, validateAuthenticationConfiguration } from './validate.js';
import { messageOf } from '../../util/error-message.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** How long the providers of a new configuration may take to become healthy, in milliseconds. */
const HEALTHY_WITHIN_MILLIS = 60_000;
const HEALTH_MILLIS = 10_000;
/** How long the old providers stay open, for requests that began under the old configuration; in milliseconds. */
const LINGER_MILLIS = 60_000;

export interface ReloadOptions {
  readonly read: () => Promise<string>;
  /** Calls `changed` when the file may have changed, until the signal is aborted. */
  readonly watch: (changed: () => void, signal: AbortSignal) => void;
  readonly disallowedIssuers: readonly string[];
  readonly oidc: OidcDependencies;
  readonly metrics: ConfigMetrics;
  readonly clock: Clock;
  /** Called with the reason for every file that is rejected. */
  readonly onError: (text: string) => void;
}

/** The new file is invalid, so a retry cannot succeed. */
class InvalidConfigError extends Error {}

/** Compiles a validated configuration. Throws an Error that lists everything that is wrong with it. */
export function checkConfiguration(
  configuration: AuthenticationConfiguration,
  disallowedIssuers: readonly string[],
  more: readonly FieldError[] = [],
): readonly CompiledAuthenticator[] {
  const { authenticators, errors } = validateAuthenticationConfiguration(configuration, disallowedIssuers);
  const all = [...errors, ...more];
  if (all.length > 0) throw new Error(aggregate(all));
  return authenticators;
}

/**
 * The providers of a configuration file. A changed file takes effect once all its providers are healthy; with a broken
 * file the old configuration stays in force. The file is read whenever it changes, and every minute.
 */
export class ReloadingOidc implements TokenAuthenticator {
  private current: OidcSet;
  private readonly anonymous: AnonymousConfig | undefined;

  /** `text` has been validated; `authenticators` is its compiled form. */
  constructor(
    private lastText: string,
    configuration: AuthenticationConfiguration,
    authenticators: readonly CompiledAuthenticator[],
    private readonly options: ReloadOptions,
  ) {
    this.current = new OidcSet(authenticators, options.oidc);
    this.anonymous = configuration.anonymous;
  }

  start(signal: AbortSignal): void {
    void this.current.start();
    const { metrics, watch, clock } = this.options;
    metrics.setActiveHash(hashLabel(this.lastText));
    reloadOnChange({ watch, reload: () => this.reload(signal), clock }, signal);
    signal.addEventListener('abort', () => this.current.close(), { once: true });
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): MaybePromise<AuthenticationResponse | undefined> {
    return this.current.authenticateToken(token, audiences, signal);
  }

  private async reload(signal: AbortSignal): Promise<void> {
    const { read, metrics, clock, onError } = this.options;
    let text = this.lastText;
    try {
      text = await read();
      if (text === this.lastText) return;
      await this.replace(text, signal);
      if (signal.aborted) return;
      this.lastText = text;
      metrics.recordReload('success', clock.now());
      metrics.setActiveHash(hashLabel(text));
    } catch (error) {
      // An invalid file is not tried again. Providers that are unhealthy may recover, so their file is.
      if (error instanceof InvalidConfigError) this.lastText = text;
      metrics.recordReload('failure', clock.now());
      onError(`reloading authentication config: ${messageOf(error)}`);
    }
  }

  private async replace(text: string, signal: AbortSignal): Promise<void> {
    const next = new OidcSet(this.compile(text), this.options.oidc);
    try {
      await this.untilHealthy(next, signal);
    } catch (error) {
      next.close();
      throw error;
    }
    if (signal.aborted) {
      next.close();
      return;
    }
    const old = this.current;
    this.current = next;
    const { metrics } = this.options.oidc;
    for (const issuer of old.issuers) if (!next.issuers.includes(issuer)) metrics.dropped(issuer);
    this.options.clock.setTimer(LINGER_MILLIS, () => old.close());
  }

  private compile(text: string): readonly CompiledAuthenticator[] {
    try {
      const configuration = loadAuthenticationConfiguration(text);
      const changed = !sameAnonymous(this.anonymous, configuration.anonymous);
      const more = changed ? [forbidden(FieldPath.of('anonymous'), 'changed from initial configuration file')] : [];
      return checkConfiguration(configuration, this.options.disallowedIssuers, more);
    } catch (error) {
      throw new InvalidConfigError(messageOf(error));
    }
  }

  private async untilHealthy(set: OidcSet, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const deadline = clock.monotonic() + HEALTHY_WITHIN_MILLIS;
    await Promise.race([set.start(), sleep(clock, HEALTHY_WITHIN_MILLIS, signal)]);
    while (set.problems.length > 0) {
      if (signal.aborted || clock.monotonic() >= deadline) throw new Error(set.problems.join(', '));
      await sleep(clock, HEALTH_MILLIS, signal);
    }
  }
}

function sameAnonymous(a: AnonymousConfig | undefined, b: AnonymousConfig | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.enabled === b.enabled && deepEqual([...a.conditions], [...b.conditions]);
}
