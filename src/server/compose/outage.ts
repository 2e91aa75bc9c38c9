import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ClusterNamespaces } from '../../aggregation/cluster-namespaces.js';
import { StoreLease } from '../../aggregation/store-lease.js';
import { hasDeletionTimestamp } from '../../apimachinery/meta/meta.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import { EmptiedNamespaces } from '../../controllers/emptied-namespaces.js';
import type { OutageReads, TellingOfOutage } from '../../endpoints/handlers/scope.js';
import { shownWithoutStore } from '../../registry/apiextensions/resourcedefinition/store-available.js';
import { RESOURCE_DEFINITIONS } from '../../registry/builtin/kubeannex/resource-definitions.js';
import type { LoopbackClients } from '../../registry/rest/loopback-client.js';
import { StoreOutage } from '../../storage/outage.js';
import { messageOf } from '../../util/error-message.js';
import { metricsOf } from '../../util/metrics/metrics.js';
import type { StoreErrorReporter } from '../health/store-error-reporter.js';
import { type ClusterLinks, linkCallbacks } from '../health/cluster-links.js';
import type { PlaneCheck } from '../health/store-checks.js';
import type { Options } from '../options/options.js';
import type { ServerContext } from './server-context.js';

/** Returns what knows whether MongoDB answers; undefined for a local store. */
export function storeOutage(
  { options, clock, logger, registry }: Pick<ServerContext, 'options' | 'clock' | 'logger' | 'registry'>,
  troubles: Pick<StoreErrorReporter, 'textOf'>,
): StoreOutage | undefined {
  const outage =
    options.storageBackend === 'mongodb'
      ? new StoreOutage({
          clock,
          store: 'MongoDB',
          began: (error) =>
            logger.warn('MongoDB does not answer: reads from memory continue, other requests get 503', {
              error: troubles.textOf(error),
            }),
          ended: (millis) => logger.info('MongoDB answers again', { awaySeconds: Math.round(millis / 1_000) }),
        })
      : undefined;
  const help = 'Time for which MongoDB has not answered; 0 while it does.';
  metricsOf(registry).gaugeFunc('annex_store_outage_seconds', help, () => (outage?.age ?? 0) / 1_000);
  return outage;
}

/** What reads show while MongoDB does not answer, without a cluster: nothing is known of its namespaces. */
export function standaloneOutageReads(
  { staleReadsDuringOutage }: Pick<Options, 'staleReadsDuringOutage'>,
  outage: StoreOutage | undefined,
): OutageReads | undefined {
  return outage && outageReads(outage, staleReadsDuringOutage);
}

function outageReads(
  outage: StoreOutage,
  staleReads: boolean,
  ofCluster: Pick<OutageReads, 'isTerminating' | 'shownEmpty' | 'telling'> = {
    isTerminating: () => false,
    shownEmpty: () => false,
  },
): OutageReads {
  return {
    get age() {
      return outage.age;
    },
    get reason() {
      return outage.reason;
    },
    staleReads,
    ...ofCluster,
  };
}

export interface ClusterOutageParts {
  readonly client: ClusterClient;
  readonly local: LoopbackClients;
  readonly namespaces: ClusterNamespaces;
  readonly links: ClusterLinks;
  readonly signal: AbortSignal;
}

export interface ClusterOutage {
  readonly reads: OutageReads;
  readonly check: PlaneCheck;
  /** Starts to look for other replicas. */
  start(): void;
}

/** What an aggregated server does while MongoDB does not answer; undefined for a local store. */
export function clusterOutage(
  { options, clock, logger }: Pick<ServerContext, 'options' | 'clock' | 'logger'>,
  outage: StoreOutage | undefined,
  { client, local, namespaces, links, signal }: ClusterOutageParts,
): ClusterOutage | undefined {
  if (outage === undefined) return undefined;
  const emptied = new EmptiedNamespaces({
    client,
    clients: local,
    clock,
    signal,
    deleted: (namespace, { group, resource }, objects) =>
      logger.warn('deleted objects of a namespace that was deleted while MongoDB did not answer', {
        namespace,
        resource: `${resource}.${group}`,
        objects,
      }),
    createdAgain: (namespace) =>
      logger.warn(
        'a namespace was deleted while MongoDB did not answer, and created again since: some of its objects may be older',
        { namespace },
      ),
    failed: (namespace, error) =>
      logger.warn('cannot check a namespace that was deleted while MongoDB did not answer; will retry', {
        namespace,
        error: messageOf(error),
      }),
  });
  outage.onEnd(() => void emptied.settle());
  const lease = new StoreLease({
    client,
    clock,
    namespace: options.serviceNamespace,
    identity: `${hostname()}_${randomUUID().slice(0, 8)}`,
    outage,
    ...linkCallbacks(links, 'peers'),
  });
  const isTerminating = (name: string): boolean => {
    const namespace = namespaces.cached(name);
    return namespace !== undefined && hasDeletionTimestamp(namespace);
  };
  const telling: TellingOfOutage = {
    type: RESOURCE_DEFINITIONS,
    shown: (object) =>
      object.undecodable ? object : shownWithoutStore(object, outage.reason, clock.now() - (outage.age ?? 0)),
  };
  const reads = outageReads(outage, options.staleReadsDuringOutage, {
    isTerminating,
    shownEmpty: (namespace, type) => emptied.add(namespace, type),
    telling: () => (outage.lasts ? telling : undefined),
  });
  const check: PlaneCheck = { name: 'peers', check: () => lease.check(), endpoints: ['readyz'] };
  return { reads, check, start: () => void lease.run(signal) };
}
