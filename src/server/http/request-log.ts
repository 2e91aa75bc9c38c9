import { type Exchange, SLOW_MILLIS } from '../../endpoints/filters/exchange.js';
import type { Clock } from '../../util/clock.js';
import type { Logger } from '../../util/logger.js';
import { MAX_LOGGED, truncated } from '../../util/text/truncated.js';

/** The verbosity at which every request is logged. */
const EVERY_REQUEST = 3;
/** The maximum number of lines about slow requests per second: when everything is slow, the log must not make it slower. */
const MAX_SLOW_LINES = 10;
const WINDOW_MILLIS = 1000;

/** Logs requests when their handlers have finished: all of them at `-v=3`, slow ones always, with the time that each phase took. */
export class RequestLog {
  private windowBegan = -Infinity;
  private slowLines = 0;
  private omitted = 0;

  constructor(
    private readonly logger: Logger,
    private readonly clock: Pick<Clock, 'monotonic'>,
  ) {}

  /** Logs a request, `millis` milliseconds after it arrived. */
  completed(exchange: Exchange, millis: number): void {
    if (this.logger.enabled(EVERY_REQUEST)) this.logger.v(EVERY_REQUEST, 'HTTP', about(exchange, millis));
    if (millis > SLOW_MILLIS && !exchange.longRunning) this.slow(exchange, millis);
  }

  private slow(exchange: Exchange, millis: number): void {
    const now = this.clock.monotonic();
    if (now - this.windowBegan >= WINDOW_MILLIS) {
      this.windowBegan = now;
      this.slowLines = 0;
    }
    if (++this.slowLines > MAX_SLOW_LINES) {
      this.omitted++;
      return;
    }
    const phases: Record<string, number> = {};
    for (const [name, spent] of exchange.phases()) if (spent >= 1) phases[name] = Math.round(spent);
    const omitted = this.omitted === 0 ? undefined : this.omitted;
    this.omitted = 0;
    this.logger.info('slow request', { ...about(exchange, millis), phasesMillis: phases, omittedLines: omitted });
  }
}

/** Returns the fields to log about a request. The query is left out because clients put tokens there. */
function about(exchange: Exchange, millis: number): Record<string, unknown> {
  const { auditId } = exchange;
  return {
    verb: truncated(exchange.info.verb, MAX_LOGGED.method),
    URI: truncated(exchange.path, MAX_LOGGED.uri),
    latency: `${millis.toFixed(3)}ms`,
    userAgent: truncated(exchange.userAgent, MAX_LOGGED.userAgent),
    'audit-ID': truncated(auditId, MAX_LOGGED.auditId),
    srcIP: exchange.socket?.remoteAddress,
    resp: exchange.response.statusCode,
  };
}
