import { formatGroupResource } from '../apimachinery/meta.js';
import type { ChainMetrics } from '../endpoints/filters/metrics.js';
import type { HandlerMetrics } from '../endpoints/handlers/scope.js';
import type { Registry } from 'prom-client';
import { CellCounter, type Cell } from '../util/metrics.js';

/** The metrics that only the handlers of resources can count, under kube-apiserver's names. */
export function handlerMetrics(chain: ChainMetrics, registry: Registry): HandlerMetrics {
  const events = new CellCounter(
    {
      name: 'apiserver_watch_events_total',
      help: 'Number of events sent in watch clients',
      labels: ['group', 'version', 'resource'],
    },
    registry,
  );
  const cells = new Map<string, Cell>();
  return {
    requestBodySize(group, resource, verb, bytes) {
      chain.requestBodySize(formatGroupResource({ group, resource }), verb, bytes);
    },
    watchEvents(group, version, resource, count) {
      const key = `${group}/${version}/${resource}`;
      let cell = cells.get(key);
      if (cell === undefined) {
        cell = events.cell(group, version, resource);
        cells.set(key, cell);
      }
      cell.inc(count);
    },
  };
}
