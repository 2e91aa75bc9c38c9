import type { Registry } from 'prom-client';
import { type GaugeVec, metricsOf } from '../../util/metrics/metrics.js';

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
