import type { Clock } from '../../util/clock.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Backend, Staging } from '../../storage/interfaces.js';
import { ClusterDefinitions } from '../cluster/cluster-definitions.js';
import { Fence } from '../cluster/fence.js';
import type { KubeApiservers } from '../cluster/kube-apiservers.js';
import type { AdoptedDefinitions } from '../handover/adopted-definitions.js';
import type { Action } from '../protocol/transitions.js';
import type { ReplicaStages } from '../replica-stages.js';
import { AnnexDefinitions } from './annex-definitions.js';
import { Discovery } from './discovery.js';
import { Journal } from './journal.js';
import { StepTimer } from './step-timer.js';

/** The dependencies for moving a group in either direction. */
export interface MoveOptions {
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

/** What carries out the steps of either direction. */
export interface Parts {
  readonly options: MoveOptions;
  readonly journal: Journal;
  readonly fence: Fence;
  readonly clusterDefinitions: ClusterDefinitions;
  readonly annexDefinitions: AnnexDefinitions;
  readonly discovery: Discovery;
  readonly stepTimer: StepTimer;
}

export function partsOf(options: MoveOptions): Parts {
  const { adoptions, definitions, client, clock, group, namespace, servers, uid } = options;
  const journal = new Journal({ client: adoptions, clock, group, uid });
  const clusterDefinitions = new ClusterDefinitions(client, group);
  return {
    options,
    journal,
    fence: new Fence({ client, group, namespace }),
    clusterDefinitions,
    annexDefinitions: new AnnexDefinitions({ client: definitions, clock, group }),
    discovery: new Discovery({ client, servers, clock, clusterDefinitions, journal }),
    stepTimer: new StepTimer(clock),
  };
}

/** Carries out steps of the protocol; each throws if it fails. */
export type Steps = Readonly<Partial<Record<Action, (signal: AbortSignal) => Promise<unknown>>>>;

/** A step that cannot succeed any more. */
export class RefusedError extends Error {}

/** The cluster has passed the first revision of Annex: the next attempt begins above it. */
export class PassedError extends Error {}

/** A kube-apiserver has to observe a policy in this fraction of the time for which writes may be refused. */
const PROMPT_SHARE = 3;

/** Throws if kube-apiservers have taken too long to observe a policy: while writes are refused, they would take as long for each step. */
export function assertPrompt(tookMillis: number, maxRefusedMillis: number): void {
  if (tookMillis <= maxRefusedMillis / PROMPT_SHARE) return;
  const seconds = (tookMillis / 1000).toFixed(1);
  throw new Error(`kube-apiservers observe a policy only after ${seconds} s: writes would be refused for too long`);
}
