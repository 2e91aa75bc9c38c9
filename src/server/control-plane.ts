import { setMaxListeners } from 'node:events';
import type { Registry } from 'prom-client';
import { admissionChain } from '../admission/chain.js';
import type { AdmissionPlugin } from '../admission/interfaces.js';
import { certificateAdmission } from '../admission/plugin/certificates.js';
import { namespaceLifecycle, type NamespaceReader } from '../admission/plugin/namespace-lifecycle.js';
import { storageObjectInUseProtection, taintNodesByCondition } from '../admission/plugin/nodes-and-volumes.js';
import { defaultTolerationSeconds, podPriority } from '../admission/plugin/pods.js';
import { loadProtobufCodec } from '../apimachinery/codec/load.js';
import type { KubeObject } from '../apimachinery/meta.js';
import type { TokenAuthenticator } from '../authentication/authenticator/interfaces.js';
import type { UserInfo } from '../authentication/user/user.js';
import type { Authorizer } from '../authorization/authorizer/interfaces.js';
import { resourceHandler } from '../endpoints/handlers/dispatch.js';
import type { HandlerEnvironment } from '../endpoints/handlers/scope.js';
import { WatchTracker } from '../endpoints/handlers/watch-tracker.js';
import type { ChainMetrics } from '../endpoints/filters/metrics.js';
import type { StatusWriter } from '../endpoints/filters/status.js';
import type { Handler } from '../endpoints/http.js';
import { customResourceDefinitionType } from '../registry/apiextensions/customresourcedefinition/type.js';
import { authenticationReviews } from '../registry/authentication/reviews.js';
import { authorizationReviews } from '../registry/authorization/reviews.js';
import { certificateSigningRequests } from '../registry/certificates/certificatesigningrequests/type.js';
import { builtinResourceTypes } from '../registry/core/index.js';
import { DetachedObject } from '../registry/generic/detached-object.js';
import { LocalClients } from '../registry/generic/local-client.js';
import type { ResourceStore } from '../registry/generic/resource-store.js';
import { rbacTypes } from '../registry/rbac/types.js';
import { ApiRegistry } from '../registry/rest/api-registry.js';
import { StorageCacher } from '../storage/cacher/cacher.js';
import type { Clock } from '../util/clock.js';
import { featureGates } from '../util/feature-gates.js';
import type { Logger } from '../util/logger.js';
import type { ApiServer } from './api-server.js';
import { makeAuthorization } from './authorization.js';
import { installBuiltins, installVirtual, loadMergeTypes } from './builtin-apis.js';
import { registerCacherMetrics } from './cacher-metrics.js';
import type { Authorities } from './loop-context.js';
import { installDocuments } from './documents.js';
import { handlerMetrics } from './handler-metrics.js';
import type { HealthCheck } from './health.js';
import { Loops } from './loops.js';
import { MeasuredBackend, StoreMetrics } from './measured-backend.js';
import type { Options } from './options.js';
import { makeBackend } from './storage-options.js';
import { type ServiceAccountTokens, withTokenRequests } from './service-account-tokens.js';
import { statusWriter } from './status-writer.js';

/** What the server serves, behind the chain. */
export interface ControlPlane {
  readonly authorizer: Authorizer;
  readonly writeStatus: StatusWriter;
  /** Answers requests for resources. */
  readonly resourceHandler: Handler;
  /** Registers discovery, OpenAPI and the like. */
  install(server: ApiServer): void;
  /** Checks of the store and the cacher, in the order in which verbose health shows them. */
  readonly checks: readonly HealthCheck[];
  /** Work to be done after the server listens; ready only when all is done. */
  readonly hooks: readonly { readonly name: string; run(): Promise<void> }[];
  /** Ends all watches, as a server that stops does. */
  endWatches(): void;
  /** Stops controllers and closes the store; called when no request is under way. */
  close(): Promise<void>;
}

export interface ControlPlaneDependencies {
  readonly options: Options;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ChainMetrics;
  /** Where the process's metrics are. */
  readonly registry: Registry;
  /** Host and port under which clients reach the server. */
  readonly serverAddress: string;
  /** All token methods, for TokenReview; undefined: there is none. */
  readonly tokens: TokenAuthenticator | undefined;
  readonly accounts: ServiceAccountTokens;
  readonly authorities: Authorities;
}

