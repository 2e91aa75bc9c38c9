import { TOOK_TOO_LONG } from '../protocol/condition.js';
import { deepEqual, type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { groupOf, type KubeObject } from '../../apimachinery/meta/meta.js';
import { whoAmI } from '../../client/who-am-i.js';
import { servedVersions } from '../../registry/builtin/kubeannex/resource-definitions.js';
import type { Revision } from '../../storage/interfaces.js';
import { sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { backDoor } from '../cluster/cluster-definitions.js';
import {
  clusterRevision,
  LAST_REVISION_ROOM,
  measureRevisions,
  RAISE_SLACK,
  revisionsDuringSwitch,
} from '../cluster/cluster-revision.js';
import type { FenceException } from '../cluster/fence.js';
import type { KubeApiserver } from '../cluster/kube-apiservers.js';
import { RevisionRaiser } from '../cluster/revision-raiser.js';
import { servedByCluster } from '../cluster/routes.js';
import { RateLimit } from '../rate-limit.js';
import { returnedType, type ReturnedType } from './cluster-copy.js';
import { DISCOVERED } from './discovery.js';
import { DependentsError, type DependentsPolicy, ExternalDependents } from './external-dependents.js';
import { type ConditionUpdate, NO_SWITCH } from './journal.js';
import { assertPrompt, type Parts, RefusedError, type Steps } from './parts.js';
import { returnMessage, type ReturnProgress, returnStatus } from './return-progress.js';
import { ReverseCopier } from './reverse-copier.js';

const PROGRESS_MILLIS = 2_000;
const DOOR_MILLIS = 60_000;
const LOAD_MILLIS = 600_000;
/** No writes are refused during this step. */
const COPY_MILLIS = 24 * 3_600_000;
/** A backlog, in objects, that is carried over in a moment. */
const SMALL_BACKLOG = 100;
const STAGE_MILLIS = 20_000;
const LAST_MILLIS = 20_000;
const ROUTE_MILLIS = 120_000;
/** The cluster's revision is raised at least this much above that of Annex before writes are refused. */
const LAST_REVISIONS = 1_000;
/** How long a replica must have been silent before it is not waited for: longer than any of its requests lasts. */
const GONE_MILLIS = 70_000;

/** What an attempt knows once its back door is taken. */
interface Attempt {
  readonly door: string;
  /** Monotonic milliseconds. */
  readonly openedAt: number;
  readonly through: FenceException;
  readonly types: readonly ReturnedType[];
  readonly copier: ReverseCopier;
}

/** The steps of returning a group to the cluster, and of leaving it with Annex. */
export class Return {
  /** The number of the back door that this replica opened since it leads; 0 if none. */
  private door = 0;
  private found: Attempt | undefined;
  private raiser: RevisionRaiser;
  private externalDependents: ExternalDependents | undefined;
  /** Ends the attempt when the return is no longer wanted. */
  private over = new AbortController();
  private isLoading = false;
  /** The revision that the cluster had when kube-apiservers began to load the types. */
  private loadedAbove: Revision = 0;
  /** The newest revision that lists of Annex have shown. */
  private shown: Revision = 0;
  private repointed = 0;
  private secondsRefused = '';

  constructor(private readonly parts: Parts) {
    const { client, clock, namespace } = parts.options;
    this.raiser = new RevisionRaiser({ client, clock, namespace });
  }

  readonly steps: Steps = {
    takeDoor: (signal) => this.takeDoor(signal),
    openDoor: () => this.hold(),
    awaitDoor: (signal) => this.awaitDoor(signal),
    bring: (signal) => this.bring(signal),
    load: (signal) => this.load(signal),
    check: () => this.check(),
    closeGate: () => this.parts.annexDefinitions.setStage('Closing'),
    awaitGate: (signal) => this.awaitStage('Closing', signal),
    endWatches: (signal) => this.endWatches(signal),
    lastCarry: async (signal) => {
      const until = await this.parts.options.backend.currentRevision();
      await this.attempt.copier.drain(until, 0, this.limit(LAST_MILLIS), this.within(signal));
    },
    compareCounts: async () => {
      await this.attempt.copier.assertEqualCounts();
      this.parts.stepTimer.end('last changes');
    },
    guardDependents: async () => {
      await this.dependents.prepare(this.attempt.copier.createdInAnnex);
      this.parts.stepTimer.end('dependents');
    },
    raise: (signal) => this.raise(signal),
    reload: async () => {
      if (!this.skipsRaise && this.shown >= this.loadedAbove) await this.parts.clusterDefinitions.reload();
      this.parts.stepTimer.end('revisions');
    },
    serve: async () => this.parts.clusterDefinitions.restore(await this.parts.annexDefinitions.list()),
    awaitServed: async (signal) => {
      await this.waitUntilLoaded('serving the types', ROUTE_MILLIS, signal);
      this.parts.stepTimer.end('the definitions');
    },
    awaitRouteBack: (signal) => this.awaitRouteBack(signal),
    removeFence: async () => {
      const { fence, journal, options } = this.parts;
      await fence.remove();
      const { fencedAt } = journal.record;
      this.secondsRefused = fencedAt === 0 ? '' : ((options.clock.now() - fencedAt) / 1000).toFixed(1);
    },
    repoint: async () => {
      const definitions = await this.parts.annexDefinitions.list();
      this.repointed = await this.dependents.repoint(definitions.map(returnedType));
    },
    undoDependents: async () => this.dependents.undo(),
  };

  /** Ends what an attempt leaves running. */
  stop(): void {
    this.over.abort();
    this.over = new AbortController();
    this.found = undefined;
    this.externalDependents = undefined;
    const { client, clock, namespace } = this.parts.options;
    this.raiser = new RevisionRaiser({ client, clock, namespace });
  }

  /** Records a state. `why`: what has failed, if the group stays with Annex. */
  async record(state: 'Returning' | 'Closing' | 'Routing' | 'Served' | 'Copying', why?: unknown): Promise<void> {
    const { journal, options, stepTimer } = this.parts;
    switch (state) {
      case 'Returning':
        if (this.door === 0) this.door = journal.record.door + 1;
        return journal.write(state, { fencedAt: 0, door: this.door }, 'the return to the cluster begins');
      case 'Closing':
        await journal.write(state, { fencedAt: options.clock.now() }, 'Annex accepts no writes for a few seconds');
        stepTimer.begin();
        return;
      case 'Routing':
        return journal.write(state, {}, 'requests for the group go to the cluster', [], {
          return: returnStatus(this.progress),
        });
      case 'Served': {
        const wasClosed = journal.state === 'Closing';
        const isLate = journal.refusableMillis === 0;
        const isOutside = why instanceof DependentsError;
        const findings: ConditionUpdate[] = [
          ['Returned', false, isOutside || !wasClosed ? 'Refused' : isLate ? TOOK_TOO_LONG : 'GivenUp'],
          ['DependentsOutside', isOutside && why.areKnown, isOutside && !why.areKnown ? 'Unknown' : 'Looked'],
        ];
        const again = isLate && wasClosed && !isOutside ? '; it is tried again in five minutes' : '';
        const message = `Annex continues to serve the group: ${messageOf(why)}${again}`;
        return journal.write(state, { fencedAt: 0 }, message, findings);
      }
      case 'Copying': {
        const findings: ConditionUpdate[] = [
          ['Returned', true, 'Returned'],
          ['DependentsOutside', false, 'Returned'],
          DISCOVERED,
        ];
        return journal.write(state, { ...NO_SWITCH, door: journal.record.door }, this.returnedMessage(), findings);
      }
    }
  }

  private returnedMessage(): string {
    const parts = [
      'the cluster serves the group again',
      this.secondsRefused === '' ? '' : `; writes were refused for ${this.secondsRefused} s`,
      this.parts.stepTimer.text,
      this.repointed === 0 ? '' : `; ${this.repointed} dependents refer to the new uids of their owners`,
      this.skipsRaise ? '; restart the clients that watch it' : '',
    ];
    return parts.join('');
  }

  private get attempt(): Attempt {
    if (this.found === undefined) throw new Error('the back door has not been taken');
    return this.found;
  }

  private get dependents(): ExternalDependents {
    const { journal, options } = this.parts;
    const { backend, client, group, uid: adoption } = options;
    const policy = (stringAt(journal.spec, 'dependents') ?? 'Refuse') as DependentsPolicy;
    return (this.externalDependents ??= new ExternalDependents({ client, backend, group, policy, adoption }));
  }

  /** The limit of a step while writes are refused. */
  private limit(millis: number): number {
    return Math.min(millis, this.parts.journal.refusableMillis);
  }

  private within(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.over.signal]);
  }

  /** Takes a back door of its own. */
  private async takeDoor(signal: AbortSignal): Promise<void> {
    const { journal, annexDefinitions, options } = this.parts;
    const { backend, clock, client, copyRate, group } = options;
    const { door: last } = journal.record;
    const number = this.door === 0 ? last + 1 : this.door;
    this.door = number;
    if (journal.state !== 'Returning' || number !== last) await this.record('Returning');
    const door = backDoor(number);
    const definitions = await annexDefinitions.list();
    const types = definitions.map(returnedType);
    const routes = [...new Set(definitions.flatMap(routesOf))];
    const through = { user: await whoAmI(client), version: door, attempt: String(clock.now()), routes };
    const { first } = journal.record;
    const within = this.within(signal);
    const raise = this.skipsRaise ? undefined : (above: number): Promise<void> => this.raiser.raiseAbove(above, within);
    const rate = new RateLimit(clock, copyRate);
    const copier = new ReverseCopier({ backend, client, clock, rate, group, door, types, first, raise });
    this.found = { door, openedAt: clock.monotonic(), through, types, copier };
  }

  /** Keeps the copy closed to everybody else, and the back door open. */
  private readonly hold = async (): Promise<void> => {
    const { annexDefinitions, clusterDefinitions, fence } = this.parts;
    const { door, through } = this.attempt;
    await fence.put(through);
    await clusterDefinitions.stopServing();
    await clusterDefinitions.openBackDoor(door, await annexDefinitions.list());
  };

  /** Every kube-apiserver has to observe the fence of this attempt within a fraction of the time for which writes may be refused. */
  private async awaitDoor(signal: AbortSignal): Promise<void> {
    const { clusterDefinitions, fence, journal, options } = this.parts;
    const { clock, servers } = options;
    const { door, openedAt, through, types } = this.attempt;
    const within = this.within(signal);
    const isFenced = (server: KubeApiserver): Promise<boolean> => fence.isEnforcedBy(server, through);
    await servers.everywhere('the fence', isFenced, DOOR_MILLIS, within);
    assertPrompt(clock.monotonic() - openedAt, journal.maxRefusedMillis);
    const plurals = types.map(({ plural }) => plural);
    const isOpen = (server: KubeApiserver): Promise<boolean> => clusterDefinitions.isOpen(server, door, plurals);
    await servers.everywhere('opening its copy', isOpen, DOOR_MILLIS, within);
  }

  /** Brings the cluster's copy up to date with Annex, which takes writes meanwhile. */
  private async bring(signal_: AbortSignal): Promise<void> {
    const { backend, replicas } = this.parts.options;
    const signal = this.within(signal_);
    const { copier } = this.attempt;
    await this.whileOpen(this.hold, signal, async () => {
      await copier.survey(signal);
      await this.dependents.prepare(copier.createdInAnnex);
      if (!this.skipsRaise) await this.raiser.raiseAbove(await backend.currentRevision(), signal);
      await copier.drain(0, SMALL_BACKLOG, COPY_MILLIS, signal);
      // A replica that was present a moment ago and is silent may be about to write.
      await replicas.settled(GONE_MILLIS, GONE_MILLIS + STAGE_MILLIS, signal);
      if (!this.skipsRaise) await this.raiser.raiseAbove(await this.lastRevision(copier.objects, signal), signal);
    });
  }

  /**
   * Has every kube-apiserver load the objects while Annex takes writes. As long as clients have seen no revision above that of the cluster
   * before, the types need not be loaded again.
   */
  private async load(signal_: AbortSignal): Promise<void> {
    const { annexDefinitions, clusterDefinitions, fence, options } = this.parts;
    const signal = this.within(signal_);
    const { copier, through } = this.attempt;
    const definitions = await annexDefinitions.list();
    await clusterDefinitions.openBackDoor(through.version, definitions);
    this.loadedAbove = await clusterRevision(options.client);
    const hold = async (): Promise<void> => {
      await fence.put(through);
      if (!deepEqual((await annexDefinitions.list()).map(specOf), definitions.map(specOf))) {
        this.over.abort();
        throw new Error('the definitions of the group were changed');
      }
      await clusterDefinitions.restoreEarly(definitions);
    };
    await hold();
    await this.whileOpen(hold, signal, async () => {
      this.isLoading = true;
      await this.waitUntilLoaded('loading the objects', LOAD_MILLIS, signal).finally(() => {
        this.isLoading = false;
      });
      const now = await options.backend.currentRevision();
      // While writes are refused, raising would prolong the refusal.
      if (!this.skipsRaise) await this.raiser.raiseAbove(now + LAST_REVISIONS + LAST_REVISION_ROOM, signal);
      await copier.drain(now, SMALL_BACKLOG, COPY_MILLIS, signal);
    });
  }

  /** Waits until every kube-apiserver has loaded the types that the cluster serves again. */
  private async waitUntilLoaded(what: string, millis: number, signal: AbortSignal): Promise<void> {
    const { clusterDefinitions, options } = this.parts;
    const crds = await clusterDefinitions.list();
    const isLoaded = (server: KubeApiserver): Promise<boolean> => clusterDefinitions.isRestored(server, crds);
    await options.servers.everywhere(what, isLoaded, millis, signal);
  }

  /** The revision that Annex is not expected to pass before its writes end. */
  private async lastRevision(objects: number, signal: AbortSignal): Promise<Revision> {
    const { backend, clock, copyRate } = this.parts.options;
    const { now, perSecond } = await measureRevisions(() => backend.currentRevision(), clock, signal);
    return now + revisionsDuringSwitch({ perSecond, objects, copyRate, least: LAST_REVISIONS }) + LAST_REVISION_ROOM;
  }

  /**
   * Does a part of the work while clients write: keeps Annex open for writes, repeats `hold` in case other clients undo it, reports progress,
   * and aborts if the return is no longer wanted.
   */
  private async whileOpen(hold: () => Promise<void>, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const done = new AbortController();
    const kept = this.keepOpen(hold, AbortSignal.any([signal, done.signal]));
    try {
      await work();
    } finally {
      done.abort();
      await kept;
    }
  }

  private async keepOpen(hold: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { journal, annexDefinitions, options } = this.parts;
    for (;;) {
      await sleep(options.clock, PROGRESS_MILLIS, signal);
      if (signal.aborted) return;
      try {
        await this.check();
        // A replica that wrongly believed to lead may have closed it.
        await annexDefinitions.setStage('Served');
        await hold();
        await journal.reportProgress(returnMessage(this.progress), { return: returnStatus(this.progress) });
      } catch (error) {
        options.onError(error);
        if (!journal.isReturnWanted || journal.state !== 'Returning') this.over.abort();
      }
    }
  }

  /** Waits until every replica is in a stage, however long it has been silent. */
  private async awaitStage(stage: 'Closing' | 'Returning', signal: AbortSignal): Promise<void> {
    const { types } = this.attempt;
    const isThere = (stages: Readonly<Record<string, string>>): boolean =>
      types.every(({ resource }) => stages[resource] === stage);
    const { replicas } = this.parts.options;
    await replicas.everywhere('the end of writes', isThere, this.limit(STAGE_MILLIS), this.within(signal), GONE_MILLIS);
  }

  private async endWatches(signal: AbortSignal): Promise<void> {
    const { annexDefinitions, options, stepTimer } = this.parts;
    this.shown = await annexDefinitions.setReturning((await options.backend.currentRevision()) + LAST_REVISION_ROOM);
    await this.awaitStage('Returning', signal);
    stepTimer.end('writes under way');
  }

  /** Lists return nothing newer from here on: watch caches of kube-apiservers have to start above it. */
  private async raise(signal: AbortSignal): Promise<void> {
    if (this.skipsRaise) return;
    this.shown = Math.max(await this.parts.options.backend.currentRevision(), this.shown) + RAISE_SLACK;
    await this.raiser.raiseAbove(this.shown, this.within(signal), 0);
  }

  private async awaitRouteBack(signal: AbortSignal): Promise<void> {
    const { clusterDefinitions, options, stepTimer } = this.parts;
    const crds = await clusterDefinitions.list();
    const isBack = (server: KubeApiserver): Promise<boolean> => servedByCluster(server, crds);
    await options.servers.everywhere('the route back', isBack, ROUTE_MILLIS, signal);
    stepTimer.end('the route');
  }

  private get skipsRaise(): boolean {
    return this.parts.journal.spec['skipRaise'] === true;
  }

  private get progress(): ReturnProgress {
    const { raiser, isLoading, skipsRaise } = this;
    return { copier: this.found?.copier, raiser, isLoading, skipsRaise };
  }

  /** Throws if the return is no longer wanted, or if another replica has continued it. */
  private async check(): Promise<void> {
    const { journal } = this.parts;
    const { state } = journal;
    await journal.read();
    if (journal.state !== state) throw new Error(`the state is ${journal.state}, not ${state}`);
    if (!journal.isReturnWanted) throw new RefusedError('the return is no longer wanted');
    // Once requests go to the cluster, the return is completed: there is no way back then.
    if (state === 'Closing' && journal.refusableMillis === 0)
      throw new Error('writes have been refused for as long as they may be');
  }
}

const specOf = (definition: KubeObject): JsonObject => objectAt(definition, 'spec') ?? {};

/** The names of the APIServices of a definition's versions. */
const routesOf = (definition: KubeObject): string[] =>
  servedVersions(definition).map((version) => `${version}.${groupOf(definition)}`);
