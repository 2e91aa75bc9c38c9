import { messageOf } from '../../util/error-message.js';
import type { HttpResponse } from '../../endpoints/http.js';
import type { NonResourceRoutes } from '../http/non-resource-routes.js';
import { send, writeText } from '../../endpoints/filters/status.js';
import { Exchange } from '../../endpoints/filters/exchange.js';
import { quote } from '../../apimachinery/meta/meta.js';
import { type Query, parseQuery } from '../../request/query.js';
import type { Clock } from '../../util/clock.js';
import type { Logger } from '../../util/logger.js';
import { type CounterVec, type GaugeVec, metricsOf, metricsRegistry } from '../../util/metrics/metrics.js';
import type { Registry } from 'prom-client';
import { type MaybePromise } from '../../util/maybe-promise.js';

/** A named health check. */
export interface HealthCheck {
  readonly name: string;
  /** Throws or rejects with the reason if the check fails. The reason is logged, and also returned to clients that request this single check. */
  check(): MaybePromise<void>;
}

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz';

const queryOf = (context: unknown): Query => parseQuery(context instanceof Exchange ? context.rawQuery : '');

const quoted = (names: Iterable<string>): string => [...names].sort().map(quote).join(',');

function writeOk(response: HttpResponse, body: string): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  send(response, 200, 'text/plain; charset=utf-8', body);
}

/** The three health endpoints, each with its own list of checks, in the order in which they were added. */
export class Health {
  private readonly checks: Record<HealthEndpoint, HealthCheck[]> = { healthz: [], livez: [], readyz: [] };
  /** Checks that are only evaluated: they have a metric and a path, but do not count for the endpoint. */
  private readonly reported: Record<HealthEndpoint, HealthCheck[]> = { healthz: [], livez: [], readyz: [] };
  private readonly total: CounterVec;
  private readonly gauge: GaugeVec;

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
    registry: Registry = metricsRegistry,
  ) {
    const { counter, gauge } = metricsOf(registry);
    const labels = ['name', 'type'];
    this.gauge = gauge('kubernetes_healthcheck', 'Result of a health check.', labels);
    this.total = counter('kubernetes_healthchecks_total', 'Results of health checks.', [...labels, 'status']);
  }

  /** Adds a check to endpoints. For `livezGrace` milliseconds from now, livez treats it as passing. */
  add(check: HealthCheck, endpoints: readonly HealthEndpoint[], livezGrace = 0): void {
    const until = this.clock.monotonic() + livezGrace;
    for (const endpoint of endpoints) {
      const delayed =
        endpoint === 'livez' && livezGrace > 0
          ? { name: check.name, check: () => (this.clock.monotonic() < until ? undefined : check.check()) }
          : check;
      this.checks[endpoint].push(delayed);
    }
  }

  /** Adds a check that does not count for the endpoints. */
  report(check: HealthCheck, endpoints: readonly HealthEndpoint[]): void {
    for (const endpoint of endpoints) this.reported[endpoint].push(check);
  }

  /** Registers the endpoints. Call it once, after all checks have been added. */
  install(routes: Pick<NonResourceRoutes, 'register'>): void {
    for (const endpoint of ['healthz', 'livez', 'readyz'] as const) {
      const checks = this.checks[endpoint];
      routes.register(`/${endpoint}`, (context, _request, response) =>
        this.answer(endpoint, checks, queryOf(context), response),
      );
      for (const check of [...checks, ...this.reported[endpoint]]) {
        routes.register(`/${endpoint}/${check.name}`, async (_context, _request, response) => {
          const failure = await failureOf(check);
          if (failure === undefined) send(response, 200, 'text/plain; charset=utf-8', 'ok');
          else writeText(response, 500, `internal server error: ${failure}`);
        });
      }
    }
  }

  private async answer(
    endpoint: HealthEndpoint,
    checks: readonly HealthCheck[],
    query: Query,
    response: HttpResponse,
  ): Promise<void> {
    const excluded = new Set(query.get('exclude') ?? []);
    const unknown = new Set(excluded);
    for (const check of this.reported[endpoint]) {
      unknown.delete(check.name);
      this.record(check.name, endpoint, (await failureOf(check)) === undefined);
    }
    const failed: string[] = [];
    const reasons: string[] = [];
    let lines = '';
    for (const check of checks) {
      const { name } = check;
      if (excluded.has(name)) {
        unknown.delete(name);
        lines += `[+]${name} excluded: ok\n`;
        continue;
      }
      const failure = await failureOf(check);
      this.record(name, endpoint, failure === undefined);
      if (failure === undefined) lines += `[+]${name} ok\n`;
      else {
        failed.push(name);
        reasons.push(`[-]${name} failed: ${failure}`);
        // The endpoint is public; the reason is in the log.
        lines += `[-]${name} failed: reason withheld\n`;
      }
    }
    if (unknown.size > 0) {
      lines += `warn: some health checks cannot be excluded: no matches for ${quoted(unknown)}\n`;
    }
    if (failed.length > 0) {
      this.logger.v(2, `${failed.join(',')} check failed: ${endpoint}`, { reasons });
      writeText(response, 500, `${lines}${endpoint} check failed`);
    } else writeOk(response, query.has('verbose') ? `${lines}${endpoint} check passed\n` : 'ok');
  }

  private record(name: string, type: HealthEndpoint, ok: boolean): void {
    this.gauge.withLabelValues(name, type).value = ok ? 1 : 0;
    this.total.withLabelValues(name, type, ok ? 'success' : 'error').inc();
  }
}

async function failureOf(check: HealthCheck): Promise<string | undefined> {
  try {
    await check.check();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export const pingCheck: HealthCheck = { name: 'ping', check: () => undefined };

const LOG_FLUSH_MILLIS = 60_000;
const LOG_STUCK_MILLIS = 120_000;

/** Passes while the log can be flushed. After the first check the log is flushed every minute. */
export class LogCheck implements HealthCheck {
  readonly name = 'log';
  private verifiedAt: number | undefined;

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  check(): void {
    const now = this.clock.monotonic();
    if (this.verifiedAt === undefined) {
      this.verifiedAt = now;
      this.flush();
    }
    if (now - this.verifiedAt >= LOG_STUCK_MILLIS) throw new Error('logging blocked');
  }

  private flush(): void {
    const again = (): void => {
      this.clock.setTimer(LOG_FLUSH_MILLIS, () => this.flush());
    };
    this.logger.flush().then(
      () => {
        this.verifiedAt = this.clock.monotonic();
        again();
      },
      () => again(),
    );
  }
}

/** A hook that must finish before the server is ready; its check passes once it has. */
export class PostStartHook implements HealthCheck {
  readonly name: string;
  private state: 'pending' | 'done' | 'failed' = 'pending';

  constructor(
    name: string,
    private readonly run: () => MaybePromise<void>,
  ) {
    this.name = `poststarthook/${name}`;
  }

  async start(): Promise<void> {
    try {
      await this.run();
      this.state = 'done';
    } catch (error) {
      this.state = 'failed';
      throw error;
    }
  }

  check(): void {
    if (this.state === 'pending') throw new Error('not finished');
    if (this.state === 'failed') throw new Error('failed');
  }
}

/** Fails once the process has received a signal to stop. */
export class ShutdownCheck implements HealthCheck {
  readonly name = 'shutdown';
  private stopping = false;

  begin(): void {
    this.stopping = true;
  }

  check(): void {
    if (this.stopping) throw new Error('process is shutting down');
  }
}
