import type { Registry } from 'prom-client';
import { objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { ResourceEventHandler } from '../../registry/rest/loopback-client.js';
import { type GaugeVec, metricsOf } from '../../util/metrics/metrics.js';

/** Metrics of the state of all Adoptions, on every replica. */
export class AdoptionMetrics implements ResourceEventHandler {
  private readonly phases: GaugeVec;
  private readonly copied: GaugeVec;
  private readonly source: GaugeVec;
  private readonly lag: GaugeVec;

  constructor(registry: Registry) {
    const { gauge } = metricsOf(registry);
    this.phases = gauge('annex_adoption_phase', '1 for the current phase of the Adoption of a group.', [
      'group',
      'phase',
    ]);
    const ofResource = ['group', 'resource'];
    this.source = gauge('annex_adoption_source_objects', 'Objects of an adopted resource in the cluster.', ofResource);
    this.copied = gauge('annex_adoption_copied_objects', 'Objects of an adopted resource in the copy.', ofResource);
    this.lag = gauge(
      'annex_adoption_lag_seconds',
      'Seconds since the copy of an adopted resource was last known to be complete; 0 while changes are followed.',
      ofResource,
    );
  }

  upsert(adoption: KubeObject): void {
    const group = adoption.metadata.name ?? '';
    this.forget(group);
    const status = objectAt(adoption, 'status');
    const phase = stringAt(status, 'phase') ?? '';
    if (phase !== '') this.phases.withLabelValues(group, phase).value = 1;
    for (const one of objectsOf(status?.['resources'])) {
      const resource = stringAt(one, 'resource') ?? '';
      this.source.withLabelValues(group, resource).value = Number(one['source'] ?? 0);
      this.copied.withLabelValues(group, resource).value = Number(one['copied'] ?? 0);
      this.lag.withLabelValues(group, resource).value = Number(one['lagSeconds'] ?? 0);
    }
  }

  delete(adoption: KubeObject): void {
    this.forget(adoption.metadata.name ?? '');
  }

  reset(): void {
    for (const gauge of this.gauges) gauge.reset();
  }

  private get gauges(): readonly GaugeVec[] {
    return [this.phases, this.copied, this.source, this.lag];
  }

  private forget(group: string): void {
    for (const gauge of this.gauges) gauge.dropWhere((labels) => labels['group'] === group);
  }
}
