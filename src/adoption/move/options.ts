import type { AdoptedDefinitions } from '../handover/adopted-definitions.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Backend, Staging } from '../../storage/interfaces.js';
import type { Clock } from '../../util/clock.js';
import type { ReplicaStages } from '../replica-stages.js';
import type { KubeApiservers } from '../cluster/kube-apiservers.js';

/** The dependencies for moving a group in either direction. */
export interface SwitchOptions {
  readonly adoptions: LoopbackClient;
  readonly definitions: LoopbackClient;
  readonly client: ClusterClient;
  readonly servers: KubeApiservers;
  readonly replicas: Pick<ReplicaStages, 'everywhere' | 'settled'>;
  readonly backend: Backend;
  readonly staging: Staging;
  readonly adopted: Pick<AdoptedDefinitions, 'followsCluster'>;
  readonly clock: Clock;
  readonly group: string;
  /** The UID of the Adoption. */
  readonly uid: string;
  /** The namespace that Annex runs in. */
  readonly namespace: string;
  readonly copyRate: number;
  readonly onError: (error: unknown) => void;
}
