import { attributesOf } from './authorization.js';
import type { ChainConfig, Step } from './chain-config.js';
import type { Exchange } from './exchange.js';
import { isDefect } from './panic-recovery.js';

/** Tells the audit hook about every request that authenticated. */
export function withAudit(next: Step, config: ChainConfig): Step {
  const { audit } = config;
  if (audit === undefined) return next;
  const ended = (exchange: Exchange, failure: unknown): void => {
    if (isDefect(failure)) audit.panicked(exchange, failure);
    else audit.responseComplete(exchange, failure);
  };
  const follow = async (exchange: Exchange, running: Promise<void>): Promise<void> => {
    let failure: unknown;
    try {
      await running;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      ended(exchange, failure);
    }
  };
  return (exchange) => {
    audit.requestReceived(exchange, attributesOf(exchange, config));
    if (exchange.longRunning) audit.responseStarted(exchange);
    let running: void | Promise<void>;
    try {
      running = next(exchange);
    } catch (error) {
      ended(exchange, error);
      throw error;
    }
    if (running !== undefined) {
      return follow(exchange, running);
    }
    audit.responseComplete(exchange, undefined);
    return undefined;
  };
}
