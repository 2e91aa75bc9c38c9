import { ADOPTION_STAGE } from '../protocol/names.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { Revision } from '../../storage/interfaces.js';
import { isOnMainLog } from '../../storage/routed-backend.js';
import { sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { isConflictOrNotFound } from '../../controllers/errors.js';
import { type AdoptedType, adoptedType, refusalReason } from '../rehearsal/definitions.js';
import { RateLimit } from '../rate-limit.js';
import { Return, type ReturnParts } from './return.js';
import { Source } from './source.js';
import { AnnexDefinitions } from './annex-definitions.js';
import {
  clusterRevision,
  LAST_REVISION_ROOM,
  measureRevisions,
  RAISE_SLACK,
  raiseCluster,
  revisionsDuringSwitch,
} from '../cluster/cluster-revision.js';
import type { SwitchOptions } from './options.js';
import { ClusterDefinitions } from '../cluster/cluster-definitions.js';
import { DISCOVERED, Discovery } from './discovery.js';
import { Fence } from '../cluster/fence.js';
import { ChangeFollower } from './follower.js';
import { type ConditionUpdate, Journal, type SwitchRecord } from './journal.js';
import type { Stages } from '../replica-stages.js';
import type { KubeApiserver } from '../cluster/kube-apiservers.js';
import { StepTimer } from './step-timer.js';
import { haveAllLeft, routedToAnnex, servedByCluster } from '../cluster/routes.js';
import { InFlightWrites } from '../cluster/in-flight-writes.js';

/** The stages in which the cluster owns the group. */
const FOLLOWING: ReadonlySet<string> = new Set(['Copying', 'Switching']);
/** By then, every write that began before all kube-apiservers counted has ended: their request timeout, plus a margin. */
const COUNTED_MILLIS = 65_000;
/** Time limits of the steps. */
const ESTABLISH_MILLIS = 60_000;
const FENCE_MILLIS = 20_000;
const DRAIN_MILLIS = 65_000;
const CATCH_UP_MILLIS = 20_000;
const STAGE_MILLIS = 20_000;
const ROUTE_MILLIS = 30_000;
const RETURN_MILLIS = 120_000;
/** The longest time for which writes are refused while kube-apiservers do not follow the new route. */
const MAX_FENCED_MILLIS = 120_000;
const RETRY_MILLIS = 1_000;
const POLL_MILLIS = 500;

/** Aborts the switch. Any other error only stops this replica, and the next leader continues. */
class SwitchAborted extends Error {}

/** Moves a group from the cluster to Annex, or rolls back. Every step may already have been done by a replica that is gone. */
export class Switch implements ReturnParts {
  readonly journal: Journal;
  readonly fence: Fence;
  readonly clusterDefinitions: ClusterDefinitions;
  readonly annexDefinitions: AnnexDefinitions;
  readonly discovery: Discovery;
  door = 0;
  private readonly inFlightWrites: InFlightWrites;
  private readonly source: Source;
  private readonly stepTimer: StepTimer;
  private follower: ChangeFollower | undefined;

  constructor(private readonly options: SwitchOptions) {
    const { adoptions, definitions, client, clock, group, namespace, servers, uid } = options;
    this.stepTimer = new StepTimer(clock);
    this.journal = new Journal({ client: adoptions, clock, group, uid });
    this.fence = new Fence({ client, group, namespace });
    this.inFlightWrites = new InFlightWrites({ client, group });
    this.clusterDefinitions = new ClusterDefinitions(client, group);
    this.annexDefinitions = new AnnexDefinitions({ client: definitions, clock, group });
    const { fence, journal, clusterDefinitions } = this;
    this.discovery = new Discovery({ client, servers, clock, clusterDefinitions, journal });
    const rate = new RateLimit(clock, options.copyRate);
    this.source = new Source({ client, clock, fence, group, journal, rate, clusterDefinitions });
  }

  /** Continues from the recorded step until the group is served, the switch is given up, or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.options;
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      try {
        await this.journal.read();
        await this.advance(signal);
        return;
      } catch (error) {
        // Of two leaders, only one continues.
        if (!isOver() && !isConflictOrNotFound(error)) {
          onError(error);
          await this.journal.reportProgress(messageOf(error)).catch(onError);
        }
      } finally {
        await this.follower?.stop();
        this.follower = undefined;
      }
      await sleep(clock, RETRY_MILLIS, signal);
    }
  }

  /** Restores the barriers that remain while Annex serves the group, in case they were removed. */
  async hold(): Promise<void> {
    await this.clusterDefinitions.closeBackDoor(await this.annexDefinitions.list());
    await this.clusterDefinitions.stopServing();
    if ((await this.clusterDefinitions.list()).length > 0) await this.fence.put();
    else await this.fence.remove();
    await this.annexDefinitions.setStage('Served');
    await this.inFlightWrites.remove();
    await this.source.reportRetained();
  }

  /** Frees the copy that the cluster keeps. */
  async free(signal: AbortSignal): Promise<void> {
    await this.source.free(signal);
  }

  /** Starts counting writes long before they are refused. Throws while not every kube-apiserver counts; returns undefined if there are no types. */
  async countEarly(types: readonly AdoptedType[], signal: AbortSignal): Promise<Partial<SwitchRecord> | undefined> {
    const [type] = types;
    if (type === undefined) return undefined;
    const counted = await this.inFlightWrites.count();
    await this.countEverywhere(type, counted, 0, signal);
    return { counted, countedSince: this.options.clock.now() };
  }

  /** Removes what exists only for the switch. */
  async cleanUp(): Promise<void> {
    await this.inFlightWrites.remove();
  }

  private async advance(signal: AbortSignal): Promise<void> {
    const { journal } = this;
    if (journal.phase === 'Served' ? journal.isReturnWanted : journal.record.back !== '') {
      await new Return(this.options, this).run(signal);
      return;
    }
    // The caller may have seen an older state.
    if (journal.phase !== 'InSync' && !journal.isMoving) return;
    if (journal.phase !== 'Returning') {
      try {
        await this.forward(signal);
        return;
      } catch (error) {
        if (signal.aborted || isConflictOrNotFound(error)) throw error;
        await journal.read();
        if (!(error instanceof SwitchAborted) && !(await this.isOverdue())) throw error;
        await journal.write('Returning', {}, `the switch is given up: ${messageOf(error)}`);
      }
    }
    await this.rollBack(signal);
  }

  private async forward(signal: AbortSignal): Promise<void> {
    const { journal } = this;
    if (journal.phase !== 'Switching') {
      const types = await this.prepare(signal);
      await this.stopClusterWrites(types, signal);
    }
    await this.route(signal);
    await this.clusterDefinitions.stopServing();
    await this.check();
    await this.assertClusterRevisionBelow();
    await this.assertFenceIntact();
    this.stepTimer.end('the definitions');
    await journal.write('Served', { fencedAt: 0 }, this.served());
    await this.annexDefinitions.setStage('Served');
    await this.inFlightWrites.remove();
  }

  /** Gives Annex the objects and follows their changes; the cluster continues to take writes. */
  private async prepare(signal: AbortSignal): Promise<readonly AdoptedType[]> {
    const { journal } = this;
    const { backend, clock, client, group, staging, adopted, copyRate } = this.options;
    if (journal.phase !== 'Preparing' && journal.phase !== 'Fencing')
      await journal.write('Preparing', {}, 'Annex takes over the copy; the cluster accepts writes');
    const crds = await this.clusterDefinitions.list();
    const types = this.typesOf(crds);
    await this.countWrites(types, signal);
    // Wait first: the cluster's revision advances meanwhile.
    await this.waitUntilCounted(signal);
    // The log is never behind the objects: a replica that finds it so refuses to start.
    if (journal.record.first === 0) await backend.raise(await this.firstRevision(signal));
    for (const { resource } of types) await staging.install(resource);
    if (journal.record.first === 0)
      await journal.write('Preparing', { first: await backend.currentRevision() }, 'the copy is in place');
    await this.annexDefinitions.create(crds, ESTABLISH_MILLIS, signal);
    await this.servedByReplicas(crds, signal);
    const { first } = journal.record;
    const rate = new RateLimit(clock, copyRate);
    const isFollowing = (resource: string): boolean =>
      adopted.followsCluster({ group, resource: resource.slice(0, -group.length - 1) });
    this.follower = new ChangeFollower({ backend, client, clock, first, group, isFollowing, rate, types });
    this.follower.start();
    await this.follower.waitUntilFollowing(signal);
    await this.check();
    await this.assertClusterRevisionBelow();
    return types;
  }

  /**
   * Returns the revision at which Annex's log starts: above every one that the cluster reaches until the switch is over, estimated from its
   * present rate of writes. `assertClusterRevisionBelow` verifies it.
   */
  private async firstRevision(signal: AbortSignal): Promise<Revision> {
    const { client, clock, copyRate } = this.options;
    const { now, perSecond } = await measureRevisions(() => clusterRevision(client), clock, signal);
    const objects = this.journal.resources.reduce((sum, { copied }) => sum + Number(copied ?? 0), 0);
    return now + revisionsDuringSwitch({ perSecond, objects, copyRate });
  }

  /** A request that is routed to Annex may reach any replica. */
  private async servedByReplicas(crds: readonly KubeObject[], signal: AbortSignal): Promise<void> {
    const names = crds.map(({ metadata }) => metadata.name ?? '');
    // Not what a replica knows of an earlier adoption of the group.
    const serves = (stages: Stages): boolean => names.every((name) => FOLLOWING.has(stages[name] ?? ''));
    await this.options.replicas.everywhere('serving the types', serves, ESTABLISH_MILLIS, signal);
  }

  /** Ends writes in the cluster and completes the copy in Annex. */
  private async stopClusterWrites(types: readonly AdoptedType[], signal: AbortSignal): Promise<void> {
    const { journal, fence, inFlightWrites } = this;
    const { clock, servers } = this.options;
    const fencedAt = journal.record.fencedAt === 0 ? clock.now() : journal.record.fencedAt;
    await journal.write('Fencing', { fencedAt }, 'the cluster accepts no writes to the group for a few seconds');
    this.stepTimer.begin();
    const identity = await fence.put();
    await servers.everywhere('the fence', (server) => fence.isEnforcedBy(server), FENCE_MILLIS, signal);
    this.stepTimer.end('the fence');
    const seen = new Map<object, Set<string>>();
    const ended = (server: KubeApiserver): Promise<boolean> => {
      let zeros = seen.get(server);
      if (zeros === undefined) seen.set(server, (zeros = new Set()));
      return inFlightWrites.isDrained(server, zeros);
    };
    await servers.everywhere('writes under way', ended, DRAIN_MILLIS, signal);
    this.stepTimer.end('writes under way');
    await this.follower?.finish(CATCH_UP_MILLIS, signal);
    this.stepTimer.end('last changes');
    await this.check();
    await this.assertClusterRevisionBelow();
    if (identity !== (await fence.identity())) throw new SwitchAborted('the fence was changed by another client');
    if (types.length !== (await this.clusterDefinitions.list()).length)
      throw new SwitchAborted('the definitions of the group changed');
    await this.assertDefinitionsComplete();
    await journal.write(
      'Switching',
      { fence: identity },
      'requests for the group go to Annex, which does not accept writes yet',
    );
  }

  /** Has every kube-apiserver route requests for the group to Annex. */
  private async route(signal: AbortSignal): Promise<void> {
    const { servers } = this.options;
    await this.check();
    await this.assertFenceIntact();
    await this.annexDefinitions.setStage('Switching');
    const definitions = await this.annexDefinitions.list();
    const { first } = this.journal.record;
    await servers.everywhere('the route', (server) => routedToAnnex(server, definitions, first), ROUTE_MILLIS, signal);
    await this.assertClusterRevisionBelow();
    this.stepTimer.end('the route');
  }

  /** Restores the state before the switch: first the cluster serves reads again, then it takes writes. */
  private async rollBack(signal: AbortSignal): Promise<void> {
    const { journal, fence, annexDefinitions, clusterDefinitions } = this;
    const { replicas, servers, staging } = this.options;
    // From Switching on, clients may have been routed to Annex.
    const wasRouted = journal.record.fence !== '';
    if (wasRouted) {
      // The fence may have been removed: writes must stay refused while some clients still read the copy.
      await fence.put();
      await servers.everywhere('the fence', (server) => fence.isEnforcedBy(server), FENCE_MILLIS, signal);
      await this.raiseAboveAnnex(signal);
    }
    await clusterDefinitions.restore();
    if (wasRouted) await clusterDefinitions.restartCaches();
    await annexDefinitions.setStage('Left');
    const definitions = await annexDefinitions.list();
    await replicas.everywhere('the end of the route', haveAllLeft(definitions), RETURN_MILLIS, signal);
    const isBack = (server: KubeApiserver): Promise<boolean> => servedByCluster(server, definitions);
    await servers.everywhere('the route back', isBack, RETURN_MILLIS, signal);
    await annexDefinitions.remove(ESTABLISH_MILLIS, signal);
    // Uses the cluster's definitions: those of Annex may already be gone.
    for (const { metadata } of await clusterDefinitions.list()) await staging.discard(metadata.name ?? '');
    await staging.drop();
    await fence.remove();
    // A leader that continues here must not refuse writes again.
    if (wasRouted) await journal.write('Returning', { fence: '' }, journal.message);
    await this.discovery.complete(signal);
    await clusterDefinitions.unmark();
    const findings: ConditionUpdate[] = [DISCOVERED];
    await journal.write('Failed', { first: 0, fence: '', fencedAt: 0 }, journal.message, findings);
  }

  /** Raises the cluster's revision above every one that Annex has returned for the group: from here on lists return no newer one, and watches end. */
  private async raiseAboveAnnex(signal: AbortSignal): Promise<void> {
    const { backend, replicas } = this.options;
    const definitions = await this.annexDefinitions.list();
    const names = definitions.map(({ metadata }) => metadata.name ?? '');
    // A previous leader has raised it, and the routes are being removed.
    if (definitions.some(({ metadata }) => metadata.annotations?.[ADOPTION_STAGE] === 'Left')) return;
    const last = await this.annexDefinitions.setReturning((await backend.currentRevision()) + LAST_REVISION_ROOM);
    const isThere = (stages: Stages): boolean => names.every((name) => stages[name] === 'Returning');
    await replicas.everywhere('the end of watches', isThere, STAGE_MILLIS, signal);
    await raiseCluster(this.options, Math.max(await backend.currentRevision(), last) + RAISE_SLACK, signal);
  }

  private typesOf(crds: readonly KubeObject[]): readonly AdoptedType[] {
    const refusal = crds.map(refusalReason).find((why) => why !== '');
    if (refusal !== undefined) throw new SwitchAborted(refusal);
    const types = crds.map(adoptedType);
    const { backend } = this.options;
    const unserved = types.find(({ version }) => version === '');
    if (types.length === 0 || unserved !== undefined)
      throw new SwitchAborted(`the cluster serves no version of ${unserved?.resource ?? this.options.group}`);
    const apart = types.find(({ resource }) => !isOnMainLog(backend, resource));
    if (apart !== undefined) throw new SwitchAborted(`${apart.resource} has a separate log in Annex`);
    return types;
  }

  private async countWrites(types: readonly AdoptedType[], signal: AbortSignal): Promise<void> {
    const { journal, inFlightWrites } = this;
    const { clock } = this.options;
    const [type] = types;
    if (type === undefined) return;
    const uid = await inFlightWrites.count();
    await this.countEverywhere(type, uid, ESTABLISH_MILLIS, signal);
    if (journal.record.counted !== uid)
      await journal.write('Preparing', { counted: uid, countedSince: clock.now() }, 'writes are counted');
  }

  private async countEverywhere(type: AdoptedType, uid: string, millis: number, signal: AbortSignal): Promise<void> {
    const { group, servers } = this.options;
    const counts = (server: KubeApiserver): Promise<boolean> =>
      this.inFlightWrites.isCounted(server, uid, `${group}/${type.version}`, type.plural);
    await servers.everywhere('counting writes', counts, millis, signal);
  }

  private async waitUntilCounted(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    while (clock.now() - this.journal.record.countedSince < COUNTED_MILLIS && !signal.aborted) {
      await this.check();
      await sleep(clock, POLL_MILLIS, signal);
    }
  }

  /** Throws if the switch is no longer wanted, or if another replica has continued it. */
  private async check(): Promise<void> {
    const { journal } = this;
    const { phase } = journal;
    await journal.read();
    if (journal.phase !== phase) throw new Error(`the phase is ${journal.phase}, not ${phase}`);
    if (!journal.isWanted) throw new SwitchAborted('the switch is no longer wanted');
  }

  /** Reports whether a failure ends the switch. It is retried while clients can write, and for a while once they are routed to Annex. */
  private async isOverdue(): Promise<boolean> {
    const { phase, record } = this.journal;
    if (phase === 'Fencing') return true;
    if (phase !== 'Switching') return false;
    return (
      this.options.clock.now() - record.fencedAt > MAX_FENCED_MILLIS || (await this.fence.identity()) !== record.fence
    );
  }

  /** Throws unless the fence is unchanged, so that no write can have been missed, and no definition is gone. */
  private async assertFenceIntact(): Promise<void> {
    if ((await this.fence.identity()) !== this.journal.record.fence)
      throw new SwitchAborted('the fence was changed by another client');
    await this.assertDefinitionsComplete();
  }

  private async assertDefinitionsComplete(): Promise<void> {
    if (!(await this.annexDefinitions.isCompleteFor(await this.clusterDefinitions.list())))
      throw new SwitchAborted('a ResourceDefinition of the group was deleted');
  }

  /**
   * Verifies that the cluster's revisions are still lower than those of Annex: every list with a higher one comes from Annex, and no client
   * holds a revision of the cluster that Annex has assigned to another change.
   */
  private async assertClusterRevisionBelow(): Promise<void> {
    const { first } = this.journal.record;
    const now = await clusterRevision(this.options.client);
    if (now >= first)
      throw new SwitchAborted(
        `the cluster is already at revision ${now}, but Annex began at ${first}: the cluster writes more than expected`,
      );
  }

  private served(): string {
    const { fencedAt } = this.journal.record;
    const seconds = (this.options.clock.now() - fencedAt) / 1000;
    return `Annex serves the group; writes were refused for ${seconds.toFixed(1)} s${this.stepTimer.text}`;
  }
}
