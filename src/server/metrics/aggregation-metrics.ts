import { X509Certificate } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Distrust } from '../../aggregation/trusted-headers.js';
import type { Clock } from '../../util/clock.js';
import type { Logger } from '../../util/logger.js';
import { type CounterVec, type GaugeVec, metricsOf } from '../../util/metrics/metrics.js';
import { AdoptionMetrics } from './adoption-metrics.js';
import { ClusterLinks } from '../health/cluster-links.js';

export interface MetricsContext {
  readonly registry: Registry;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** All metrics that only an aggregated API server has. */
export class AggregationMetrics {
  readonly delegation: DelegationMetrics;
  readonly links: ClusterLinks;
  readonly admission: ClusterAdmissionMetrics;
  readonly adoptions: AdoptionMetrics;

  constructor({ registry, logger, clock }: MetricsContext) {
    this.delegation = new DelegationMetrics(registry);
    this.links = new ClusterLinks(registry, logger, clock);
    this.admission = new ClusterAdmissionMetrics(registry);
    this.adoptions = new AdoptionMetrics(registry);
  }
}

type ReviewOutcome = 'answered' | 'failed';
const CODES: Readonly<Record<ReviewOutcome, string>> = { answered: '201', failed: '<error>' };

/** Metrics of the reviews sent to the cluster, under kube-apiserver's names. */
export class DelegationMetrics {
  private readonly authentications: CounterVec;
  private readonly authorizations: CounterVec;
  private readonly refusals: CounterVec;
  private readonly forgeries: CounterVec;

  constructor(registry: Registry) {
    const { counter } = metricsOf(registry);
    this.authentications = counter(
      'apiserver_delegated_authn_request_total',
      'Number of HTTP requests partitioned by status code.',
      ['code'],
    );
    this.authorizations = counter(
      'apiserver_delegated_authz_request_total',
      'Number of HTTP requests partitioned by status code.',
      ['code'],
    );
    this.refusals = counter(
      'annex_apiservice_refused_total',
      'Group versions not registered because their APIService belongs to another owner.',
    );
    this.forgeries = counter(
      'annex_untrusted_request_headers_total',
      'Requests with front-proxy headers but no valid front-proxy certificate; the headers were ignored.',
      ['reason'],
    );
  }

  tokenReview(outcome: ReviewOutcome): void {
    this.authentications.withLabelValues(CODES[outcome]).inc();
  }

  accessReview(outcome: ReviewOutcome): void {
    this.authorizations.withLabelValues(CODES[outcome]).inc();
  }

  forged(reason: Distrust): void {
    this.forgeries.withLabelValues(reason).inc();
  }

  refused(): void {
    this.refusals.withLabelValues().inc();
  }
}

/** Metrics of the cluster's configurations that admission uses. */
export class ClusterAdmissionMetrics {
  /** The followed configurations; empty until following starts. */
  followed: readonly { readonly resource: string; ageSeconds(): number }[] = [];
  readonly unreadableParams: GaugeVec;

  constructor(registry: Registry) {
    const metrics = metricsOf(registry);
    const help =
      'Seconds since the cluster last confirmed the webhook configurations and policies that admission uses; 0 while the watch is established.';
    const name = 'annex_admission_configuration_age_seconds';
    metrics.gauge(name, help, ['resource'], (gauge) => {
      for (const source of this.followed) gauge.withLabelValues(source.resource).value = source.ageSeconds();
    });
    const unreadable =
      '1 while params of this kind, which a policy in the cluster refers to, cannot be read and failurePolicy applies.';
    const labels = ['kind'];
    this.unreadableParams = metrics.gauge('annex_admission_params_unreadable', unreadable, labels);
  }
}

/** Registers a metric of the expiration of the serving certificate (PEM). */
export function registerExpiryMetric(cert: () => string | Buffer, registry: Registry): void {
  metricsOf(registry).gaugeFunc(
    'annex_serving_certificate_expiration_timestamp_seconds',
    'Expiration time of the serving certificate.',
    () => Date.parse(new X509Certificate(cert()).validTo) / 1000,
  );
}
