import { renewApiServices } from '../../client/api-services.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { Clock } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import type { AdoptionCondition } from '../protocol/condition.js';
import { apiServicesOf, type ClusterDefinitions, discoveredType } from '../cluster/cluster-definitions.js';
import type { Journal } from './journal.js';
import type { KubeApiserver, KubeApiservers } from '../cluster/kube-apiservers.js';

/** The condition of an Adoption whose types every kube-apiserver lists. */
export const DISCOVERED: AdoptionCondition = [
  'Discovered',
  true,
  'AllListed',
  'the discovery of every kube-apiserver lists the resources of the group',
];
const LIMIT_MILLIS = 120_000;
/** A kube-apiserver that notices a deletion lists its own resources at once. */
const NOTICE_MILLIS = 5_000;
/** The document has all groups of the cluster. */
const POLL_MILLIS = 250;

export const notDiscovered = (message: string): AdoptionCondition => ['Discovered', false, 'NotListed', message];

export interface DiscoveryOptions {
  readonly client: Pick<ClusterClient, 'call' | 'must'>;
  readonly servers: Pick<KubeApiservers, 'everywhere'>;
  readonly clock: Clock;
  readonly clusterDefinitions: Pick<ClusterDefinitions, 'list' | 'missingInDiscovery'>;
  readonly journal: Pick<Journal, 'note'>;
}

/** The discovery of the kube-apiservers, by which kubectl, the garbage collector and the deletion of namespaces find the types of a group. */
export class Discovery {
  constructor(private readonly options: DiscoveryOptions) {}

  /** Waits until every kube-apiserver lists the cluster's own resources of the group. */
  async complete(signal: AbortSignal): Promise<void> {
    const { clock, clusterDefinitions, journal, servers } = this.options;
    const end = clock.monotonic() + LIMIT_MILLIS;
    const crds = await clusterDefinitions.list();
    const isListed = async (server: KubeApiserver): Promise<boolean> => {
      const missing = await clusterDefinitions.missingInDiscovery(server, crds);
      if (missing !== '') throw new Error(missing);
      return true;
    };
    for (;;) {
      try {
        await servers.everywhere('discovery', isListed, NOTICE_MILLIS, signal, POLL_MILLIS);
        return;
      } catch (error) {
        if (signal.aborted || clock.monotonic() >= end) throw error;
        await journal.note([notDiscovered(messageOf(error))]);
        await renewApiServices(this.options.client, apiServicesOf(crds.map(discoveredType)));
      }
    }
  }
}
