import { Registry } from 'prom-client';
import { ChainMetrics } from '../../endpoints/filters/metrics.js';
import type { ListParameter } from '../../endpoints/handlers/request/list-parameters.js';
import { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import { RuntimeConfig } from '../../registry/generic/store/runtime-config.js';
import type { ComputedKind } from '../../registry/rest/computed.js';
import type { Clock } from '../../util/clock.js';
import { featureGates } from '../../util/feature-gates.js';
import type { Logger } from '../../util/logger.js';
import { metricLifecycles } from '../../util/metrics/metric-lifecycle.js';
import { heapCollections, MemoryGuard, memoryUse } from '../health/memory-guard.js';
import { metricConfiguration } from '../options/metrics-options.js';
import { readTracingConfiguration, type TracingConfiguration } from '../tracing/configuration.js';
import { deprecatedFlagWarnings, type Options } from '../options/options.js';

/** The singletons of a process, in every mode. */
export interface ServerContext {
  readonly options: Options;
  /** The root folder of the program, where its version is read. */
  readonly root: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The registry of the process's metrics. */
  readonly registry: Registry;
  readonly metrics: ChainMetrics;
  readonly memory: MemoryGuard;
  /** Undefined if tracing is disabled. */
  readonly tracing: TracingConfiguration | undefined;
  /** The served types; empty until they are installed. */
  readonly apis: ApiRegistry;
  readonly extensions: Extensions;
}

/** What a server has beyond what Annex comes with. */
export interface Extensions {
  readonly kinds: readonly ComputedKind[];
  readonly listParameters: readonly ListParameter[];
}

const NO_EXTENSIONS: Extensions = { kinds: [], listParameters: [] };

function tracingConfiguration(path: string): TracingConfiguration | undefined {
  if (path === '') return undefined;
  return readTracingConfiguration(path);
}

/** Creates the context that a process starts with. */
export function serverContext(
  options: Options,
  root: string,
  clock: Clock,
  logger: Logger,
  extensions = NO_EXTENSIONS,
): ServerContext {
  const registry = new Registry();
  if (options.deprecationWarnings) {
    for (const warning of [...deprecatedFlagWarnings(options), ...featureGates.warnings]) logger.warn(warning);
  }
  metricLifecycles.configure(metricConfiguration(options));
  const tracing = tracingConfiguration(options.tracingConfigFile);
  const forward = {
    emulation: options.emulationForwardCompatible,
    runtimeConfig: options.runtimeConfigEmulationForwardCompatible,
  };
  const apis = new ApiRegistry(new RuntimeConfig(options.runtimeConfig, forward));
  const memory = new MemoryGuard({ clock, logger, use: memoryUse, collections: heapCollections });
  const metrics = new ChainMetrics(registry);
  return { options, root, clock, logger, registry, metrics, memory, tracing, apis, extensions };
}
