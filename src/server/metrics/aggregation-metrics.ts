import { X509Certificate } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { Clock } from '../../util/clock.js';
import type { Logger } from '../../util/logger.js';
import { metricsOf } from '../../util/metrics/metrics.js';
import { AdoptionMetrics } from './adoption-metrics.js';
import { ClusterAdmissionMetrics } from './cluster-admission-metrics.js';
import { ClusterLinks } from '../health/cluster-links.js';
import { DelegationMetrics } from './delegation-metrics.js';

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

/** Registers a metric of the expiration of the serving certificate (PEM). */
export function registerExpiryMetric(cert: () => string | Buffer, registry: Registry): void {
  metricsOf(registry).gaugeFunc(
    'annex_serving_certificate_expiration_timestamp_seconds',
    'Expiration time of the serving certificate.',
    () => Date.parse(new X509Certificate(cert()).validTo) / 1000,
  );
}
