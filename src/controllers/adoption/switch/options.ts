import type { AdoptedDefinitions } from '../../../apimachinery/meta/adopted-definitions.js';
import type { ClusterClient } from '../../../client/cluster-client.js';
import type { LoopbackClient } from '../../../registry/rest/loopback-client.js';
import type { Backend, Staging } from '../../../storage/interfaces.js';
import type { Clock } from '../../../util/clock.js';
import type { ReplicaStages } from '../replica-stages.js';
import type { KubeApiservers } from './kube-apiservers.js';

/** What it takes to move a group, in either direction. */
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
  /** Of the Adoption. */
  readonly uid: string;
  /** Of Annex. */
  readonly namespace: string;
  readonly copyRate: number;
  readonly failed: (error: unknown) => void;
}
