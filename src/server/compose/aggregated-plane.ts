import { isCopy } from '../../adoption/protocol/stages.js';
import type { X509Certificate } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { admissionChain } from '../../admission/chain.js';
import { AdmissionMetrics } from '../../admission/metrics.js';
import type { AdmissionChain, AdmissionPlugin } from '../../admission/interfaces.js';
import type { AdmissionSources, ConfigurationSource, NamespaceSource, ParamSource } from '../../admission/sources.js';
import { AdoptedDefinitions } from '../../adoption/handover/adopted-definitions.js';
import { adoptionGate } from '../../adoption/handover/adoption-gate.js';
import { AdoptionWrites } from '../../adoption/handover/adoption-writes.js';
import { ApiServices, type ApiServicesOptions, type ServedGroupVersion } from '../../aggregation/api-services.js';
import { kubernetesGroups } from '../../aggregation/cluster-groups.js';
import { ClusterNamespaces } from '../../aggregation/cluster-namespaces.js';
import { Detached } from '../../aggregation/detached.js';
import { Owner } from '../../aggregation/owner.js';
import { ClusterQuotas } from '../../aggregation/resource-quota.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import { DelegatedAuthorizer } from '../../authorization/delegated.js';
import { privilegedGroupAuthorizer, UnionAuthorizer } from '../../authorization/union/union.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { recordInCluster } from '../../aggregation/cluster-events.js';
import { DefinitionRegistration } from '../../controllers/definitions/definition-registration.js';
import { LocalClients } from '../../registry/generic/loopback/local-client.js';
import { adoptionDefinition } from '../../registry/builtin/kubeannex/adoptions.js';
import { resourceDefinitionType } from '../../registry/apiextensions/resourcedefinition/type.js';
import { RESOURCE_DEFINITIONS } from '../../registry/builtin/kubeannex/resource-definitions.js';
import { LocalParams } from '../../registry/sources/local-params.js';
import type { Backend } from '../../storage/interfaces.js';
import { hasLasted } from '../../storage/outage.js';
import { messageOf } from '../../util/error-message.js';
import type { Logger } from '../../util/logger.js';
import { aggregatedPlugins } from './admission/aggregated-plugins.js';
import { ClusterAdmission } from './admission/cluster-admission.js';
import type { AggregationMetrics } from '../metrics/aggregation-metrics.js';
import { linkCallbacks } from '../health/cluster-links.js';
import { type ConfiguredAdmission, configuredAdmission } from './admission/configured-admission.js';
import { conversions, resolveByDns } from './access/conversion-webhooks.js';
import { groupVersions } from '../http/documents/group-versions.js';
import { advertisedAddress, hostPort } from '../http/host-address.js';
import { reviewTtl } from '../options/aggregation-options.js';
import { adoptions } from './adoptions.js';
import { errorLogger } from './controllers.js';
import { lookAfterPeers } from './lost-peers.js';
import { clusterOutage } from './outage.js';
import { assemblePlane, type ControlPlane, type Foundation, openFoundation } from './plane.js';
import type { ServerContext } from './server-context.js';
import type { ServingCertificates } from '../certificates/serving-certificates.js';
import { waitForStore } from './startup/startup.js';
import { startDefinitions } from './startup/start-definitions.js';
import { installComputed } from '../../registry/builtin/install.js';
import { queryKinds } from '../../views/queries.js';

export interface AggregatedPlaneDependencies {
  readonly metrics: AggregationMetrics;
  readonly clients: { readonly main: ClusterClient; readonly authz: ClusterClient };
  openCertificates(backend: Backend): Promise<ServingCertificates>;
  /** The uid of the cluster's namespace kube-system; '' if the store is not shared. */
  readonly clusterUid: string;
  readonly signal: AbortSignal;
}

export interface AggregatedPlane extends ControlPlane {
  readonly certificates: ServingCertificates;
  /** Reconciles the APIServices with the current certificates. */
  resyncApiServices(): void;
  /** Reports whether all APIServices carry the CA. */
  isCaPublished(authority: X509Certificate): boolean;
}

/**
 * Builds the store, cacher, registry, and controllers of aggregated mode. Types come from ResourceDefinitions; everything else is
 * delegated to the cluster.
 */
