import { setMaxListeners } from 'node:events';
import type { Registry } from 'prom-client';
import { admissionChain } from '../admission/chain.js';
import { namespaceLifecycle } from '../admission/plugin/namespace-lifecycle.js';
import { ApiServices } from '../aggregation/api-services.js';
import { ClusterNamespaces } from '../aggregation/cluster-namespaces.js';
import { loadProtobufCodec } from '../apimachinery/codec/load.js';
import { DelegatedAuthorizer } from '../authorization/delegated.js';
import { PrivilegedGroupAuthorizer, UnionAuthorizer } from '../authorization/union/union.js';
import type { ClusterClient } from '../client/cluster-client.js';
import { DefinitionController } from '../controllers/definitions.js';
import { DefinitionServing } from '../controllers/definition-serving.js';
import { DefinitionRegistration } from '../controllers/definition-registration.js';
import type { ChainMetrics } from '../endpoints/filters/metrics.js';
import { resourceHandler } from '../endpoints/handlers/dispatch.js';
import type { HandlerEnvironment } from '../endpoints/handlers/scope.js';
import { WatchTracker } from '../endpoints/handlers/watch-tracker.js';
import { LocalClients } from '../registry/generic/local-client.js';
import { RESOURCE_DEFINITIONS, resourceDefinitionType } from '../registry/kubeannex/resource-definitions.js';
import { ApiRegistry } from '../registry/rest/api-registry.js';
import type { Backend } from '../storage/interfaces.js';
import { StorageCacher } from '../storage/cacher/cacher.js';
import type { Clock } from '../util/clock.js';
import { messageOf } from '../util/error-message.js';
import { featureGates } from '../util/feature-gates.js';
import type { Logger } from '../util/logger.js';
import { installBuiltins, loadMergeTypes } from './builtin-apis.js';
import { registerCacherMetrics } from './cacher-metrics.js';
import type { ControlPlane } from './control-plane.js';
import { conversions, resolveByDns } from './conversion-webhooks.js';
import type { DelegationMetrics } from './delegation-metrics.js';
import { deleteEach } from './delete-each.js';
import { installDocuments } from './documents.js';
import { handlerMetrics } from './handler-metrics.js';
import { MeasuredBackend, StoreMetrics } from './measured-backend.js';
import type { Options } from './options.js';
import { makeBackend } from './storage-options.js';
import type { ServingCertificates } from './serving-certificates.js';
import { statusWriter } from './status-writer.js';

const REVIEW_TTL_MILLIS = 10_000;

export interface AggregatedPlaneDependencies {
  readonly options: Options;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ChainMetrics;
  readonly registry: Registry;
  readonly delegation: DelegationMetrics;
  readonly clients: { readonly main: ClusterClient; readonly authz: ClusterClient };
  openCertificates(backend: Backend): Promise<ServingCertificates>;
  readonly signal: AbortSignal;
}

export interface AggregatedPlane extends ControlPlane {
  readonly certificates: ServingCertificates;
  /** Brings the APIServices up to date with the certificates. */
  registerAnew(): void;
}

/** Store, cacher, registry and controllers of aggregated mode: types by ResourceDefinition, everybody else's business by the cluster. */
export async function buildAggregatedPlane(dependencies: AggregatedPlaneDependencies): Promise<AggregatedPlane> {
  const { options, clock, logger, clients, delegation, signal } = dependencies;
  setMaxListeners(0, signal);
  const authorizer = new UnionAuthorizer([new PrivilegedGroupAuthorizer(), delegatedAuthorizer(dependencies)]);
  const store = makeBackend(options, clock);
  const backend = new MeasuredBackend(store, new StoreMetrics(dependencies.registry), clock);
  await backend.open();
  const certificates = await dependencies.openCertificates(backend);
  const cacher = new StorageCacher({ backend, clock, budgetBytes: options.cacheBudget });
  await cacher.start();
  registerCacherMetrics(() => cacher.stats(), dependencies.registry);
  const registry = new ApiRegistry();
  const cbor = featureGates.enabled('CBORServingAndStorage');
  const mergeTypes = loadMergeTypes();
  installBuiltins([resourceDefinitionType()], { registry, backend, cacher, clock, cbor, mergeTypes });
  const namespaces = new ClusterNamespaces(clients.main);
  const admission = admissionChain([namespaceLifecycle(namespaces)]);
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
  const local = new LocalClients({ registry, admission, clock, fieldManager: 'annex' });
  const definitions = local.for(RESOURCE_DEFINITIONS);
  const warn = (what: string) => (name: string, error: unknown) => {
    logger.warn(`${what}: ${name}`, { error: messageOf(error) });
  };
  const registration = new DefinitionRegistration(definitions, clock, warn('registration'));
  const services = new ApiServices({
    client: clients.main,
    clock,
    service: { namespace: options.serviceNamespace, name: options.serviceName, port: options.servicePort },
    caBundle: () => certificates.caBundle,
    served: () => groupVersions(registry),
    failed: warn('APIService'),
    refused: (group, version, why) => {
      delegation.refused();
      registration.refused(group, version, why);
    },
    registered: (group, version) => {
      registration.registered(group, version);
    },
  });
  const startDefinitions = async (): Promise<void> => {
    const serving = new DefinitionServing({
      registry,
      backend,
      cacher,
      clock,
      cbor,
      conversionOf: conversions(resolveByDns),
    });
    const controller = new DefinitionController({
      client: definitions,
      serving,
      clock,
      deleteObjects: (store) => deleteEach(local.for(store.groupResource), ''),
      onError: warn('definition'),
    });
    registration.start(signal);
    controller.start(signal);
    await controller.synced;
  };
  return {
    certificates,
    registerAnew: () => {
      services.changed();
    },
    authorizer,
    writeStatus: statusWriter(environment, logger),
    resourceHandler: resourceHandler(registry, environment),
    install: (server) => {
      installDocuments(server, registry, environment, `${options.bindAddress}:${options.securePort}`);
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
    hooks: [
      { name: 'start-definitions', run: startDefinitions },
      {
        name: 'start-registration',
        run: () => {
          void namespaces.follow(signal, (error) => {
            warn('namespaces')('are not followed', error);
          });
          registry.onChange(() => {
            services.changed();
          });
          services.start(signal);
          return Promise.resolve();
        },
      },
    ],
    endWatches: () => {
      environment.watches.endAll();
    },
    close: async () => {
      await cacher.stop();
      await backend.close();
    },
  };
}

function delegatedAuthorizer(dependencies: AggregatedPlaneDependencies): DelegatedAuthorizer {
  const { clock, clients, delegation } = dependencies;
  return new DelegatedAuthorizer({
    clock,
    allowedTtl: REVIEW_TTL_MILLIS,
    deniedTtl: REVIEW_TTL_MILLIS,
    post: (review) => clients.authz.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review),
    observe: (failed) => {
      delegation.accessReview(failed);
    },
  });
}

/** What is served, each group's versions in their order of preference. */
function groupVersions(registry: ApiRegistry): { group: string; version: string; rank: number }[] {
  return registry
    .apiGroups()
    .flatMap(({ name, versions }) => versions.map(({ version }, rank) => ({ group: name, version, rank })));
}
