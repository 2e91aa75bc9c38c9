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

/** So long a new configuration's providers may take to answer. */
const HEALTHY_WITHIN_MILLIS = 60_000;
const HEALTH_MILLIS = 10_000;
/** Requests that began under the old configuration end under it. */
const LINGER_MILLIS = 60_000;

export interface ReloadOptions {
  readonly read: () => Promise<string>;
  /** Calls back when the file may have changed; ends with the signal. */
  readonly watch: (changed: () => void, signal: AbortSignal) => void;
  readonly disallowedIssuers: readonly string[];
  readonly oidc: OidcDependencies;
  readonly metrics: ConfigMetrics;
  readonly clock: Clock;
  /** Called for every rejected file, with the reason. */
  readonly failed: (text: string) => void;
}

/** What is wrong with a new file for good. */
class Refused extends Error {}

/** A checked configuration. Throws an Error with everything that is wrong. */
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
 * The providers of a configuration file. A changed file takes over when all its providers answer; a broken one leaves the old in
 * force. The file is read when a change is seen and every minute.
 */
export class ReloadingOidc implements TokenAuthenticator {
  private current: OidcSet;
  private readonly anonymous: AnonymousConfig | undefined;

  /** `text` has been checked: it makes `authenticators`. */
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
    metrics.inUse(hashLabel(this.lastText));
    reloadOnChange({ watch, reload: () => this.reload(signal), clock }, signal);
    signal.addEventListener(
      'abort',
      () => {
        this.current.close();
      },
      { once: true },
    );
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): MaybePromise<AuthenticationResponse | undefined> {
    return this.current.authenticateToken(token, audiences, signal);
  }

  private async reload(signal: AbortSignal): Promise<void> {
    const { read, metrics, clock, failed } = this.options;
    let text = this.lastText;
    try {
      text = await read();
      if (text === this.lastText) return;
      await this.replace(text, signal);
      if (signal.aborted) return;
      this.lastText = text;
      metrics.reloaded('success', clock.now());
      metrics.inUse(hashLabel(text));
    } catch (error) {
      // A text that will never do is not tried again; what may still come up is.
      if (error instanceof Refused) this.lastText = text;
      metrics.reloaded('failure', clock.now());
      failed(`reloading authentication config: ${messageOf(error)}`);
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
    this.options.clock.setTimer(LINGER_MILLIS, () => {
      old.close();
    });
  }

  private compile(text: string): readonly CompiledAuthenticator[] {
    try {
      const configuration = loadAuthenticationConfiguration(text);
      const changed = !sameAnonymous(this.anonymous, configuration.anonymous);
      const more = changed ? [forbidden(FieldPath.of('anonymous'), 'changed from initial configuration file')] : [];
      return checkConfiguration(configuration, this.options.disallowedIssuers, more);
    } catch (error) {
      throw new Refused(messageOf(error));
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