export async function buildAggregatedPlane(
  context: ServerContext,
  dependencies: AggregatedPlaneDependencies,
): Promise<AggregatedPlane> {
  const { options, clock, logger, registry } = context;
  const { clients, metrics, signal } = dependencies;
  const client = clients.main;
  setMaxListeners(0, signal);
  const authorizer = new UnionAuthorizer([privilegedGroupAuthorizer, delegatedAuthorizer(context, dependencies)]);
  const foundation = await openFoundation(context, undefined, dependencies.clusterUid);
  const certificates = await waitForStore(() => dependencies.openCertificates(foundation.backend), context);
  installKinds(context, foundation, authorizer);
  const namespaces = new ClusterNamespaces(client);
  const quotas = new ClusterQuotas(client);
  const webhooks = await configuredAdmission({ options, clock, logger, registry, resolve: resolveByDns });
  const gates = adoptionGates();
  const { admission, followed } = clusterAdmission(context, dependencies, {
    gate: adoptionGate(gates.adopted, RESOURCE_DEFINITIONS),
    webhooks,
    authorizer,
    namespaces,
    quotas,
    ownParams: new LocalParams(foundation.registry),
  });
  const local = new LocalClients({ registry: foundation.registry, admission, clock, fieldManager: 'annex' });
  const away = clusterOutage(context, foundation.outage, { client, local, namespaces, links: metrics.links, signal });
  const registration = registrationOf(context, dependencies, { ...gates, foundation, certificates, local });
  // Start this before anything is registered, so that a replica has the admission configuration before it receives requests.
  followed?.start(signal);
  const adopting = adoptions(context, foundation, { client, local, ...gates, metrics: metrics.adoptions, signal });
  const register = (): Promise<void> => {
    void namespaces.follow(signal, linkCallbacks(metrics.links, 'namespaces'));
    away?.start();
    void quotas.follow(signal, linkCallbacks(metrics.links, 'quotas'));
    return registration.register();
  };
  const advertised = advertisedAddress(options, logger);
  const plane = assemblePlane(context, foundation, {
    admission,
    authorizer,
    serverAddress: () => hostPort(advertised, options.securePort),
    loading: [],
    hooks: [
      { name: 'start-definitions', run: () => registration.installDefinitions() },
      { name: 'announce-replica', run: adopting.announce },
      { name: 'start-registration', run: register },
      { name: 'start-adoptions', run: adopting.start },
    ],
    checks: [followed?.check ?? [], away?.check ?? []].flat(),
    outageReads: away?.reads,
    // The signal has already stopped the loops.
    stop: () => webhooks.close(),
  });
  return {
    ...plane,
    certificates,
    resyncApiServices: () => registration.services.changed(),
    isCaPublished: (authority) => registration.services.isTrusted(authority),
  };
}

/** Installs the kinds of Annex itself. */
function installKinds({ clock }: ServerContext, foundation: Foundation, authorizer: Authorizer): void {
  const { registry } = foundation;
  foundation.install([resourceDefinitionType((type) => registry.storeOf(type)?.cache.size())]);
  installComputed(queryKinds({ registry, authorizer, clock }), registry);
}

/** Returns the gates that keep writes from the store while a group moves. */
function adoptionGates(): { readonly adopted: AdoptedDefinitions; readonly writes: AdoptionWrites } {
  const adopted = new AdoptedDefinitions();
  return { adopted, writes: new AdoptionWrites(adopted) };
}

interface Registration {
  readonly services: ApiServices;
  /** Installs the types that the ResourceDefinitions define. */
  installDefinitions(): Promise<void>;
  /** Maintains an APIService for each group version. */
  register(): Promise<void>;
}

interface RegistrationParts {
  readonly adopted: AdoptedDefinitions;
  readonly writes: AdoptionWrites;
  readonly foundation: Foundation;
  readonly certificates: ServingCertificates;
  readonly local: LocalClients;
}

/** Registers the served group versions with the cluster, and reports in the status of the definitions whether the cluster accepted them. */
function registrationOf(
  { options, clock, logger }: ServerContext,
  dependencies: AggregatedPlaneDependencies,
  parts: RegistrationParts,
): Registration {
  const { adopted, writes, foundation, certificates, local } = parts;
  const { clients, metrics, signal } = dependencies;
  const { registry } = foundation;
  const registration = reporting({ clock, logger }, foundation, local);
  const detached = new Detached();
  const owner = new Owner(options.ownerClusterRole);
  const served = (): ServedGroupVersion[] =>
    groupVersions(registry).filter(({ group }) => options.registerDefinitions || group !== RESOURCE_DEFINITIONS.group);
  const services = new ApiServices({
    client: clients.main,
    clock,
    service: { namespace: options.serviceNamespace, name: options.serviceName, port: options.servicePort },
    caBundle: () => certificates.caBundle,
    allowedGroups: options.allowClusterGroups,
    owner,
    detached,
    served,
    routeOf: (group) => adopted.routeOf(group),
    ...registrationEvents(metrics, logger, registration, served),
  });
  adopted.onRouteChange = () => services.changed();
  const installDefinitions = (): Promise<void> => {
    registration.start(signal);
    return startDefinitions({
      ...foundation,
      clock,
      type: RESOURCE_DEFINITIONS,
      clients: local,
      conversionOf: conversions(resolveByDns),
      recordEvent: (event) => recordInCluster(clients.main, event),
      onError: errorLogger({ logger }, 'definition'),
      own: [adoptionDefinition()],
      observer: adopted,
      handover: adopted,
      gate: writes,
      leavesObjects: isCopy,
      signal,
    });
  };
  const register = (): Promise<void> => {
    lookAfterPeers({ options, clock, logger }, clients.main, metrics.links, services, signal);
    const changed = (): void => services.changed();
    const attachment = (): void => {
      if (detached.isDetached) reportDetached(logger, registration, served());
      changed();
    };
    const link = linkCallbacks(metrics.links, 'detached');
    detached.follow(clients.main, options.serviceNamespace, signal, { changed: attachment, ...link });
    owner.follow(clients.main, signal, { changed, ...linkCallbacks(metrics.links, 'owner') });
    registry.onChange(() => services.servedChanged());
    return services.start(signal);
  };
  return { services, installDefinitions, register };
}

