import { attributesOf } from './authorization.js';
import type { ChainConfig, Step } from './chain-config.js';
import type { Exchange } from './exchange.js';

/** Tells the audit hook about every request that authenticated. */
export function withAudit(next: Step, config: ChainConfig): Step {
  const { audit } = config;
  if (audit === undefined) return next;
  const follow = async (exchange: Exchange, running: Promise<void>): Promise<void> => {
    let failure: unknown;
    try {
      await running;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      audit.responseComplete(exchange, failure);
    }
  };
  return (exchange) => {
    audit.requestReceived(exchange, attributesOf(exchange, config));
    if (exchange.longRunning) audit.responseStarted(exchange);
    let running: void | Promise<void>;
    try {
      running = next(exchange);
    } catch (error) {
      audit.responseComplete(exchange, error);
      throw error;
    }
    if (running !== undefined) {
      return follow(exchange, running);
    }
    audit.responseComplete(exchange, undefined);
    return undefined;
  };
}
