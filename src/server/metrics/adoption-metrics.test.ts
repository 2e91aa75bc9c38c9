import { Registry } from 'prom-client';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { AdoptionMetrics } from './adoption-metrics.js';

const adoption = (phase: string, copied: number): KubeObject => ({
  metadata: { name: 'example.com' },
  status: { phase, resources: [{ resource: 'widgets', source: 5, copied, lagSeconds: 2 }] },
});

test('each group has one phase, and no series once its Adoption is deleted', async () => {
  const registry = new Registry();
  const metrics = new AdoptionMetrics(registry);
  const shown = async (): Promise<string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('annex_'));
  metrics.upsert({ metadata: { name: 'new.example.com' } });
  expect(await shown()).toEqual([]);
  metrics.upsert(adoption('Copying', 1));
  metrics.upsert(adoption('InSync', 5));
  expect(await shown()).toEqual([
    'annex_adoption_phase{group="example.com",phase="InSync"} 1',
    'annex_adoption_source_objects{group="example.com",resource="widgets"} 5',
    'annex_adoption_copied_objects{group="example.com",resource="widgets"} 5',
    'annex_adoption_lag_seconds{group="example.com",resource="widgets"} 2',
  ]);
  metrics.delete(adoption('InSync', 5));
  expect(await shown()).toEqual([]);
  metrics.upsert(adoption('Served', 5));
  metrics.reset();
  expect(await shown()).toEqual([]);
});
