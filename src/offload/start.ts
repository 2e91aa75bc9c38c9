import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { effectiveVersion } from '../util/effective-version.js';
import { featureGates } from '../util/feature-gates.js';
import type { Registry } from 'prom-client';
import type { Clock } from '../util/clock.js';
import type { RbacRuleSource } from '../authorization/rbac/types.js';
import type { Logger } from '../util/logger.js';
import type { DeclarativeValidation } from '../registry/builtin/declarative/declared-type.js';
import { offloadableNames } from './builtins.js';
import type { FromWorker } from './messages.js';
import { OffloadPool, type WorkerLink } from './pool.js';
import { poolMetrics } from './pool-metrics.js';

const MOST_WORKERS = 2;
/**
 * The stack of a worker, in MiB; memory is used only as far as a request needs it. Writes and reads of values of 9,990
 * levels pass with it (test/integration/deep-values.test.ts, deep-functions.test.ts).
 */
export const STACK = 256;
/** The heap limit of a worker, in MiB. The largest request takes a fraction of it. */
const HEAP = 768;

export interface OffloadContext {
  /** The root folder of the program. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly report: DeclarativeValidation['report'];
  /** The RBAC rules for the escalation checks of roles; undefined if there are no roles. */
  readonly rules: RbacRuleSource | undefined;
}

/** Creates the pool of worker threads of a process. */
export function startOffload({ clock, logger, registry, root, report, rules }: OffloadContext): OffloadPool {
  const gates = [...featureGates.entries()].map(({ name, enabled }) => `${name}=${enabled}`).join(',');
  const { emulation, minCompatibility } = effectiveVersion;
  const settings: WorkerSettings = { gates, emulation, minCompatibility };
  return new OffloadPool({
    spawn: () => spawn(join(root, 'dist/offload/worker.js'), settings),
    size: Math.max(1, Math.min(MOST_WORKERS, availableParallelism() - 1)),
    clock,
    logger,
    metrics: poolMetrics(registry),
    builtins: offloadableNames(),
    report,
    rules,
  });
}

/** The settings that a worker takes over from the main thread. */
export interface WorkerSettings {
  readonly gates: string;
  readonly emulation: number;
  readonly minCompatibility: number;
}

function spawn(program: string, settings: WorkerSettings): WorkerLink {
  const worker = new Worker(program, {
    workerData: settings,
    // The flags of the process, such as those for profilers, apply to the main thread only.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP, stackSizeMb: STACK },
  });
  // A worker must not keep the process alive.
  worker.unref();
  return {
    post: (message, transfer) => worker.postMessage(message, [...transfer]),
    listen: (received, ended) => {
      let failure: Error | undefined;
      worker.on('message', (message: FromWorker) => received(message));
      worker.on('error', (error) => {
        failure = error;
      });
      worker.on('exit', () => ended(failure));
    },
    terminate: () => void worker.terminate(),
  };
}
