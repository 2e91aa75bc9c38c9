import { formatGroupResource } from '../../apimachinery/meta/meta.js';
import { Exchange } from '../../endpoints/filters/exchange.js';
import type { ChainMetrics } from '../../endpoints/filters/metrics.js';
import type { HandlerMetrics } from '../../endpoints/handlers/scope.js';
import type { Registry } from 'prom-client';
import { type MetricSeries, type HistogramSeries, metricsOf, SeriesLookup } from '../../util/metrics/metrics.js';

/** Registers the metrics that only the resource handlers can count, under kube-apiserver's names. */
export function handlerMetrics(chain: ChainMetrics, registry: Registry): HandlerMetrics {
  const { counter, gauge, histogram } = metricsOf(registry);
  const events = counter('apiserver_watch_events_total', 'Number of events sent in watch clients', [
    'group',
    'version',
    'resource',
  ]);
  const sizes = histogram(
    'apiserver_watch_events_sizes',
    'Sizes of the events sent to watch clients, in bytes',
    ['group', 'version', 'resource'],
    Array.from({ length: 8 }, (_, i) => 1024 * 2 ** i),
  );
  const deprecated = gauge('apiserver_requested_deprecated_apis', 'Deprecated APIs that have been requested.', [
    'group',
    'version',
    'resource',
    'subresource',
    'removed_release',
  ]);
  const cells = new SeriesLookup<{ count: MetricSeries; size: HistogramSeries }>();
  return {
    watchStarted: (context) => (context instanceof Exchange ? chain.longRunningStarted(context) : () => undefined),
    requestBodySize(group, resource, verb, bytes) {
      chain.requestBodySize(formatGroupResource({ group, resource }), verb, bytes);
    },
    deprecatedRequested({ group, version, resource, subresource, removedRelease }) {
      deprecated.withLabelValues(group, version, resource, subresource, removedRelease).value = 1;
    },
    watchEvents(group, version, resource, count, bytes) {
      const key = `${group}/${version}/${resource}`;
      let cell = cells.get(key);
      if (cell === undefined) {
        cell = {
          count: events.withLabelValues(group, version, resource),
          size: sizes.withLabelValues(group, version, resource),
        };
        cells.set(key, cell);
      }
      cell.count.inc(count);
      // Events that are sent together have about the same size.
      cell.size.observe(bytes / count, count);
    },
  };
}
