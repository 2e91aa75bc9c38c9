import type { Registry } from 'prom-client';
import type { AuthorizationResult } from '../../authorization/authorizer/interfaces.js';
import type { RequestInfo } from '../../request/request-info.js';
import { parseQuery } from '../../request/query.js';
import {
  type CounterVec,
  type GaugeVec,
  type HistogramSeries,
  type HistogramVec,
  type MetricSeries,
  metricsOf,
  metricsRegistry,
  SeriesLookup,
} from '../../util/metrics/metrics.js';
import { turns } from '../../scheduling/turns.js';
import { bodyBytes } from '../responsewriters/body.js';
import type { Exchange } from './exchange.js';
import type { RejectReason } from '../../scheduling/fair-queue.js';

const COMPONENT = 'apiserver';
const SERIES = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'];
const DURATIONS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const SLI = DURATIONS.slice(2);
/** Buckets of authentication and authorization durations, in seconds. */
const DECISION_DURATIONS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i);
const SIZES = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const CONNECT = new Set(['proxy', 'attach', 'exec', 'portforward']);
const METHODS = new Set([
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'LIST',
  'WATCH',
  'APPLY',
  'CONNECT',
  'OPTIONS',
  'HEAD',
]);
/** kube-apiserver's buckets of queue wait durations, in seconds. */
const QUEUE_WAITS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
/** The name of the only flow schema, in which each user is a flow. */
const FLOWS = 'users';

/** The kinds of requests, each with a limit of its own. */
const KINDS = ['readOnly', 'mutating'] as const;
type Kind = (typeof KINDS)[number];

interface QueueState {
  readonly running: number;
  readonly queued: number;
}

/** The maximum number of series that are found without building label lists; bounded, because keys contain client input. */
const MAX_SERIES = 10_000;

interface Series {
  readonly total: MetricSeries;
  readonly duration: HistogramSeries;
  readonly sli: HistogramSeries | undefined;
  readonly size: HistogramSeries | undefined;
}

/** Returns the scope label: `resource`, `namespace`, `cluster`, or empty outside resources. */
export function scopeOf(info: RequestInfo): string {
  if (info.name !== '' || info.verb === 'create') return 'resource';
  if (info.namespace !== '') return 'namespace';
  return info.isResourceRequest ? 'cluster' : '';
}

function verbOf(exchange: Exchange, scope: string): string {
  const { info, method } = exchange;
  if (info.isResourceRequest && CONNECT.has(info.subresource)) return 'CONNECT';
  switch (info.verb) {
    case 'watch':
      return 'WATCH';
    case 'list':
      return 'LIST';
    case 'patch':
      return exchange.headers['content-type'] === 'application/apply-patch+yaml' ? 'APPLY' : 'PATCH';
    default:
      if (method === 'GET' || method === 'HEAD') return scope !== 'resource' && scope !== '' ? 'LIST' : 'GET';
      return METHODS.has(method) ? method : 'other';
  }
}

function dryRunOf(rawQuery: string): string {
  if (!rawQuery.includes('dryRun')) return '';
  const [value = '', ...others] = new Set(parseQuery(rawQuery).get('dryRun') ?? []);
  return others.length === 0 && (value === 'All' || value === '') ? value : 'invalid';
}

/** The metrics of the handler chain, under kube-apiserver's names. */
export class ChainMetrics {
  private readonly requests: CounterVec;
  private readonly durations: HistogramVec;
  private readonly slis: HistogramVec;
  private readonly longRunning: GaugeVec;
  private readonly terminations: CounterVec;
  private readonly aborts: CounterVec;
  private readonly droppedTotal: CounterVec;
  private readonly attempts: CounterVec;
  private readonly authenticatedUsers: CounterVec;
  private readonly authorizations: CounterVec;
  private readonly authenticationDurations: HistogramVec;
  private readonly authorizationDurations: HistogramVec;
  private readonly impersonations: CounterVec;
  private readonly responseSizes: HistogramVec;
  private readonly bodySizes: HistogramVec;
  private readonly handshakes: CounterVec;
  private readonly connections: CounterVec;
  private readonly rejections: CounterVec;
  private readonly waits: HistogramVec;
  private mostWatches = (): number => 0;
  private queues: (() => Readonly<Record<Kind, QueueState>>) | undefined;
  private readonly series = new SeriesLookup<Series>(MAX_SERIES);
  private readonly high = { readOnly: 0, mutating: 0 };
  private readonly now = { readOnly: 0, mutating: 0 };

