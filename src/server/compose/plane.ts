import type { AdmissionChain } from '../../admission/interfaces.js';
import { loadProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { RbacRuleSource } from '../../authorization/rbac/types.js';
import type { StatusWriter } from '../../endpoints/filters/status.js';
import { resourceHandler } from '../../endpoints/router/resource-requests.js';
import type { HandlerEnvironment, OutageReads } from '../../endpoints/handlers/scope.js';
import { WatchTracker } from '../../endpoints/handlers/watch-tracker.js';
import { LIST_PARAMETERS } from '../../endpoints/handlers/request/list-parameters.js';
import type { Handler } from '../../endpoints/http.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import type { ApiRegistry } from '../../registry/generic/store/api-registry.js';
import { declarativeReporter } from '../../registry/builtin/declarative/metrics.js';
import type { OffloadConversion } from '../../registry/customresource/serve-options.js';
import type { ResourceType } from '../../registry/rest/interfaces.js';
import type { Cacher } from '../../storage/cacher/interfaces.js';
import { RoutedCacher } from '../../storage/cacher/routed-cacher.js';
import type { Backend } from '../../storage/interfaces.js';
import type { StoreOutage } from '../../storage/outage.js';
import { LogIdentities } from '../../storage/log-identity.js';
import { type LogSet, routedBackend, wrapLogs } from '../../storage/routed-backend.js';
import { forgettingMarks, VerifiedMarks } from '../../storage/verified-marks.js';
import type { BuiltinTypes } from '../../structured-merge-diff/schema/builtin-types.js';
import { metricsRegistry } from '../../util/metrics/metrics.js';
import { effectiveVersion } from '../../util/effective-version.js';
import { featureGates } from '../../util/feature-gates.js';
import type { NonResourceRoutes } from '../http/non-resource-routes.js';
import { isAggregated } from '../options/aggregation-options.js';
import { makeLogs, storeRedactor } from './backend.js';
import { standaloneOutageReads, storeOutage } from './outage.js';
import { openEncryption, type OpenEncryption } from './encryption.js';
import { installBuiltins, loadMergeTypes } from '../../registry/builtin/install.js';
import { registerHistoryMetrics, registerKeptMetrics } from '../metrics/history-metrics.js';
import { dropRemovedTypes } from '../metrics/removed-types.js';
import { registerCacherMetrics, undecodableReporter } from '../metrics/cacher-metrics.js';
import { installDocuments } from '../http/documents/documents.js';
import { annexVersion } from '../http/documents/version.js';
import { handlerMetrics } from '../metrics/handler-metrics.js';
import { measuredBackend, StoreMetrics } from '../metrics/measured-backend.js';
import type { OffloadPool } from '../../offload/pool.js';
import { startOffload } from '../../offload/start.js';
import type { ServerContext } from './server-context.js';
import { waitForStore } from './startup/startup.js';
import { statusWriter } from './startup/status-writer.js';
import { storeChecks, type PlaneCheck } from '../health/store-checks.js';
import { StoreErrorReporter } from '../health/store-error-reporter.js';
import { type MaybePromise } from '../../util/maybe-promise.js';

export interface Hook {
  readonly name: string;
  run(): MaybePromise<void>;
}

/** Everything the server serves behind the handler chain. */
export interface ControlPlane {
  readonly authorizer: Authorizer;
  readonly writeStatus: StatusWriter;
  /** Handles resource requests. */
  readonly resourceHandler: Handler;
  /** Registers discovery, OpenAPI, and similar documents. */
  install(routes: NonResourceRoutes): void;
  /** Health checks of the store and the cacher, in the order in which verbose health output lists them. */
  readonly checks: readonly PlaneCheck[];
  /** Hooks that authorization depends on; they finish before requests are served. */
  readonly loading: readonly Hook[];
  /** Hooks that run after `loading`. The server is ready only when all have finished. */
  readonly hooks: readonly Hook[];
  /** Ends all watches, for shutdown. */
  endWatches(): void;
  /** Stops the controllers and closes the store; called when no request is in flight. */
  close(): Promise<void>;
}

/** The minimum time, in milliseconds, by which watchers may be behind, however short the history window is. */
const MIN_HISTORY_MILLIS = 15_000;

/** The foundation of every control plane: the store that the flags select, its watch cache, and the registry of served types. */
export interface Foundation {
  readonly backend: Backend;
  readonly marks: VerifiedMarks;
  readonly cacher: Cacher;
  /** Knows whether the store answers. Undefined if it is local. */
  readonly outage: StoreOutage | undefined;
  /** Undefined if nothing is encrypted. */
  readonly encryption: OpenEncryption | undefined;
  readonly registry: ApiRegistry;
  readonly cbor: boolean;
  readonly mergeTypes: BuiltinTypes;
  readonly offload: OffloadPool;
  /** Converts large objects to other versions than the stored one, in a worker thread. */
  readonly offloadConversion: OffloadConversion;
  /** Installs built-in types, and returns their stores by storage name. */
  install(types: readonly ResourceType[]): Map<string, ResourceStore>;
}

/** The grace period of a pod: after an upgrade or a new installation, the last pod may still be ending. */
const LAST_POD_MILLIS = 30_000;

const lockWait = ({ logger }: Pick<ServerContext, 'logger'>) => ({
  millis: LAST_POD_MILLIS,
  began: () => logger.info('another process has locked the data directory; waiting up to 30 s for its end'),
});

/**
 * Opens the store, waiting until it is available. `rules` is the source for the escalation checks of roles; undefined if there are no
 * roles. `clusterUid`: see makeLogs.
 */
export async function openFoundation(
  context: ServerContext,
  rules: RbacRuleSource | undefined,
  clusterUid: string,
): Promise<Foundation> {
  const { options, clock, logger, memory, registry: metrics, apis: registry } = context;
  const encryption = openEncryption(context);
  const troubles = new StoreErrorReporter({ registry: metrics, logger, clock, redact: storeRedactor(options) });
  const outage = storeOutage(context, troubles);
  const stores = await makeLogs(options, clock, troubles, clusterUid, {
    outage,
    ...(isAggregated(options) && { lockWait: lockWait(context) }),
  });
  registerHistoryMetrics(stores, metrics);
  const tools = { metrics: new StoreMetrics(metrics), troubles, clock, memory, outage };
  const logs = wrapLogs(encryption?.wrap(stores) ?? stores, (backend) => measuredBackend(backend, tools));
  const { backend, marks } = storeOf(logs, annexVersion(context.root));
  await encryption?.start();
  await waitForStore(() => backend.open(), context);
  const identities = new LogIdentities();
  await waitForStore(() => identities.open(logs), context);
  const cacher = new RoutedCacher(logs, {
    clock,
    identities,
    outage,
    budgetBytes: options.cacheBudget,
    snapshots: featureGates.enabled('ListFromCacheSnapshot'),
    // Like etcd, keep up to twice the promised time, so that clients that reconnect a little late need not relist.
    historyMillis: Math.max(2 * options.historyWindow, MIN_HISTORY_MILLIS),
    undecodable: undecodableReporter(metrics, logger),
  });
  await waitForStore(() => cacher.start(), context);
  // A store whose log was replaced answers: what is wrong with it is told by the check store-log and by its refusals.
  outage?.start(() => (backend.health.same().ok ? backend.health.ping() : Promise.resolve()));
  encryption?.follow(cacher, backend);
  registerCacherMetrics(() => cacher.stats(), metrics);
  registerKeptMetrics(backend.kept, metrics);
  dropRemovedTypes(registry, [metricsRegistry, metrics], clock);
  const cbor = featureGates.enabled('CBORServingAndStorage');
  const mergeTypes = loadMergeTypes();
  const report = declarativeReporter(metrics, logger);
  const install = (types: readonly ResourceType[]): Map<string, ResourceStore> =>
    installBuiltins(types, {
      registry,
      backend,
      cacher,
      clock,
      cbor,
      mergeTypes,
      emulation: effectiveVersion.emulation,
      declarative: { gates: featureGates, report },
    });
  const common = { backend, marks, cacher, outage, encryption, registry, cbor, mergeTypes, install };
  return { ...common, ...offloading({ ...context, report, rules }, cbor) };
}

/** Returns the store of all logs. */
function storeOf(logs: LogSet, version: string): Pick<Foundation, 'backend' | 'marks'> {
  const routed = logs.others.size === 0 ? logs.main : routedBackend(logs);
  const marks = new VerifiedMarks(routed, version);
  return { backend: forgettingMarks(routed, marks), marks };
}

function offloading(
  options: Parameters<typeof startOffload>[0],
  cbor: boolean,
): Pick<Foundation, 'offload' | 'offloadConversion'> {
  const offload = startOffload(options);
  return { offload, offloadConversion: (served, resource, object) => offload.show(served, resource, cbor, object) };
}

export interface PlaneParts {
  readonly admission: AdmissionChain;
  readonly authorizer: Authorizer;
  /** Host and port at which clients reach the server. */
  readonly serverAddress: () => string;
  readonly loading: ControlPlane['loading'];
  readonly hooks: ControlPlane['hooks'];
  /** Health checks in addition to those of the store and the cacher. */
  readonly checks?: readonly PlaneCheck[];
  /** What reads may show while the store does not answer. By default only what --stale-reads-during-outage allows. */
  readonly outageReads?: OutageReads | undefined;
  /** Stops the loops; called before the store is closed. */
  stop(): MaybePromise<void>;
}

/** Builds the handlers, checks, and documents on a foundation. */
export function assemblePlane(context: ServerContext, foundation: Foundation, parts: PlaneParts): ControlPlane {
  const { options, clock, logger } = context;
  const { backend, cacher, outage, registry, offload } = foundation;
  const { admission, authorizer, serverAddress, loading, hooks } = parts;
  const environment: HandlerEnvironment = {
    admission,
    authorizer,
    features: featureGates,
    clock,
    maxRequestBodyBytes: options.maxRequestBodyBytes,
    minRequestTimeoutSeconds: options.minRequestTimeout,
    metrics: handlerMetrics(context.metrics, context.registry),
    watches: new WatchTracker(),
    listParameters: [...LIST_PARAMETERS, ...context.extensions.listParameters],
    protobuf: loadProtobufCodec(),
    offload,
    outage: parts.outageReads ?? standaloneOutageReads(options, outage),
  };
  return {
    authorizer,
    writeStatus: statusWriter(environment, logger),
    resourceHandler: resourceHandler(registry, environment),
    install: (routes) => {
      installDocuments(
        routes,
        registry,
        environment,
        serverAddress,
        isAggregated(options) ? 'aggregated' : 'standalone',
      );
    },
    checks: [
      ...storeChecks({ store: foundation.backend.health, cacher, outage, aggregated: isAggregated(options) }),
      context.memory.check,
      ...(foundation.encryption?.checks ?? []),
      ...(parts.checks ?? []),
    ],
    loading,
    hooks,
    endWatches: () => environment.watches.endAll(),
    close: async () => {
      await parts.stop();
      offload.close();
      outage?.stop();
      await cacher.stop();
      await backend.close();
      foundation.encryption?.close();
    },
  };
}
