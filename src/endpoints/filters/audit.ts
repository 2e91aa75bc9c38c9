import { runFinally } from '../../util/maybe-promise.js';
import { attributesOf } from './access/authorization.js';
import type { ChainConfig, Step } from './chain-config.js';
import type { Exchange } from './exchange.js';
import { isPanic } from './panic-recovery.js';

/** Reports every authenticated request to the audit hook. */
export function withAudit(next: Step, config: ChainConfig): Step {
  const { audit } = config;
  if (audit === undefined) return next;
  const ended = (exchange: Exchange, failure: unknown): void => {
    if (isPanic(failure)) audit.panicked(exchange, failure);
    else audit.responseComplete(exchange, failure);
  };
  return (exchange) => {
    audit.requestReceived(exchange, attributesOf(exchange, config));
    if (exchange.longRunning) audit.responseStarted(exchange);
    return runFinally(
      () => next(exchange),
      (failure) => ended(exchange, failure),
    );
  };
}
