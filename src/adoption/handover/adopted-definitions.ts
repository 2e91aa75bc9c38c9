import { newTooManyRequests } from '../../apimachinery/meta/errors.js';
import { type GroupResource, groupOf, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { GroupRoute } from '../../client/api-services.js';
import { type Handover, HandoverReason } from '../../registry/generic/handover.js';
import { lastRevisionOf, stageFacts, stageOf } from '../protocol/stages.js';

const RETRY_SECONDS = 1;

/** Returns the error for a write to a group for which no server accepts writes at the moment. Clients retry by themselves. */
export const newGroupMovingError = (group: string): Error =>
  newTooManyRequests(`${group} is being moved: writes will be accepted again shortly, try again`, RETRY_SECONDS);

interface Adopted {
  readonly group: string;
  readonly stage: string;
  /** The revision of the definition before which every write was committed; undefined while writes are possible. */
  readonly closedAt: number | undefined;
}

/**
 * The state of adoptions according to their definitions. Each definition is passed to it before it is served, so that no replica
 * accepts a write that the definition does not allow.
 */
export class AdoptedDefinitions implements Handover {
  private readonly definitions = new Map<string, Adopted>();
  /** The revisions at which writes ended, by the names of definitions that are gone. */
  private readonly closedRevisions = new Map<string, number>();

  /** Called when the route of a group may have changed. */
  onRouteChange: () => void = () => undefined;

  seen(definition: KubeObject): void {
    const name = definition.metadata.name ?? '';
    const stage = stageOf(definition);
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
    return adopted === undefined || stageFacts(adopted.stage).takesWrites;
  }

  /** Reports whether the cluster owns the group, so that changes there are written to the copy here. */
  followsCluster({ group, resource }: GroupResource): boolean {
    return stageFacts(this.definitions.get(`${resource}.${group}`)?.stage ?? '').follows;
  }

  /** Reports whether a write that was committed at a revision came before the end of writes. */
  tookWritesAt({ group, resource }: GroupResource, revision: number): boolean {
    const closedAt = this.closedAt(`${resource}.${group}`);
    return closedAt === undefined || revision < closedAt;
  }

  /** Lists of a leaving type show no revision above the last one of its definition; `before` stays as long as that is the same. */
  relist(definition: KubeObject, before: HandoverReason | undefined): HandoverReason | undefined {
    if (!stageFacts(stageOf(definition) ?? '').leaves) return undefined;
    const last = lastRevisionOf(definition);
    if (before !== undefined && (last === undefined || before.since === last)) return before;
    return new HandoverReason(last ?? Number(definition.metadata.resourceVersion ?? 0));
  }

  routeOf(group: string): GroupRoute {
    let route: GroupRoute = 'Ordinary';
    for (const adopted of this.definitions.values()) {
      if (adopted.group !== group) continue;
      if (!stageFacts(adopted.stage).isRouted) return 'Cluster';
      route = 'Annex';
    }
    return route;
  }

  private closedAt(name: string): number | undefined {
    return this.definitions.get(name)?.closedAt ?? this.closedRevisions.get(name);
  }
}
