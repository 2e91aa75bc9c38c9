import { messageOf } from '../../util/error-message.js';
import { isStackOverflow } from '../../util/stack-overflow.js';
import { ApiError, newBadRequest, toApiError } from '../../apimachinery/meta/errors.js';
import { rescue } from '../../util/maybe-promise.js';
import type { ChainConfig, Step } from './chain-config.js';
import type { Exchange } from './exchange.js';
import { writeText } from './status.js';

/** Reports whether an error can only come from a defect in the program. */
export const isPanic = (error: unknown): boolean =>
  error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;

/** Turns any thrown error into a response: a Status for errors meant for clients, kube-apiserver's text for defects. */
export function withPanicRecovery(next: Step, config: Pick<ChainConfig, 'logger' | 'metrics' | 'writeStatus'>): Step {
  const failed = (exchange: Exchange, error: unknown): void => {
    if (!(error instanceof ApiError)) {
      config.logger.error('request failed', {
        method: exchange.method,
        path: exchange.path,
        auditID: exchange.auditId,
        error: messageOf(error),
        stack: error instanceof Error ? error.stack : undefined,
      });
    }
    if (exchange.timedOut) return;
    if (exchange.response.headersSent) {
      config.metrics.aborted(exchange);
      exchange.destroy();
    } else if (isStackOverflow(error)) {
      config.writeStatus(exchange, newBadRequest('the request or the object is nested too deeply'));
    } else if (isPanic(error)) {
      writeText(exchange.response, 500, 'This request caused apiserver to panic. Look in the logs for details.');
    } else {
      config.writeStatus(exchange, toApiError(error));
    }
  };
  return (exchange) =>
    rescue(
      () => next(exchange),
      (error) => failed(exchange, error),
    );
}