  // eslint-disable-next-line max-lines-per-function -- a table of metrics
  constructor(registry: Registry = metricsRegistry) {
    const { counter, gauge, histogram } = metricsOf(registry);
    const dry = ['verb', 'dry_run', ...SERIES.slice(1)];
    this.requests = counter('apiserver_request_total', 'Requests by verb, resource and status code.', [...dry, 'code']);
    this.durations = histogram('apiserver_request_duration_seconds', 'Response latency in seconds.', dry, DURATIONS);
    this.slis = histogram(
      'apiserver_request_sli_duration_seconds',
      'Response latency in seconds, excluding time spent in webhooks.',
      SERIES,
      SLI,
    );
    this.responseSizes = histogram('apiserver_response_sizes', 'Response sizes of reads in bytes.', SERIES, SIZES);
    this.bodySizes = histogram(
      'apiserver_request_body_size_bytes',
      'Request body size in bytes.',
      ['resource', 'verb'],
      bodyBounds(),
    );
    this.longRunning = gauge(
      'apiserver_longrunning_requests',
      'Watches and other long-running requests in progress.',
      SERIES,
    );
    this.terminations = counter('apiserver_request_terminations_total', 'Requests terminated to protect the server.', [
      ...SERIES,
      'code',
    ]);
    this.aborts = counter(
      'apiserver_request_aborts_total',
      'Requests aborted after the response had started.',
      SERIES.slice(0, 6),
    );
    this.droppedTotal = counter('apiserver_dropped_requests_total', 'Requests rejected with 429.', ['request_kind']);
    this.attempts = counter('authentication_attempts', 'Authentication attempts by result.', ['result']);
    this.authenticatedUsers = counter('authenticated_user_requests', 'Authenticated requests by user.', ['username']);
    this.authorizations = counter('authorization_attempts_total', 'Authorization decisions by result.', ['result']);
    const decisionDurations = (what: string): HistogramVec =>
      histogram(
        `${what.toLowerCase()}_duration_seconds`,
        `${what} duration in seconds broken out by result.`,
        ['result'],
        DECISION_DURATIONS,
      );
    this.authenticationDurations = decisionDurations('Authentication');
    this.authorizationDurations = decisionDurations('Authorization');
    this.impersonations = counter(
      'apiserver_impersonation_attempts_total',
      'Impersonation attempts by mode and decision.',
      ['mode', 'decision'],
    );
    this.handshakes = counter('apiserver_tls_handshake_errors_total', 'Failed TLS handshakes.', []);
    this.handshakes.withLabelValues();
    this.connections = counter(
      'annex_http2_connection_errors_total',
      'HTTP/2 connections closed because of invalid frames from the client or replies that it did not read, by error code.',
      ['code'],
    );
    this.rejections = counter(
      'apiserver_flowcontrol_rejected_requests_total',
      'Requests rejected by the per-user queues.',
      ['priority_level', 'flow_schema', 'reason'],
    );
    this.waits = histogram(
      'apiserver_flowcontrol_request_wait_duration_seconds',
      'Time in seconds that requests waited in the per-user queues.',
      ['priority_level', 'flow_schema', 'execute'],
      QUEUE_WAITS,
    );
    this.registerInFlight(registry);
    this.registerQueues(registry);
  }

  private registerInFlight(registry: Registry): void {
    const name = 'apiserver_current_inflight_requests';
    const help = 'Maximum number of requests in flight since the last scrape.';
    metricsOf(registry).gauge(name, help, ['request_kind'], (metric) => {
      for (const kind of KINDS) {
        metric.withLabelValues(kind).value = this.high[kind];
        this.high[kind] = this.now[kind];
      }
    });
  }

  private registerQueues(registry: Registry): void {
    const labels = ['priority_level', 'flow_schema'];
    const { gauge, gaugeFunc } = metricsOf(registry);
    const ofQueues = (name: string, help: string, value: (queue: QueueState) => number): void => {
      gauge(name, help, labels, (metric) => {
        const queues = this.queues?.();
        if (queues === undefined) return;
        for (const kind of KINDS) metric.withLabelValues(kind, FLOWS).value = value(queues[kind]);
      });
    };
    ofQueues(
      'apiserver_flowcontrol_current_inqueue_requests',
      'Requests waiting in the per-user queues.',
      ({ queued }) => queued,
    );
    ofQueues(
      'apiserver_flowcontrol_current_executing_requests',
      'Requests currently executing, excluding those of system:masters.',
      ({ running }) => running,
    );
    const watches = 'Watches of the user who has most, as --max-watches-per-user counts them.';
    gaugeFunc('annex_user_watches_max', watches, () => this.mostWatches());
    gaugeFunc('annex_waiting_turns', 'Collection reads waiting for a turn of the event loop.', () => turns.waiting);
  }

  /** Sets the queues that the gauges report. */
  setQueues(queues: () => Readonly<Record<Kind, QueueState>>): void {
    this.queues = queues;
  }

  setMostWatches(most: () => number): void {
    this.mostWatches = most;
  }

  /** Records how long a request waited in the queue of its user. */
  queued(kind: Kind, executed: boolean, millis: number): void {
    this.waits.withLabelValues(kind, FLOWS, String(executed)).observe(millis / 1000);
  }

  rejected(kind: Kind, reason: RejectReason): void {
    this.rejections.withLabelValues(kind, FLOWS, reason).inc();
  }

