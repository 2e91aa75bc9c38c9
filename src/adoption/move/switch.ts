import { GIVEN_UP } from '../protocol/condition.js';
import { formatTime, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { Revision } from '../../storage/interfaces.js';
import { isOnMainLog } from '../../storage/routed-backend.js';
import { sleep } from '../../util/clock.js';
import {
  clusterRevision,
  LAST_REVISION_ROOM,
  measureRevisions,
  RAISE_SLACK,
  raiseCluster,
  revisionsDuringSwitch,
} from '../cluster/cluster-revision.js';
import { InFlightWrites } from '../cluster/in-flight-writes.js';
import type { KubeApiserver } from '../cluster/kube-apiservers.js';
import { haveAllLeft, routedToAnnex, servedByCluster } from '../cluster/routes.js';
import { stageFacts, stageOf } from '../protocol/stages.js';
import { RateLimit } from '../rate-limit.js';
import { type AdoptedType, adoptedType, refusalReason } from '../rehearsal/definitions.js';
import type { Stages } from '../replica-stages.js';
import { DISCOVERED } from './discovery.js';
import { ChangeFollower } from './follower.js';
import { type ConditionUpdate, type SwitchRecord } from './journal.js';
import { assertPrompt, type Parts, PassedError, RefusedError, type Steps } from './parts.js';

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
const POLL_MILLIS = 500;
/** When a switch is tried again that was given up once, twice and so on. */
const RETRY_AFTER_MILLIS = [15_000, 30_000, 60_000, 120_000, 300_000];
/** Nothing is refused. */
const NO_FENCE = { fence: '', fencedAt: 0 };

/** The steps of moving a group from the cluster to Annex, and of giving that up. */
export class Switch {
  private readonly inFlightWrites: InFlightWrites;
  private follower: ChangeFollower | undefined;
  /** The definitions and types of this attempt, and the identity of the fence that it has put in place. */
  private crds: readonly KubeObject[] = [];
  private types: readonly AdoptedType[] = [];
  private fenceIdentity = '';
  /** The newest revision that lists show while the group leaves; 0 if an earlier leader has raised the cluster's revision already. */
  private lastShown: Revision = 0;

  constructor(private readonly parts: Parts) {
    const { client, group } = parts.options;
    this.inFlightWrites = new InFlightWrites({ client, group });
  }

  readonly steps: Steps = {
    countWrites: (signal) => this.countWrites(signal),
    awaitCounted: (signal) => this.awaitCounted(signal),
    placeCopy: (signal) => this.placeCopy(signal),
    createDefinitions: (signal) => this.parts.annexDefinitions.create(this.crds, ESTABLISH_MILLIS, signal),
    awaitReplicas: (signal) => this.awaitReplicas(signal),
    follow: (signal) => this.follow(signal),
    rehearseFence: (signal) => this.rehearseFence(signal),
    check: () => this.check(),
    compareRevisions: () => this.compareRevisions(),
    putFence: async () => {
      this.fenceIdentity = await this.parts.fence.put();
    },
    awaitFence: async (signal) => {
      const { fence, stepTimer, options } = this.parts;
      await options.servers.everywhere(
        'the fence',
        (server) => fence.isEnforcedBy(server),
        this.within(FENCE_MILLIS),
        signal,
      );
      stepTimer.end('the fence');
    },
    drain: (signal) => this.drain(signal),
    carryOver: async (signal) => {
      await this.follower?.finish(this.within(CATCH_UP_MILLIS), signal);
      this.parts.stepTimer.end('last changes');
    },
    compareFence: () => this.compareFence(),
    compareDefinitions: () => this.compareDefinitions(),
    route: () => this.parts.annexDefinitions.setStage('Switching'),
    awaitRoute: (signal) => this.awaitRoute(signal),
    shutWatches: (signal) => this.shutWatches(signal),
    raiseAboveShown: async (signal) => {
      const { options } = this.parts;
      if (this.lastShown === 0) return;
      const above = Math.max(await options.backend.currentRevision(), this.lastShown) + RAISE_SLACK;
      await raiseCluster(options, above, signal);
    },
    serve: () => this.parts.clusterDefinitions.restore(),
    restartCaches: () => this.parts.clusterDefinitions.restartCaches(),
    awaitLeft: async (signal) => {
      const definitions = await this.parts.annexDefinitions.list();
      const { replicas } = this.parts.options;
      await replicas.everywhere('the end of the route', haveAllLeft(definitions), RETURN_MILLIS, signal);
    },
    awaitRouteBack: async (signal) => {
      const definitions = await this.parts.annexDefinitions.list();
      const isBack = (server: KubeApiserver): Promise<boolean> => servedByCluster(server, definitions);
      await this.parts.options.servers.everywhere('the route back', isBack, RETURN_MILLIS, signal);
    },
    removeFence: async () => {
      const { fence, journal } = this.parts;
      await fence.remove();
      // A leader that continues here must not refuse writes again.
      const { fence: before, fencedAt } = journal.record;
      if (before !== '' || fencedAt !== 0)
        await journal.write('GivingUp', NO_FENCE, journal.message, [['Ready', true]]);
    },
    unmark: () => this.parts.clusterDefinitions.unmark(),
    stopCounting: () => this.inFlightWrites.remove(),
  };

  /** Starts counting writes long before they are refused. Throws while not every kube-apiserver counts; returns undefined if there are no types. */
  async countEarly(types: readonly AdoptedType[], signal: AbortSignal): Promise<Partial<SwitchRecord> | undefined> {
    const [type] = types;
    if (type === undefined) return undefined;
    const counted = await this.inFlightWrites.count();
    await this.countEverywhere(type, counted, 0, signal);
    return { counted, countedSince: this.parts.options.clock.now() };
  }

  /** Ends what an attempt leaves running. */
  async stop(): Promise<void> {
    await this.follower?.stop();
    this.follower = undefined;
  }

  /** Records that the switch is given up, and when it is tried again. */
  async giveUp(why: string, isRetried: boolean): Promise<void> {
    const { journal, options } = this.parts;
    const { retries } = journal.record;
    const wait = RETRY_AFTER_MILLIS[Math.min(retries, RETRY_AFTER_MILLIS.length - 1)] ?? 0;
    const change = isRetried
      ? { retries: retries + 1, retryAt: options.clock.now() + wait }
      : { retries: 0, retryAt: 0 };
    await journal.write('GivingUp', change, `the switch is given up: ${why}`);
  }

  /** Records a state. */
  async record(state: 'Preparing' | 'Fencing' | 'Switching' | 'Served' | 'Copying' | 'Failed'): Promise<void> {
    const { journal, options, stepTimer } = this.parts;
    const { fencedAt, retryAt } = journal.record;
    switch (state) {
      case 'Preparing':
        return journal.write(state, {}, 'Annex takes over the copy; the cluster accepts writes');
      case 'Fencing':
        await journal.write(
          state,
          { fencedAt: fencedAt === 0 ? options.clock.now() : fencedAt },
          'the cluster accepts no writes to the group for a few seconds',
        );
        stepTimer.begin();
        return;
      case 'Switching':
        return journal.write(
          state,
          { fence: this.fenceIdentity },
          'requests for the group go to Annex, which does not accept writes yet',
        );
      case 'Served': {
        stepTimer.end('the definitions');
        const seconds = ((options.clock.now() - fencedAt) / 1000).toFixed(1);
        const message = `Annex serves the group; writes were refused for ${seconds} s${stepTimer.text}`;
        return journal.write(state, { fencedAt: 0, retries: 0, retryAt: 0 }, message);
      }
      case 'Copying': {
        const message = `${journal.message}; it is tried again after ${formatTime(retryAt)}`;
        const findings: ConditionUpdate[] = [['Switched', false, GIVEN_UP, message], DISCOVERED];
        return journal.write(state, { ...NO_FENCE, first: 0 }, message, findings);
      }
      case 'Failed':
        return journal.write(state, { ...NO_FENCE, first: 0 }, journal.message, [DISCOVERED]);
    }
  }

  /** The limit of a step while writes are refused. The end of the refusal has limits of its own. */
  private within(millis: number): number {
    const { journal } = this.parts;
    return journal.state === 'GivingUp' ? millis : Math.min(millis, journal.refusableMillis);
  }

  /** Verifies that every kube-apiserver observes a policy in a fraction of the time for which writes may be refused. */
  private async rehearseFence(signal: AbortSignal): Promise<void> {
    const { fence, journal, options } = this.parts;
    const { clock, servers } = options;
    const began = clock.monotonic();
    const through = await fence.rehearse(String(clock.now()));
    await servers.everywhere('a policy', (server) => fence.isEnforcedBy(server, through), FENCE_MILLIS, signal);
    assertPrompt(clock.monotonic() - began, journal.maxRefusedMillis);
  }

  private async countWrites(signal: AbortSignal): Promise<void> {
    const { journal, options, clusterDefinitions } = this.parts;
    this.crds = await clusterDefinitions.list();
    this.types = this.typesOf(this.crds);
    const [type] = this.types;
    if (type === undefined) return;
    const uid = await this.inFlightWrites.count();
    await this.countEverywhere(type, uid, ESTABLISH_MILLIS, signal);
    if (journal.record.counted !== uid)
      await journal.write('Preparing', { counted: uid, countedSince: options.clock.now() }, 'writes are counted');
  }

  private typesOf(crds: readonly KubeObject[]): readonly AdoptedType[] {
    const refusal = crds.map(refusalReason).find((why) => why !== '');
    if (refusal !== undefined) throw new RefusedError(refusal);
    const types = crds.map(adoptedType);
    const { backend, group } = this.parts.options;
    const unserved = types.find(({ version }) => version === '');
    if (types.length === 0 || unserved !== undefined)
      throw new RefusedError(`the cluster serves no version of ${unserved?.resource ?? group}`);
    const apart = types.find(({ resource }) => !isOnMainLog(backend, resource));
    if (apart !== undefined) throw new RefusedError(`${apart.resource} has a separate log in Annex`);
    return types;
  }

  private async countEverywhere(type: AdoptedType, uid: string, millis: number, signal: AbortSignal): Promise<void> {
    const { group, servers } = this.parts.options;
    const counts = (server: KubeApiserver): Promise<boolean> =>
      this.inFlightWrites.isCounted(server, uid, `${group}/${type.version}`, type.plural);
    await servers.everywhere('counting writes', counts, millis, signal);
  }

  private async awaitCounted(signal: AbortSignal): Promise<void> {
    const { journal, options } = this.parts;
    while (options.clock.now() - journal.record.countedSince < COUNTED_MILLIS && !signal.aborted) {
      await this.check();
      await sleep(options.clock, POLL_MILLIS, signal);
    }
  }

  /** Gives Annex the objects. The log is never behind them: a replica that finds it so refuses to start. */
  private async placeCopy(signal: AbortSignal): Promise<void> {
    const { journal, options } = this.parts;
    const { backend, staging } = options;
    const isNew = journal.record.first === 0;
    if (isNew) await backend.raise(await this.firstRevision(signal));
    for (const { resource } of this.types) await staging.install(resource);
    if (isNew) await journal.write('Preparing', { first: await backend.currentRevision() }, 'the copy is in place');
  }

  /**
   * Returns the revision at which Annex's log starts: above every one that the cluster reaches until the switch is over, estimated from its
   * present rate of writes. `compareRevisions` verifies it.
   */
  private async firstRevision(signal: AbortSignal): Promise<Revision> {
    const { client, clock, copyRate } = this.parts.options;
    const { now, perSecond } = await measureRevisions(() => clusterRevision(client), clock, signal);
    const objects = this.parts.journal.resources.reduce((sum, { copied }) => sum + Number(copied ?? 0), 0);
    return now + revisionsDuringSwitch({ perSecond, objects, copyRate });
  }

  /** A request that is routed to Annex may reach any replica. */
  private async awaitReplicas(signal: AbortSignal): Promise<void> {
    const names = this.types.map(({ resource }) => resource);
    // Not what a replica knows of an earlier adoption of the group.
    const serves = (stages: Stages): boolean => names.every((name) => stageFacts(stages[name] ?? '').follows);
    await this.parts.options.replicas.everywhere('serving the types', serves, ESTABLISH_MILLIS, signal);
  }

  /** Follows the changes of the cluster, which continues to take writes. */
  private async follow(signal: AbortSignal): Promise<void> {
    const { backend, client, clock, group, adopted, copyRate } = this.parts.options;
    const { first } = this.parts.journal.record;
    const rate = new RateLimit(clock, copyRate);
    const isFollowing = (resource: string): boolean =>
      adopted.followsCluster({ group, resource: resource.slice(0, -group.length - 1) });
    const { types } = this;
    this.follower = new ChangeFollower({ backend, client, clock, first, group, isFollowing, rate, types });
    this.follower.start();
    await this.follower.waitUntilFollowing(signal);
  }

  private async drain(signal: AbortSignal): Promise<void> {
    const seen = new Map<object, Set<string>>();
    const ended = (server: KubeApiserver): Promise<boolean> => {
      let zeros = seen.get(server);
      if (zeros === undefined) seen.set(server, (zeros = new Set()));
      return this.inFlightWrites.isDrained(server, zeros);
    };
    await this.parts.options.servers.everywhere('writes under way', ended, this.within(DRAIN_MILLIS), signal);
    this.parts.stepTimer.end('writes under way');
  }

  /** Throws if the switch is no longer wanted, or if another replica has continued it. */
  private async check(): Promise<void> {
    const { journal } = this.parts;
    const { state } = journal;
    await journal.read();
    if (journal.state !== state) throw new Error(`the state is ${journal.state}, not ${state}`);
    if (!journal.isWanted) throw new RefusedError('the switch is no longer wanted');
  }

  /**
   * Verifies that the cluster's revisions are still lower than those of Annex: every list with a higher one comes from Annex, and no client
   * holds a revision of the cluster that Annex has assigned to another change.
   */
  private async compareRevisions(): Promise<void> {
    const { first } = this.parts.journal.record;
    const now = await clusterRevision(this.parts.options.client);
    if (now >= first)
      throw new PassedError(
        `the cluster is already at revision ${now}, but Annex began at ${first}: the cluster writes more than expected`,
      );
  }

  /** Throws unless the fence is unchanged, so that no write can have been missed. */
  private async compareFence(): Promise<void> {
    const { fence, journal } = this.parts;
    const expected = journal.state === 'Switching' ? journal.record.fence : this.fenceIdentity;
    if ((await fence.identity()) !== expected) throw new RefusedError('the fence was changed by another client');
  }

  private async compareDefinitions(): Promise<void> {
    const { annexDefinitions, clusterDefinitions, journal } = this.parts;
    const crds = await clusterDefinitions.list();
    if (journal.state === 'Fencing' && this.types.length !== crds.length)
      throw new RefusedError('the definitions of the group changed');
    if (!(await annexDefinitions.isCompleteFor(crds)))
      throw new RefusedError('a ResourceDefinition of the group was deleted');
  }

  /** Every kube-apiserver routes requests for the group to Annex. */
  private async awaitRoute(signal: AbortSignal): Promise<void> {
    const { annexDefinitions, journal, options, stepTimer } = this.parts;
    const definitions = await annexDefinitions.list();
    const { first } = journal.record;
    const isRouted = (server: KubeApiserver): Promise<boolean> => routedToAnnex(server, definitions, first);
    await options.servers.everywhere('the route', isRouted, this.within(ROUTE_MILLIS), signal);
    stepTimer.end('the route');
  }

  /** From here on lists return no newer revision than one that is part of the definitions, and watches end. */
  private async shutWatches(signal: AbortSignal): Promise<void> {
    const { annexDefinitions, options } = this.parts;
    this.lastShown = 0;
    const definitions = await annexDefinitions.list();
    // A previous leader has raised the cluster's revision, and the routes are being removed.
    if (definitions.some((one) => stageOf(one) === 'Left')) return;
    const names = definitions.map(({ metadata }) => metadata.name ?? '');
    this.lastShown = await annexDefinitions.setReturning(
      (await options.backend.currentRevision()) + LAST_REVISION_ROOM,
    );
    const isThere = (stages: Stages): boolean => names.every((name) => stages[name] === 'Returning');
    await options.replicas.everywhere('the end of watches', isThere, STAGE_MILLIS, signal);
  }
}
