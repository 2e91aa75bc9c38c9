import { isLongRunning, newRequestInfo, RequestInfoError } from '../../request/request-info-factory.js';
import type { ChainConfig, Step } from './chain-config.js';
import { escapeHtml } from '../../authorization/authorizer/forbidden.js';
import { writeText } from './status.js';
import { quote } from '../../apimachinery/meta/meta.js';

/** Resolves the request info, and sets the headers that all responses have from here on. */
export function withRequestInfo(
  next: Step,
  config: Pick<ChainConfig, 'goawayChance' | 'random' | 'strictTransportSecurity'>,
): Step {
  const { goawayChance, random, strictTransportSecurity } = config;
  return (exchange) => {
    try {
      exchange.info = newRequestInfo(exchange.method, exchange.path, exchange.rawQuery);
    } catch (error) {
      if (!(error instanceof RequestInfoError)) throw error;
      const text = `Internal Server Error: ${quote(exchange.request.url ?? '')}: failed to create RequestInfo: ${error.message}`;
      writeText(exchange.response, 500, escapeHtml(text));
      return undefined;
    }
    exchange.longRunning = isLongRunning(exchange.info);
    exchange.response.setHeader('Cache-Control', 'no-cache, private');
    if (strictTransportSecurity !== '') {
      exchange.response.setHeader('Strict-Transport-Security', strictTransportSecurity);
    }
    if (goawayChance > 0 && exchange.connection.http2 && random() < goawayChance) exchange.connection.retire();
    return next(exchange);
  };
}
