import { messageOf } from '../../util/error-message.js';
import { newBadRequest } from '../../apimachinery/meta/errors.js';
import { first, parseQuery } from '../../request/query.js';
import { parseGoDuration } from '../../go/duration.js';
import type { ChainConfig, Step } from './chain-config.js';
import type { Exchange } from './exchange.js';
import { send } from './status.js';

const TIMEOUT_BODY = `${JSON.stringify({
  metadata: {},
  status: 'Failure',
  message: 'Timeout: request did not complete within the allotted timeout',
  reason: 'Timeout',
  details: {},
  code: 504,
})}\n`;

/** Milliseconds. A shorter timeout expires at once, because no request completes in less. */
const SHORTEST_MILLIS = 0.1;

/** Returns the timeout in the query, limited to the server's maximum. Throws a 400 for a malformed duration. */
function timeoutOf(exchange: Exchange, maximum: number): number {
  if (!exchange.rawQuery.includes('timeout')) return maximum;
  const text = first(parseQuery(exchange.rawQuery), 'timeout');
  if (text === '') return maximum;
  let wanted: number;
  try {
    wanted = parseGoDuration(text);
  } catch (error) {
    const why = messageOf(error);
    throw newBadRequest(`invalid timeout specified in the request URL - ${why}`);
  }
  return wanted > 0 && wanted < maximum ? wanted : maximum;
}

/**
 * Ends requests that exceed their deadline with a 504, or cuts them off if the response has begun. The deadline applies until the
 * client has read the whole response, so a slow reader is cut off too. Long-running requests have no deadline.
 */
export function withDeadline(next: Step, config: ChainConfig): Step {
  const expired = (exchange: Exchange): void => {
    const { response } = exchange;
    // Ignore errors from whatever the handler still writes.
    response.on('error', () => undefined);
    exchange.abort();
    config.metrics.terminated(exchange, 504);
    if (response.headersSent) {
      config.metrics.aborted(exchange);
      exchange.destroy();
    } else send(response, 504, 'text/plain; charset=utf-8', TIMEOUT_BODY);
  };
  return (exchange) => {
    if (!exchange.longRunning) {
      const timeout = timeoutOf(exchange, config.requestTimeout);
      exchange.onExpire = () => expired(exchange);
      if (timeout < SHORTEST_MILLIS) {
        exchange.expire();
        return undefined;
      }
      exchange.deadline = exchange.startedAt + timeout;
      config.wheel.schedule(exchange, exchange.deadline);
    }
    exchange.response.on('close', () => {
      exchange.unschedule();
      if (!exchange.finished) exchange.abort();
    });
    return next(exchange);
  };
}
