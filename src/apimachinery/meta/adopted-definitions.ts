import { objectAt, stringAt } from '../json/json.js';
import { newTooManyRequests } from './errors.js';
import type { GroupResource, KubeObject } from './meta.js';

/** On a ResourceDefinition that an Adoption has made: how far it is. */
export const ADOPTION_STAGE = 'kubeannex.io/adoption';

/** Names of what an adoption makes in the cluster begin with it. */
export const ADOPTION_PREFIX = 'annex-adoption.';

/**
 * - Copying: the cluster serves the group; Annex keeps a copy.
 * - Switching: requests for the group come here, and nobody takes writes.
 * - Served: Annex alone takes writes.
 * - Closing: requests for the group come here, and no write begins any more.
 * - Returning: every write has ended; requests for the group come here, nobody takes writes, and watches end: the cluster is about to serve the group again.
 * - Left: the cluster serves the group again. Requests of a kube-apiserver that does not know yet are answered as in Returning.
 */
export type AdoptionStage = 'Copying' | 'Switching' | 'Served' | 'Closing' | 'Returning' | 'Left';

const FOLLOWING: ReadonlySet<string> = new Set<AdoptionStage>(['Copying', 'Switching']);
const OWN: ReadonlySet<string> = new Set<AdoptionStage>(['Served', 'Closing', 'Returning']);

/** Whether Annex' objects of a definition are but a copy of the cluster's: they are not deleted with it. */
export function isCopy({ metadata }: KubeObject): boolean {
  const stage = metadata.annotations?.[ADOPTION_STAGE];
  return stage !== undefined && !OWN.has(stage);
}

/** Whether the group of a definition goes back to the cluster: clients that watch it have to list it there. */
export function isLeaving({ metadata }: KubeObject): boolean {
  const stage = metadata.annotations?.[ADOPTION_STAGE];
  return stage === 'Returning' || stage === 'Left';
}

const RETRY_SECONDS = 1;

/** The answer to a write to a group of which nobody takes writes for a moment; clients try again by themselves. */
export const beingMoved = (group: string): Error =>
  newTooManyRequests(`${group} is being moved: writes are taken again in a moment, try again`, RETRY_SECONDS);

const ROUTED: ReadonlySet<string> = new Set<string>(['Switching', ...OWN]);

/** Which server gets the requests for a group. By default Annex, unless another one has it. */
export type GroupRoute = 'Ordinary' | 'Cluster' | 'Annex';

interface Adopted {
  readonly group: string;
  readonly stage: string;
  /** Revision of the definition before which every write was committed; undefined while there may be some. */
  readonly closedAt: number | undefined;
}

/**
 * What definitions say of adoptions. It is told of each definition before that is served, so that no replica takes a write that the
 * definition does not allow.
 */
export class AdoptedDefinitions {
  private readonly definitions = new Map<string, Adopted>();
  /** Since when types took no writes whose definitions are gone. */
  private readonly left = new Map<string, number>();

  /** Called when the route of a group may have changed. */
  changed: () => void = () => undefined;

  seen(definition: KubeObject): void {
    const name = definition.metadata.name ?? '';
    const stage = definition.metadata.annotations?.[ADOPTION_STAGE];
    if (stage === this.definitions.get(name)?.stage) return;
    const group = stringAt(objectAt(definition, 'spec'), 'group') ?? '';
    const { resourceVersion = 0 } = definition.metadata;
    const closedAt =
      stage === 'Served' || stage === 'Closing' ? undefined : (this.closedAt(name) ?? Number(resourceVersion));
    this.left.delete(name);
    if (stage === undefined) this.definitions.delete(name);
    else this.definitions.set(name, { group, stage, closedAt });
    this.changed();
  }

  gone(definition: KubeObject): void {
    const name = definition.metadata.name ?? '';
    const closedAt = this.closedAt(name);
    if (closedAt !== undefined) this.left.set(name, closedAt);
    if (this.definitions.delete(name)) this.changed();
  }

  /** By the definitions' names. */
  stages(): ReadonlyMap<string, string> {
    return new Map([...this.definitions].map(([name, { stage }]) => [name, stage]));
  }

  /** Stages that nobody knows take no writes. */
  takesWrites({ group, resource }: GroupResource): boolean {
    const adopted = this.definitions.get(`${resource}.${group}`);
    return adopted === undefined || adopted.stage === 'Served';
  }

  /** Whether the cluster owns the group, so that what changes there is written to the copy here. */
  followsCluster({ group, resource }: GroupResource): boolean {
    return FOLLOWING.has(this.definitions.get(`${resource}.${group}`)?.stage ?? '');
  }

  /** Whether a write that was committed at a revision came before the end of writes. */
  tookWritesAt({ group, resource }: GroupResource, revision: number): boolean {
    const closedAt = this.closedAt(`${resource}.${group}`);
    return closedAt === undefined || revision < closedAt;
  }

  routeOf(group: string): GroupRoute {
    let route: GroupRoute = 'Ordinary';
    for (const adopted of this.definitions.values()) {
      if (adopted.group !== group) continue;
      if (!ROUTED.has(adopted.stage)) return 'Cluster';
      route = 'Annex';
    }
    return route;
  }

  private closedAt(name: string): number | undefined {
    return this.definitions.get(name)?.closedAt ?? this.left.get(name);
  }
}
