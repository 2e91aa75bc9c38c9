import { Registry } from 'prom-client';
import { loadProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { RequestAuthenticator } from '../../authentication/authenticator/interfaces.js';
import type { ChainConfig } from '../../endpoints/filters/chain-config.js';
import { send } from '../../endpoints/filters/status.js';
import type { Handler } from '../../endpoints/http.js';
import { type Clock, sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { featureGates } from '../../util/feature-gates.js';
import type { Logger } from '../../util/logger.js';
import { metricLifecycles } from '../../util/metrics/metric-lifecycle.js';
import { registerProcessMetrics } from '../metrics/process-metrics.js';
import { metricsRegistry, resetCounts, exposedMetrics } from '../../util/metrics/metrics.js';
import { acceptsOpenMetrics, openMetrics } from '../../util/metrics/open-metrics.js';
import { loadPatterns } from '@annex/cel/re2';
import { turns } from '../../scheduling/turns.js';
import { TimerWheel } from '../../util/timer-wheel.js';
import { ApiServer } from '../http/api-server.js';
import type { NonResourceRoutes } from '../http/non-resource-routes.js';
import type { TlsMaterial } from '../http/tls-material.js';
import { isAggregated } from '../options/aggregation-options.js';
import { makeAudit } from './access/audit.js';
import { selectorsOf } from './access/authorization.js';
import { startTracing, tracedHandler } from '../tracing/start.js';
import { StartError } from '../certificates/data-directory.js';
import { Health, LogCheck, pingCheck, PostStartHook, ShutdownCheck } from '../health/health.js';
import type { Options } from '../options/options.js';
import type { ControlPlane, Hook } from './plane.js';
import type { ServerContext } from './server-context.js';
import { registerDocument } from '../http/routed-document.js';
import { startupStep } from './startup/startup.js';
import { statusWriter } from './startup/status-writer.js';
import { annexVersion, versionInfo } from '../http/documents/version.js';
import { memoryAtRest } from '../health/memory-at-rest.js';
import { installZPages } from '../health/zpages.js';

const DRAIN_MILLIS = 60_000;
/** An aggregated server must exit within the 30 s grace period of its pod, of which closing the store takes up to 6 s. */
const EXTENSION_STOP_MILLIS = 23_000;
const MIN_DRAIN_MILLIS = 2_000;

/** Returns how long to wait for in-flight requests, in milliseconds, once the shutdown delay is over. */
export function drainMillis(options: Options): number {
  if (!isAggregated(options)) return Math.max(DRAIN_MILLIS, options.requestTimeout);
  return Math.max(MIN_DRAIN_MILLIS, EXTENSION_STOP_MILLIS - options.shutdownDelayDuration);
}

function installCommon(
  routes: NonResourceRoutes,
  { options, clock, registry, tracing }: ServerContext,
  version: string,
  slis: Registry,
): void {
  installZPages(routes, { clock, gates: featureGates, options });
  const info = JSON.stringify(versionInfo(version), undefined, 2);
  registerDocument(routes, '/version', 'application/json', (_context, _request, response) =>
    send(response, 200, 'application/json', info),
  );
  const startedAt = Math.floor(clock.now() / 1000);
  const metrics = (registries: readonly Registry[]): Handler =>
    metricsHandler(registries, startedAt, tracing !== undefined);
  routes.register('/metrics', metrics([metricsRegistry, registry, slis]));
  routes.register('/metrics/slis', metrics([slis]));
}

/** Serves metrics. DELETE resets the counts. */
const metricsHandler =
  (registries: readonly Registry[], startedAt: number, hasExemplars: boolean): Handler =>
  async (_context, request, response) => {
    if (request.method === 'DELETE') {
      registries.forEach(resetCounts);
      send(response, 200, 'text/plain; charset=utf-8', 'metrics reset\n');
      return;
    }
    // Merge again on each request, to include metrics registered after this handler.
    const all = exposedMetrics(registries);
    response.setHeader('Process-Start-Time-Unix', startedAt);
    if (hasExemplars && acceptsOpenMetrics(request.headers.accept)) {
      const { contentType, text } = await openMetrics(all);
      send(response, 200, `${contentType}; escaping=underscores`, text);
      return;
    }
    send(response, 200, `${all.contentType}; escaping=underscores`, await all.metrics());
  };

function installHealth(
  routes: NonResourceRoutes,
  plane: ControlPlane,
  hooks: readonly PostStartHook[],
  shutdown: ShutdownCheck,
  context: { clock: Clock; logger: Logger; registry: Registry; livezGrace: number; aggregated: boolean },
): void {
  const health = new Health(context.clock, context.logger, context.registry);
  const always = ['healthz', 'livez', 'readyz'] as const;
  health.add(pingCheck, always);
  health.add(new LogCheck(context.logger, context.clock), always);
  for (const check of plane.checks) {
    health.add(check, check.endpoints);
    health.report(check, check.reportedBy ?? []);
  }
  // In aggregated mode a restart would not help while the store is unavailable.
  const started = context.aggregated ? (['healthz', 'readyz'] as const) : always;
  for (const hook of hooks) health.add(hook, started, context.livezGrace);
  health.add(
    {
      name: 'autoregister-completion',
      check: () => {
        for (const hook of hooks) hook.check();
      },
    },
    started,
    context.livezGrace,
  );
  health.add(shutdown, ['readyz']);
  health.install(routes);
}

function listenError(error: unknown, options: Options): StartError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const where = `${options.bindAddress} port ${options.securePort}`;
  if (code === 'EADDRINUSE')
    return new StartError(`--secure-port: ${where} is in use by another process; stop it, or choose another port`);
  if (code === 'EACCES') return new StartError(`--secure-port: not permitted to listen on ${where}`);
  if (code === 'EADDRNOTAVAIL')
    return new StartError(`--bind-address: ${options.bindAddress} is not an address of this host`);
  return new StartError(`cannot listen on ${where}: ${messageOf(error)}`);
}

/** An open port. It answers health checks, and 503 to everything else, until requests can be served. */
export interface Listener {
  readonly server: ApiServer;
  readonly port: number;
}

/** Opens the secure port. Throws StartError if that fails. */
export async function listen(context: ServerContext, tls: TlsMaterial): Promise<Listener> {
  const { options, clock, logger, metrics } = context;
  const writeStatus = statusWriter({ features: featureGates, protobuf: loadProtobufCodec() }, logger);
  const server = new ApiServer({
    tls,
    http2MaxStreamsPerConnection: options.http2MaxStreams === 0 ? 250 : options.http2MaxStreams,
    clock,
    logger,
    metrics,
    startupStep: startupStep({ clock, logger, metrics, writeStatus, ...headerOptions(options) }),
  });
  try {
    const { port } = await server.listen(options.securePort, options.bindAddress);
    return { server, port };
  } catch (error) {
    throw listenError(error, options);
  }
}

const headerOptions = (options: Options): Pick<ChainConfig, 'goawayChance' | 'random' | 'strictTransportSecurity'> => ({
  goawayChance: options.goawayChance,
  random: Math.random,
  strictTransportSecurity: options.strictTransportSecurity.join('; '),
});

/** The parts of a server that differ by mode. */
export interface RunOptions {
  readonly listener: Listener;
  readonly authenticator: RequestAuthenticator;
  readonly plane: ControlPlane;
  /** Registers the endpoints that the mode adds to those of the control plane. */
  install?(routes: NonResourceRoutes): void;
}

export interface RunningServer {
  /** Stops gracefully: reports unready, waits for the shutdown delay, ends watches, drains requests, and closes the store. */
  stop(): Promise<void>;
}

/** Serves a control plane behind the handler chain and runs its hooks. Resolves when the server is ready. */
export async function runServer(context: ServerContext, given: RunOptions): Promise<RunningServer> {
  const { options, root, clock, logger, registry } = context;
  const { listener, plane } = given;
  const { server } = listener;
  const audit = makeAudit(options, { clock, logger, registry });
  const tracer = await startTracing(context.tracing);
  registerProcessMetrics(registry, context.memory);
  context.memory.start();
  const atRest = memoryAtRest(clock);
  atRest.start();
  const postStart = (hook: Hook): PostStartHook => new PostStartHook(hook.name, () => hook.run());
  const loading = plane.loading.map(postStart);
  const hooks = plane.hooks.map(postStart);
  const shutdown = new ShutdownCheck();
  /** The results of the health checks. */
  const slis = new Registry();
  installCommon(server.routes, context, annexVersion(root), slis);
  plane.install(server.routes);
  given.install?.(server.routes);
  installHealth(server.routes, plane, [...loading, ...hooks], shutdown, {
    clock,
    logger,
    registry: slis,
    livezGrace: options.livezGracePeriod,
    aggregated: isAggregated(options),
  });
  for (const hook of loading) await hook.start();
  server.serve(
    chainConfig(context, given, { audit: audit?.hook, tracer }),
    tracedHandler(plane.resourceHandler, tracer),
  );
  for (const hook of hooks) await hook.start();
  loadPatterns();
  if (options.verbosity > 0) {
    for (const metric of metricLifecycles.deprecated()) logger.warn('deprecated metric', { metric });
  }
  return {
    stop: async () => {
      shutdown.begin();
      await sleep(clock, options.shutdownDelayDuration);
      plane.endWatches();
      await Promise.race([server.drain(), sleep(clock, drainMillis(options))]);
      server.destroy();
      context.memory.stop();
      atRest.stop();
      await plane.close();
      audit?.close();
      await tracer?.close();
    },
  };
}

function chainConfig(
  { options, clock, logger, metrics, memory }: ServerContext,
  { authenticator, plane }: RunOptions,
  { audit, tracer }: Pick<ChainConfig, 'audit' | 'tracer'>,
): ChainConfig {
  return {
    authenticator,
    authorizer: plane.authorizer,
    clock,
    wheel: new TimerWheel(clock),
    logger,
    gates: featureGates,
    metrics,
    writeStatus: plane.writeStatus,
    requestTimeout: options.requestTimeout,
    maxRequestsInFlight: options.maxRequestsInflight,
    maxMutatingRequestsInFlight: options.maxMutatingRequestsInflight,
    maxWatchesPerUser: options.maxWatchesPerUser,
    turns,
    unavailableReason: (verb) => memory.refusal(verb),
    audit,
    tracer,
    parseSelectors: featureGates.enabled('AuthorizeWithSelectors') ? selectorsOf : undefined,
    ...headerOptions(options),
  };
}
