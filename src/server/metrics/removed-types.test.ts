import { Registry } from 'prom-client';
import type { GroupResource } from '../../apimachinery/meta/meta.js';
import { evaluatorOf } from '../../quota/evaluators.js';
import { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { CounterVec, GaugeVec, HistogramVec, SeriesLookup } from '../../util/metrics/metrics.js';
import { dropRemovedTypes } from './removed-types.js';

const FOOS = { group: 'example.com', resource: 'foos' };
const BARS = { group: 'example.com', resource: 'bars' };
const install = (registry: ApiRegistry, groupResource: GroupResource): void => {
  registry.install({ groupResource, apis: [], groupPriority: 0 });
};

test('a removed type loses its series, lookups, and evaluators, and other types keep theirs', async () => {
  const [registry, clock, metrics] = [new ApiRegistry(), new FakeClock(), new Registry()];
  dropRemovedTypes(registry, [metrics], clock);
  const requests = new CounterVec({ name: 'requests', help: 'h', labels: ['verb', 'group', 'resource'] }, metrics);
  const bodies = new HistogramVec({ name: 'bodies', help: 'h', labels: ['resource'] }, [1], metrics);
  const conversions = new GaugeVec({ name: 'conversions', help: 'h', labels: ['crd_name'] }, metrics);
  const lookup = new SeriesLookup<object>();
  for (const { group, resource } of [FOOS, BARS]) {
    requests.withLabelValues('GET', group, resource).inc();
    requests.withLabelValues('GET', 'other.com', resource).inc();
    bodies.withLabelValues(`${resource}.${group}`).observe(1);
    conversions.withLabelValues(`${resource}.${group}`).inc();
    lookup.set(resource, {});
    install(registry, { group, resource });
  }
  const evaluators = [evaluatorOf(FOOS), evaluatorOf(BARS)];
  registry.remove(FOOS);
  registry.remove(BARS);
  install(registry, BARS);
  expect(lookup.get('foos')).toBeDefined();
  clock.advance(5_000);
  const shown = (await metrics.metrics()).split('\n').filter((line) => line.includes('{'));
  expect(shown.filter((line) => line.includes('foos'))).toEqual([
    'requests{verb="GET",group="other.com",resource="foos"} 1',
  ]);
  expect(shown.filter((line) => line.includes('bars'))).toHaveLength(7);
  expect(lookup.get('foos')).toBeUndefined();
  expect(evaluatorOf(BARS)).toBe(evaluators[1]);
  expect(evaluatorOf(FOOS)).not.toBe(evaluators[0]);
});

test('a full lookup evicts an entry', () => {
  const lookup = new SeriesLookup<number>(2);
  lookup.set('a', 1);
  lookup.set('b', 2);
  lookup.set('c', 3);
  expect([lookup.get('a'), lookup.get('c')]).toEqual([undefined, 3]);
});