function reporting(
  { clock, logger }: Pick<ServerContext, 'clock' | 'logger'>,
  { outage }: Pick<Foundation, 'outage'>,
  local: LocalClients,
): DefinitionRegistration {
  const definitions = local.for(RESOURCE_DEFINITIONS);
  const registration = new DefinitionRegistration(definitions, clock, errorLogger({ logger }, 'registration'));
  outage?.onEnd((millis) => {
    if (hasLasted(millis)) registration.storeAnswers(millis);
  });
  return registration;
}

function reportDetached(
  logger: Logger,
  registration: DefinitionRegistration,
  served: readonly ServedGroupVersion[],
): void {
  logger.warn('annex detach took Annex out of the cluster; annex attach puts it back');
  for (const { group, version } of served) registration.detached(group, version);
}

interface ClusterAdmissionParts {
  readonly gate: AdmissionPlugin;
  readonly authorizer: Authorizer;
  readonly namespaces: NamespaceSource;
  readonly quotas: AdmissionPlugin;
  readonly ownParams: ParamSource;
  readonly webhooks: ConfiguredAdmission;
}

const EMPTY: ConfigurationSource = {
  generation: 0,
  objects: () => [],
  synced: () => true,
  whenSynced: () => Promise.resolve(),
  subscribe: () => () => undefined,
};

/** Returns the sources of a server that takes configurations only from files. */
const noSources = (namespaces: NamespaceSource): AdmissionSources => ({
  mutatingWebhooks: EMPTY,
  validatingWebhooks: EMPTY,
  mutatingPolicies: EMPTY,
  mutatingPolicyBindings: EMPTY,
  validatingPolicies: EMPTY,
  validatingPolicyBindings: EMPTY,
  params: { open: () => undefined, retain: () => undefined },
  namespaces,
});

/** Builds the admission chain, with the webhooks and policies of the cluster unless --admission-from-cluster=false. */
function clusterAdmission(
  { options, clock, logger, registry }: ServerContext,
  { clients, metrics: { admission: metrics, links } }: AggregatedPlaneDependencies,
  { gate, ownParams, ...parts }: ClusterAdmissionParts,
): { admission: AdmissionChain; followed: ClusterAdmission | undefined } {
  const { namespaces } = parts;
  const { files } = parts.webhooks;
  const client = clients.main;
  const followed = options.admissionFromCluster
    ? new ClusterAdmission({ client, clock, logger, metrics, links, namespaces, ownParams })
    : undefined;
  if (followed === undefined) {
    logger.warn(
      "--admission-from-cluster=false: the cluster's webhooks and policies do not apply to the types that Annex serves",
    );
  }
  const groups = kubernetesGroups(RESOURCE_DEFINITIONS, options.allowClusterGroups);
  const plugins = aggregatedPlugins({
    ...parts,
    options,
    clock,
    logger,
    metrics: registry,
    sources: followed?.sources ?? (Object.keys(files).length > 0 ? noSources(namespaces) : undefined),
    files,
  });
  const admission = admissionChain([gate, groups, ...plugins], new AdmissionMetrics(registry, () => clock.monotonic()));
  return { admission, followed };
}

function delegatedAuthorizer(
  { clock, options }: ServerContext,
  { clients, metrics }: AggregatedPlaneDependencies,
): DelegatedAuthorizer {
  const ttl = (flag: string, millis: number): number => reviewTtl(options, flag, millis);
  return new DelegatedAuthorizer({
    clock,
    allowedTtl: ttl('authorization-webhook-cache-authorized-ttl', options.authorizationWebhookCacheAuthorizedTtl),
    deniedTtl: ttl('authorization-webhook-cache-unauthorized-ttl', options.authorizationWebhookCacheUnauthorizedTtl),
    alwaysAllowPaths: options.authorizationAlwaysAllowPaths,
    post: (review) => clients.authz.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review),
    observe: (outcome) => metrics.delegation.accessReview(outcome),
  });
}

/** Reports the outcome of registration in the log, in metrics, and in the status of the definitions. */
function registrationEvents(
  { delegation, links }: AggregationMetrics,
  logger: Logger,
  registration: DefinitionRegistration,
  served: () => readonly ServedGroupVersion[],
): Pick<ApiServicesOptions, 'unreadable' | 'inOrder' | 'failed' | 'registered' | 'refused'> {
  return {
    unreadable: (error) => {
      links.broken('apiservices', error);
      for (const { group, version } of served()) registration.failed(group, version, messageOf(error));
    },
    inOrder: () => links.restored('apiservices'),
    failed: (group, version, error) => {
      links.broken('apiservices', error);
      registration.failed(group, version, messageOf(error));
    },
    registered: (group, version) => registration.registered(group, version),
    refused: (group, version, refusal) => {
      if (!registration.refused(group, version, refusal)) return;
      delegation.refused();
      logger.warn(`${group}/${version} is not registered: ${refusal.message}`);
    },
  };
}
