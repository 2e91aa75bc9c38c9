import { sleep, type Timer } from '../../util/clock.js';
import { asError, messageOf } from '../../util/error-message.js';
import { buildTransformers, type BuildOptions, type Transformers } from './build.js';
import { configurationHash, loadEncryptionConfiguration } from './load.js';
import type { Transformer } from './transformer.js';

/** The interval of kube-apiserver. */
const POLL_MILLIS = 60_000;
/** A new configuration is rejected if its KMS providers are not healthy within this time. */
const HEALTH_MILLIS = 10_000;
const HEALTH_POLL_MILLIS = 100;
/** The first pause after a failure; later ones double. */
const RETRY_MILLIS = 1_000;

export interface EncryptionOptions extends BuildOptions {
  readonly path: string;
  /** True if the file is reloaded when it changes. */
  readonly reload: boolean;
  /** Called when a configuration takes effect. */
  onActiveHash(hash: string): void;
  reloaded(error: Error | undefined): void;
}

/** The configuration in effect: which transformer encrypts which types. */
export class Encryption {
  private transformers: Transformers;
  private hash: string;
  private timer: Timer | undefined;
  private closed = false;
  private failures = 0;
  private readonly listeners = new Set<() => void>();

  /** Throws EncryptionConfigError if the file cannot be used. */
  constructor(private readonly options: EncryptionOptions) {
    const { configuration, hash } = loadEncryptionConfiguration(options.path, options);
    this.hash = hash;
    this.transformers = buildTransformers(configuration, options);
    options.onActiveHash(hash);
  }

  /** True if there are KMS providers, or if a reload may add some. */
  get hasCheck(): boolean {
    return this.options.reload || this.transformers.providers.length > 0;
  }

  of(resource: string): Transformer | undefined {
    return this.transformers.of(resource);
  }

  check(): Promise<void> {
    return this.transformers.check();
  }

  /** Registers a listener that is called whenever another configuration takes effect. */
  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  async start(): Promise<void> {
    await this.transformers.start();
    if (this.options.reload) this.schedule(POLL_MILLIS);
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.transformers.close();
  }

  private schedule(millis: number): void {
    if (this.closed) return;
    this.timer = this.options.clock.setTimer(millis, () => void this.poll());
  }

  private async poll(): Promise<void> {
    try {
      const changed = await this.reloadIfChanged();
      this.failures = 0;
      if (changed) this.options.reloaded(undefined);
      this.schedule(POLL_MILLIS);
    } catch (error) {
      this.options.reloaded(asError(error));
      this.schedule(Math.min(RETRY_MILLIS * 2 ** this.failures++, POLL_MILLIS));
    }
  }

  private async reloadIfChanged(): Promise<boolean> {
    const { path } = this.options;
    if (configurationHash(path) === this.hash) return false;
    const { configuration, hash } = loadEncryptionConfiguration(path, { reload: true });
    const next = buildTransformers(configuration, this.options);
    try {
      await next.start();
      await this.waitUntilHealthy(next);
    } catch (error) {
      next.close();
      throw error;
    }
    const old = this.transformers;
    this.transformers = next;
    this.hash = hash;
    this.options.onActiveHash(hash);
    // Reads that still use the old transformers have ended by then.
    this.options.clock.setTimer(HEALTH_MILLIS, () => old.close());
    for (const listener of this.listeners) listener();
    return true;
  }

  private async waitUntilHealthy(transformers: Transformers): Promise<void> {
    const { clock } = this.options;
    const end = clock.monotonic() + HEALTH_MILLIS;
    for (;;) {
      try {
        await transformers.check();
        return;
      } catch (error) {
        if (clock.monotonic() >= end)
          throw new Error(`health check for new transformers failed, polling error timed out: ${messageOf(error)}`);
        await sleep(clock, HEALTH_POLL_MILLIS);
      }
    }
  }
}
