import { SYSTEM_PRIVILEGED_GROUP } from '../../authentication/user/user.js';
import { whenOver } from '../../util/maybe-promise.js';
import type { ChainConfig, Step } from './chain-config.js';
import { writeText } from './status.js';

/** How many requests of a kind may be under way. */
class Budget {
  private used = 0;
  constructor(
    private readonly limit: number,
    private readonly observe: (used: number) => void,
  ) {}

  take(): boolean {
    if (this.limit > 0 && this.used >= this.limit) return false;
    this.observe(++this.used);
    return true;
  }

  give(): void {
    this.observe(--this.used);
  }
}

/** 429 beyond the limits of requests in flight, one for those that change something and one for the others; watches do not count. */
export function withMaxInFlight(next: Step, config: ChainConfig): Step {
  const { metrics } = config;
  const readOnly = new Budget(config.maxRequestsInFlight, (used) => {
    metrics.inFlight('readOnly', used);
  });
  const mutating = new Budget(config.maxMutatingRequestsInFlight, (used) => {
    metrics.inFlight('mutating', used);
  });
  return (exchange) => {
    if (exchange.longRunning) return next(exchange);
    const { verb } = exchange.info;
    const reads = verb === 'get' || verb === 'list';
    const budget = reads ? readOnly : mutating;
    if (!budget.take()) {
      if (exchange.user.groups.includes(SYSTEM_PRIVILEGED_GROUP)) return next(exchange);
      metrics.dropped(reads ? 'readOnly' : 'mutating');
      metrics.terminated(exchange, 429);
      exchange.response.setHeader('Retry-After', '1');
      writeText(exchange.response, 429, 'Too many requests, please try again later.');
      return undefined;
    }
    return whenOver(
      () => next(exchange),
      () => {
        budget.give();
      },
    );
  };
}
