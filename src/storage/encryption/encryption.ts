import { type Clock, sleep, type Timer } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { buildTransformers, type BuildOptions, type Transformers } from './build.js';
import { configurationHash, loadEncryptionConfiguration } from './load.js';
import type { Transformer } from './transformer.js';

/** kube-apiserver looks as often. */
const POLL_MILLIS = 60_000;
/** A new configuration whose providers of keys are not well by then is not taken. */
const HEALTH_MILLIS = 10_000;
const HEALTH_POLL_MILLIS = 100;
/** After a failure it is tried again sooner, ever later. */
const RETRY_MILLIS = 1_000;

export interface EncryptionOptions extends BuildOptions {
  readonly path: string;
  /** Whether changes of the file are followed. */
  readonly reload: boolean;
  readonly clock: Clock;
  /** A configuration is in force. */
  inUse(hash: string): void;
  reloaded(error: Error | undefined): void;
}

/** The configuration that is in force: what encrypts which types. */
export class Encryption {
  private transformers: Transformers;
  private hash: string;
  private timer: Timer | undefined;
  private closed = false;
  private failures = 0;
  private readonly listeners = new Set<() => void>();

  /** Throws EncryptionConfigError where the file cannot be used. */
  constructor(private readonly options: EncryptionOptions) {
    const { configuration, hash } = loadEncryptionConfiguration(options.path, options.reload);
    this.hash = hash;
    this.transformers = buildTransformers(configuration, options);
    options.inUse(hash);
  }

  /** Where it has providers of keys, or may get some. */
  get hasCheck(): boolean {
    return this.options.reload || this.transformers.providers.length > 0;
  }

  of(resource: string): Transformer | undefined {
    return this.transformers.of(resource);
  }

  check(): Promise<void> {
    return this.transformers.check();
  }

  /** Calls back whenever another configuration is in force. */
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
    this.timer = this.options.clock.setTimer(millis, () => {
      void this.look();
    });
  }

  private async look(): Promise<void> {
    try {
      const changed = await this.take();
      this.failures = 0;
      if (changed) this.options.reloaded(undefined);
      this.schedule(POLL_MILLIS);
    } catch (error) {
      this.options.reloaded(error instanceof Error ? error : new Error(messageOf(error)));
      this.schedule(Math.min(RETRY_MILLIS * 2 ** this.failures++, POLL_MILLIS));
    }
  }

  private async take(): Promise<boolean> {
    const { path } = this.options;
    if (configurationHash(path) === this.hash) return false;
    const { configuration, hash } = loadEncryptionConfiguration(path, true);
    const next = buildTransformers(configuration, this.options);
    try {
      await next.start();
      await this.untilWell(next);
    } catch (error) {
      next.close();
      throw error;
    }
    const old = this.transformers;
    this.transformers = next;
    this.hash = hash;
    this.options.inUse(hash);
    // What still reads by the old one has ended by then.
    this.options.clock.setTimer(HEALTH_MILLIS, () => {
      old.close();
    });
    for (const listener of this.listeners) listener();
    return true;
  }

  private async untilWell(transformers: Transformers): Promise<void> {
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
