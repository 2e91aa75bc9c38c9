import { newPathsNotInstalled } from '../../../apimachinery/meta/errors.js';
import type { ChainConfig, Step } from '../../../endpoints/filters/chain-config.js';
import { withPanicRecovery } from '../../../endpoints/filters/panic-recovery.js';
import { withRequestInfo } from '../../../endpoints/filters/request-info.js';
import { StorageError, type StorageErrorCode } from '../../../storage/errors.js';
import { type Clock, sleep } from '../../../util/clock.js';
import type { Logger } from '../../../util/logger.js';
import { messageOf } from '../../../util/error-message.js';
import { Registry } from 'prom-client';
import { Health, pingCheck, LogCheck } from '../../health/health.js';
import { NonResourceRoutes } from '../../http/non-resource-routes.js';

const RETRY_MILLIS = 500;

/**
 * Opens something that needs the store, and retries while the store does not answer. Logs once when the wait begins and once when
 * it ends. Throws errors that waiting does not fix.
 */
export async function waitForStore<T>(
  open: () => Promise<T>,
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal?: AbortSignal },
): Promise<T> {
  for (let waiting = false; ;) {
    try {
      const opened = await open();
      if (waiting) logger.info('the store is reachable; startup continues');
      return opened;
    } catch (error) {
      if (signal?.aborted === true || !isTemporary(error)) throw error;
      if (!waiting) {
        logger.warn('the store is unreachable; the server stays unready and retries', { error: messageOf(error) });
      }
      waiting = true;
      await sleep(clock, RETRY_MILLIS, signal);
    }
  }
}

const TEMPORARY: ReadonlySet<StorageErrorCode> = new Set(['unavailable', 'initializing', 'unknown-outcome']);

const isTemporary = (error: unknown): boolean => error instanceof StorageError && TEMPORARY.has(error.code);

/**
 * Answers requests before the server can authorize them: health checks normally, and everything else with 503 for every client.
 * Liveness passes, so that a server that waits for its store is not restarted.
 */
export function startupStep(
  config: Pick<ChainConfig, 'clock' | 'logger' | 'metrics' | 'writeStatus' | 'random'> &
    Pick<ChainConfig, 'goawayChance' | 'strictTransportSecurity'>,
): Step {
  const { clock, logger, writeStatus } = config;
  // The metrics of this instance are not exposed; those of the later health checks replace them.
  const health = new Health(clock, logger, new Registry());
  health.add(pingCheck, ['healthz', 'livez', 'readyz']);
  health.add(new LogCheck(logger, clock), ['healthz', 'livez', 'readyz']);
  const notOpen = (): void => {
    throw new Error('the store is not open yet');
  };
  health.add({ name: 'etcd', check: notOpen }, ['healthz', 'readyz']);
  const routes = new NonResourceRoutes();
  health.install(routes);
  const answer: Step = (exchange) => {
    if (routes.has(exchange.path)) return routes.handle(exchange);
    writeStatus(exchange, newPathsNotInstalled());
    return undefined;
  };
  return withPanicRecovery(withRequestInfo(answer, config), config);
}
