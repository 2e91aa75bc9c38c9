import type { UserInfo } from '../../authentication/user/user.js';
import type { Clock } from '../../util/clock.js';
import { reloadOnChange } from '../../util/files/file-reload.js';
import type { AuthorizationMetrics } from '../authorizer/instrumentation.js';
import type {
  AuthorizationResult,
  Authorizer,
  AuthorizerAttributes,
  RuleResolver,
  RulesResult,
} from '../authorizer/interfaces.js';
import { messageOf } from '../../util/error-message.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** A chain of authorizers built from a configuration. */
export interface Chain {
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
  /** Releases the resources of the chain once it is replaced. */
  close(): void;
}

export interface ReloadOptions {
  /** Reads the current content of the file. */
  readonly read: () => Promise<string>;
  /** Builds the chain from the content; throws an error if it is invalid. */
  readonly build: (text: string) => Promise<Chain>;
  /** Calls `changed` when the file may have changed, until the signal is aborted. */
  readonly watch: (changed: () => void, signal: AbortSignal) => void;
  readonly clock: Clock;
  readonly metrics: AuthorizationMetrics;
  /** Called with the reason for every file that is rejected. */
  readonly onError: (text: string) => void;
}

/**
 * The chain of a configuration file. A changed file replaces the whole chain; with a broken file the old chain stays in
 * force. The file is read whenever it changes, and every minute.
 */
export class ReloadingChain implements Authorizer, RuleResolver {
  constructor(
    private current: Chain,
    private lastText: string,
    private readonly options: ReloadOptions,
  ) {}

  start(signal: AbortSignal): void {
    const { metrics, watch, clock } = this.options;
    metrics.configInUse(this.lastText);
    reloadOnChange({ watch, reload: () => this.reload(signal), clock }, signal);
    signal.addEventListener('abort', () => this.current.close(), { once: true });
  }

  authorize(attributes: AuthorizerAttributes, signal: AbortSignal): MaybePromise<AuthorizationResult> {
    return this.current.authorizer.authorize(attributes, signal);
  }

  rulesFor(user: UserInfo, namespace: string): RulesResult {
    return this.current.ruleResolver.rulesFor(user, namespace);
  }

  private async reload(signal: AbortSignal): Promise<void> {
    const { read, build, metrics, clock, onError } = this.options;
    try {
      const text = await read();
      if (text === this.lastText) return;
      // Record rejected content too, so that the same broken file is reported only once.
      this.lastText = text;
      const next = await build(text);
      if (signal.aborted) {
        next.close();
        return;
      }
      const old = this.current;
      this.current = next;
      old.close();
      metrics.configReload('success', clock.now());
      metrics.configInUse(text);
    } catch (error) {
      metrics.configReload('failure', clock.now());
      onError(`reloading authorization config: ${messageOf(error)}`);
    }
  }
}
