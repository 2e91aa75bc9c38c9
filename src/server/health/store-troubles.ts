import type { Registry } from 'prom-client';
import type { MongoObserver } from '../../storage/mongodb/backend.js';
import type { Logger } from '../../util/logger.js';
import { messageOf } from '../../util/error-message.js';
import { CellCounter } from '../../util/metrics/metrics.js';

/** Logs and counts what goes wrong with a store in the background, where no request would tell of it. */
export function storeTroubles(registry: Registry, logger: Logger): MongoObserver {
  const streams = new CellCounter(
    {
      name: 'annex_store_change_stream_errors_total',
      help: 'Failures of the change stream of a MongoDB log; the name of the main log is empty.',
      labels: ['log'],
    },
    registry,
  );
  const indexes = new CellCounter(
    {
      name: 'annex_store_index_errors_total',
      help: 'Failed attempts to update the MongoDB indexes of a type.',
      labels: ['resource'],
    },
    registry,
  );
  return {
    streamFailed: (log, error) => {
      streams.cell(log).inc();
      logger.warn('the change stream of MongoDB broke off; it is opened anew', { log, error: messageOf(error) });
    },
    indexFailed: (resource, error) => {
      indexes.cell(resource).inc();
      logger.warn('the MongoDB indexes of a type could not be brought up to date; this is tried again', {
        resource,
        error: messageOf(error),
      });
    },
  };
}
