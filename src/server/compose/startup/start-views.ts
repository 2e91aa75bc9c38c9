import { VIEWS } from '../../../registry/builtin/kubeannex/views.js';
import type { ApiRegistry } from '../../../registry/generic/store/api-registry.js';
import type { LoopbackClients } from '../../../registry/rest/loopback-client.js';
import type { Clock } from '../../../util/clock.js';
import type { Logger } from '../../../util/logger.js';
import { ViewController } from '../../../views/view-controller.js';
import type { Options } from '../../options/options.js';
import { errorLogger } from '../controllers.js';

interface ViewsContext {
  readonly options: Options;
  readonly registry: ApiRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Serves the rows of the views. Resolves when the views that exist are served: before that, nothing may be registered with a cluster. */
export const startViews = (
  { options, registry, clock, logger, signal }: ViewsContext,
  clients: LoopbackClients,
): Promise<void> =>
  new ViewController({
    client: clients.for(VIEWS),
    registry,
    clock,
    historyMillis: options.historyWindow,
    onError: errorLogger({ logger }, 'views'),
  }).start(signal);
