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

/** A chain of authorizers made from a configuration. */
export interface Chain {
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
  /** Ends what the chain holds open, once it is replaced. */
  close(): void;
}

export interface ReloadOptions {
  /** The file's text now. */
  readonly read: () => Promise<string>;
  /** Makes the chain of a text; throws what is wrong with it. */
  readonly build: (text: string) => Promise<Chain>;
  /** Calls back when the file may have changed; ends with the signal. */
  readonly watch: (changed: () => void, signal: AbortSignal) => void;
  readonly clock: Clock;
  readonly metrics: AuthorizationMetrics;
  /** Called for every rejected file. */
  readonly failed: (text: string) => void;
}

/**
 * The chain of a configuration file: a changed file replaces it whole, a broken one leaves it in force. The file is read when
 * a change is seen and every minute.
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
    signal.addEventListener(
      'abort',
      () => {
        this.current.close();
      },
      { once: true },
    );
  }

  authorize(attributes: AuthorizerAttributes, signal: AbortSignal): MaybePromise<AuthorizationResult> {
    return this.current.authorizer.authorize(attributes, signal);
  }

  rulesFor(user: UserInfo, namespace: string): RulesResult {
    return this.current.ruleResolver.rulesFor(user, namespace);
  }

  private async reload(signal: AbortSignal): Promise<void> {
    const { read, build, metrics, clock, failed } = this.options;
    try {
      const text = await read();
      if (text === this.lastText) return;
      // Remembered also where it is refused, so that the same broken file is reported once.
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
      failed(`reloading authorization config: ${messageOf(error)}`);
    }
  }
}