function admissionPlugins(
  options: Options,
  namespaces: ResourceStore | undefined,
  authorizer: Authorizer,
): AdmissionPlugin[] {
  const plugins = [
    ...(namespaces === undefined ? [] : [namespaceLifecycle(namespaceReader(namespaces))]),
    taintNodesByCondition(),
    podPriority(),
    defaultTolerationSeconds(),
    storageObjectInUseProtection(),
    ...certificateAdmission(authorizer),
  ];
  return plugins.filter(({ name }) => !options.disableAdmissionPlugins.includes(name));
}

/** Namespaces for admission: the cache, and a fresh read where it has none. */
function namespaceReader(store: ResourceStore): NamespaceReader {
  return {
    cached: (name) => store.cache.peek(name)?.decode() as KubeObject | undefined,
    live: async (name) => {
      const stored = await store.fresh(name);
      return stored === undefined ? undefined : (new DetachedObject(stored).decode() as KubeObject);
    },
  };
}

/**
 * Store, cacher, registry, handlers and controllers of standalone mode. THE PLACE where they are put together: everything below the
 * chain is constructed here and nowhere else.
 */
export async function buildControlPlane(dependencies: ControlPlaneDependencies): Promise<ControlPlane> {
  const { options, clock, logger, accounts } = dependencies;
  const stop = new AbortController();
  // Every loop listens for the end.
  setMaxListeners(0, stop.signal);
  const authorization = await makeAuthorization(options, {
    clock,
    logger,
    registry: dependencies.registry,
    signal: stop.signal,
  });
  const { authorizer, rbac, ruleResolver } = authorization;
  const store = makeBackend(options, clock);
  const backend = new MeasuredBackend(store, new StoreMetrics(dependencies.registry), clock);
  await backend.open();
  const cacher = new StorageCacher({ backend, clock, budgetBytes: options.cacheBudget });
  await cacher.start();
  registerCacherMetrics(() => cacher.stats(), dependencies.registry);
  const registry = new ApiRegistry();
  const cbor = featureGates.enabled('CBORServingAndStorage');
  const mergeTypes = loadMergeTypes();
  const types = [
    ...withTokenRequests(builtinResourceTypes(), options, accounts, clock),
    ...rbacTypes({ authorizer, rules: rbac }),
    certificateSigningRequests,
    customResourceDefinitionType({}),
  ];
  const stores = installBuiltins(types, { registry, backend, cacher, clock, cbor, mergeTypes });
  installVirtual(
    [
      ...authorizationReviews({ authorizer, ruleResolver }),
      ...authenticationReviews({ tokens: dependencies.tokens, apiAudiences: accounts.apiAudiences, clock }),
    ],
    registry,
    mergeTypes,
    clock,
  );
  const namespaces = stores.get('namespaces');
  const admission = admissionChain(admissionPlugins(options, namespaces, authorizer));
  const clients = (fieldManager: string, user?: UserInfo): LocalClients =>
    new LocalClients({ registry, admission, clock, fieldManager, ...(user !== undefined && { user, authorizer }) });
  accounts.objects.attach(stores, clients('kube-apiserver').for({ group: '', resource: 'secrets' }));
  const environment: HandlerEnvironment = {
    admission,
    authorizer,
    features: featureGates,
    clock,
    maxRequestBodyBytes: options.maxRequestBodyBytes,
    minRequestTimeoutSeconds: options.minRequestTimeout,
    metrics: handlerMetrics(dependencies.metrics, dependencies.registry),
    watches: new WatchTracker(),
    protobuf: loadProtobufCodec(),
  };
  const loops = new Loops({
    options,
    clock,
    logger,
    registry,
    backend,
    cacher,
    authorization,
    authorities: dependencies.authorities,
    clients,
    admission,
    cbor,
    signal: stop.signal,
  });
  return {
    authorizer,
    writeStatus: statusWriter(environment, logger),
    resourceHandler: resourceHandler(registry, environment),
    install: (server) => {
      installDocuments(server, registry, environment, dependencies.serverAddress);
    },
    checks: [
      { name: 'etcd', check: () => backend.ping() },
      {
        name: 'informer-sync',
        check: () => {
          const { ok, reason } = cacher.healthy();
          if (!ok) throw new Error(reason);
        },
      },
    ],
    hooks: loops.hooks(),
    endWatches: () => {
      environment.watches.endAll();
    },
    close: async () => {
      stop.abort();
      await cacher.stop();
      await backend.close();
    },
  };
}
