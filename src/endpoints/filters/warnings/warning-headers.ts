import type { ChainConfig, Step } from '../chain-config.js';

/**
 * From here on stages and handlers may warn the client; the recorder itself is made by the first warning. It stands outside
 * authentication, which warns about ignored credentials.
 */
export function withWarnings(next: Step, _config: ChainConfig): Step {
  return (exchange) => {
    exchange.warningsEnabled = true;
    return next(exchange);
  };
}
