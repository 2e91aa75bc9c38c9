import { objectAt, textAt, type JsonObject } from '../json/json.js';
import { newTooManyRequests } from './errors.js';
import type { GroupResource, KubeObject } from './meta.js';

/** Annotation of a ResourceDefinition that an Adoption created: the stage of the adoption. */
export const ADOPTION_STAGE = 'kubeannex.io/adoption';

/**
 * Annotation of a ResourceDefinition whose group goes back to the cluster: the newest revision that lists show. It is part of the definition,
 * so that every replica shows the same, and lies ahead of the log, because a replica that has not read it yet shows newer states as they
 * come: a client that lists from one replica after the other would see the revision go back.
 */
export const ADOPTION_LAST_REVISION = 'kubeannex.io/adoption-last-revision';

/** Prefix of the names of the objects that an adoption creates in the cluster. */
export const ADOPTION_PREFIX = 'annex-adoption.';

/**
 * The stages of an adoption:
 * - Copying: the cluster serves the group; Annex keeps a copy.
 * - Switching: requests for the group reach Annex, and no server accepts writes.
 * - Served: only Annex accepts writes.
 * - Closing: requests for the group reach Annex, and no new writes begin.
 * - Returning: every write has ended. Requests for the group reach Annex, no server accepts writes, and watches end: the cluster
 *   is about to serve the group again.
 * - Left: the cluster serves the group again. Requests from a kube-apiserver that has not noticed yet are answered as in
 *   Returning.
 */
export type AdoptionStage = 'Copying' | 'Switching' | 'Served' | 'Closing' | 'Returning' | 'Left';

const FOLLOWING: ReadonlySet<string> = new Set<AdoptionStage>(['Copying', 'Switching']);
const OWN: ReadonlySet<string> = new Set<AdoptionStage>(['Served', 'Closing', 'Returning']);

/** Reports whether Annex's objects of a definition are only a copy of the cluster's; if so, they are not deleted with the definition. */
export function isCopy({ metadata }: KubeObject): boolean {
  const stage = metadata.annotations?.[ADOPTION_STAGE];
  return stage !== undefined && !OWN.has(stage);
}

/** Reports whether the group of a definition goes back to the cluster: clients that watch it have to relist there. */
export function isLeaving({ metadata }: KubeObject): boolean {
  const stage = metadata.annotations?.[ADOPTION_STAGE];
  return stage === 'Returning' || stage === 'Left';
}

/** Returns the newest revision that lists of a type show whose definition is leaving; undefined if an older version of Annex has set the stage. */
export function lastRevisionOf({ metadata }: KubeObject): number | undefined {
  const last = metadata.annotations?.[ADOPTION_LAST_REVISION];
  return last === undefined ? undefined : Number(last);
}

/** The response to a watch of a group that leaves Annex, whose next server has no such revisions: by it, clients list again, and the leader tells who serves. */
export const RELIST_ELSEWHERE_MESSAGE = 'too old resource version: 0 (0)';

const RETRY_SECONDS = 1;

/** Returns the error for a write to a group for which no server accepts writes at the moment. Clients retry by themselves. */
export const newGroupMovingError = (group: string): Error =>
  newTooManyRequests(`${group} is being moved: writes will be accepted again shortly, try again`, RETRY_SECONDS);

const ROUTED: ReadonlySet<string> = new Set<string>(['Switching', ...OWN]);

/** The server that receives the requests for a group. Ordinary: Annex, unless another server has the group. */
export type GroupRoute = 'Ordinary' | 'Cluster' | 'Annex';

interface Adopted {
  readonly group: string;
  readonly stage: string;
  /** The revision of the definition before which every write was committed; undefined while writes are possible. */
  readonly closedAt: number | undefined;
}

/** Returns the group of a definition. */
export const groupOf = (definition: JsonObject): string => textAt(objectAt(definition, 'spec'), 'group');

/**
 * The state of adoptions according to their definitions. Each definition is passed to it before it is served, so that no replica
 * accepts a write that the definition does not allow.
 */
export class AdoptedDefinitions {
  private readonly definitions = new Map<string, Adopted>();
  /** The revisions at which writes ended, by the names of definitions that are gone. */
  private readonly closedRevisions = new Map<string, number>();

  /** Called when the route of a group may have changed. */
  onRouteChange: () => void = () => undefined;

  seen(definition: KubeObject): void {
    const name = definition.metadata.name ?? '';
    const stage = definition.metadata.annotations?.[ADOPTION_STAGE];
    if (stage === this.definitions.get(name)?.stage) return;
    const group = groupOf(definition);
    const { resourceVersion = 0 } = definition.metadata;
    const closedAt =
      stage === 'Served' || stage === 'Closing' ? undefined : (this.closedAt(name) ?? Number(resourceVersion));
    this.closedRevisions.delete(name);
    if (stage === undefined) this.definitions.delete(name);
    else this.definitions.set(name, { group, stage, closedAt });
    this.onRouteChange();
  }

  gone(definition: KubeObject): void {
    const name = definition.metadata.name ?? '';
    const closedAt = this.closedAt(name);
    if (closedAt !== undefined) this.closedRevisions.set(name, closedAt);
    if (this.definitions.delete(name)) this.onRouteChange();
  }

  /** Returns the stages by the names of the definitions. */
  stages(): ReadonlyMap<string, string> {
    return new Map([...this.definitions].map(([name, { stage }]) => [name, stage]));
  }

  /** Reports whether a type accepts writes. In an unknown stage it does not. */
  takesWrites({ group, resource }: GroupResource): boolean {
    const adopted = this.definitions.get(`${resource}.${group}`);
    return adopted === undefined || adopted.stage === 'Served';
  }

  /** Reports whether the cluster owns the group, so that changes there are written to the copy here. */
  followsCluster({ group, resource }: GroupResource): boolean {
    return FOLLOWING.has(this.definitions.get(`${resource}.${group}`)?.stage ?? '');
  }

  /** Reports whether a write that was committed at a revision came before the end of writes. */
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
    return this.definitions.get(name)?.closedAt ?? this.closedRevisions.get(name);
  }
}
