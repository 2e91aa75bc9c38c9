import type { ChainConfig, Step } from '../chain-config.js';

/**
 * Lets the following stages and handlers warn the client; the first warning creates the recorder. It precedes authentication,
 * which warns about ignored credentials.
 */
export function withWarnings(next: Step, _config: ChainConfig): Step {
  return (exchange) => {
    exchange.warningsEnabled = true;
    return next(exchange);
  };
}