  handshakeFailed(): void {
    this.handshakes.withLabelValues().inc();
  }

  /** Records that an HTTP/2 connection ended with this error code, by its name in RFC 9113. */
  connectionFailed(code: string): void {
    this.connections.withLabelValues(code).inc();
  }

  inFlight(kind: Kind, used: number): void {
    this.now[kind] = used;
    if (used > this.high[kind]) this.high[kind] = used;
  }

  dropped(kind: Kind): void {
    this.droppedTotal.withLabelValues(kind).inc();
  }

  /** Records the start of a long-running request. Call the returned function when it ends. */
  longRunningStarted(exchange: Exchange): () => void {
    const cell = this.longRunning.withLabelValues(...this.labels(exchange));
    cell.inc();
    return () => cell.dec();
  }

  /** Records a completed request; `millis` is the time since it arrived. */
  completed(exchange: Exchange, millis: number): void {
    const { info, response } = exchange;
    const scope = scopeOf(info);
    const verb = verbOf(exchange, scope);
    const dryRun = dryRunOf(exchange.rawQuery);
    const code = response.statusCode;
    const about = info.isResourceRequest
      ? `${info.apiGroup}/${info.apiVersion}/${info.resource}/${info.subresource}`
      : knownPath(info.path);
    const key = `${exchange.served} ${verb} ${dryRun} ${about} ${scope} ${code}`;
    let series = this.series.get(key);
    if (series === undefined) {
      const labels = this.labels(exchange, scope, verb);
      const dry = [verb, dryRun, ...labels.slice(1)];
      series = {
        total: this.requests.withLabelValues(...dry, String(code)),
        duration: this.durations.withLabelValues(...dry),
        sli: dryRun === '' ? this.slis.withLabelValues(...labels) : undefined,
        // Response sizes are recorded for reads only.
        size: verb === 'GET' || verb === 'LIST' ? this.responseSizes.withLabelValues(...labels) : undefined,
      };
      this.series.set(key, series);
    }
    series.total.inc();
    series.duration.observe(millis / 1000);
    const { span } = exchange;
    if (span?.sampled === true)
      series.duration.keepExemplar(millis / 1000, span.traceId, span.spanId, exchange.receivedAt);
    const ownMillis = millis - exchange.mutatingWebhookMillis - exchange.validatingWebhookMillis;
    series.sli?.observe(Math.max(0, ownMillis) / 1000);
    series.size?.observe(bodyBytes(response));
  }

  requestBodySize(resource: string, verb: string, bytes: number): void {
    this.bodySizes.withLabelValues(resource, verb).observe(bytes);
  }

  terminated(exchange: Exchange, code: number): void {
    this.terminations.withLabelValues(...this.labels(exchange), String(code)).inc();
  }

  aborted(exchange: Exchange): void {
    this.aborts.withLabelValues(...this.labels(exchange).slice(0, 6)).inc();
  }

  authenticated(exchange: Exchange, result: 'success' | 'failure' | 'error'): void {
    this.attempts.withLabelValues(result).inc();
    this.authenticationDurations.withLabelValues(result).observe(exchange.authenticationMillis / 1000);
    if (result === 'success') this.authenticatedUsers.withLabelValues(compressUser(exchange.user.name)).inc();
  }

  authorized(result: AuthorizationResult, millis: number): void {
    const { decision, error } = result;
    const shown =
      decision === 'allow' ? 'allowed' : error !== undefined ? 'error' : decision === 'deny' ? 'denied' : 'no-opinion';
    this.authorizations.withLabelValues(shown).inc();
    this.authorizationDurations.withLabelValues(shown).observe(millis / 1000);
  }

  impersonated(mode: string, decision: 'allowed' | 'denied'): void {
    this.impersonations.withLabelValues(mode, decision).inc();
  }

  /** Returns the labels of a request. Resources that are not served are not named, or clients could create series at will. */
  private labels(exchange: Exchange, scope = scopeOf(exchange.info), verb = verbOf(exchange, scope)): string[] {
    const { info } = exchange;
    if (!exchange.served)
      return [verb, '', '', '', info.isResourceRequest ? '' : knownPath(info.path), scope, COMPONENT];
    return [verb, info.apiGroup, info.apiVersion, info.resource, info.subresource, scope, COMPONENT];
  }
}

function bodyBounds(): number[] {
  return Array.from({ length: 30 }, (_, i) => 50_000 + i * 100_000);
}

const INTERNAL = new Set(['admin', 'client', 'kube_proxy', 'kubelet', 'system:serviceaccount:kube-system:default']);

/** Returns the label of a user. Only a few users have series of their own. */
function compressUser(name: string): string {
  if (INTERNAL.has(name)) return name;
  return name.includes('@') ? 'email_id' : 'other';
}

const KNOWN = /^\/(?:healthz|livez|readyz|metrics|version|openapi\/v[23])$/;
const knownPath = (path: string): string => (KNOWN.test(path) ? path : '');
