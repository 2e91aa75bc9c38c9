import { deepEqual, type JsonObject, objectAt, objectsOf, stringAt, textOf } from '../../apimachinery/json/json.js';
import { type KubeObject, groupOf } from '../../apimachinery/meta/meta.js';
import { whoAmI } from '../../client/who-am-i.js';
import { sleep } from '../../util/clock.js';
import { messageOf } from '../../util/error-message.js';
import { servedVersions } from '../../registry/builtin/kubeannex/resource-definitions.js';
import type { Revision } from '../../storage/interfaces.js';
import { isConflictOrNotFound } from '../../controllers/errors.js';
import { RateLimit } from '../rate-limit.js';
import type { Stages } from '../replica-stages.js';
import type { AnnexDefinitions } from './annex-definitions.js';
import { backDoor, type ClusterDefinitions } from '../cluster/cluster-definitions.js';
import {
  clusterRevision,
  LAST_REVISION_ROOM,
  measureRevisions,
  RAISE_SLACK,
  revisionsDuringSwitch,
} from '../cluster/cluster-revision.js';
import { DISCOVERED, type Discovery } from './discovery.js';
import type { Fence, FenceException } from '../cluster/fence.js';
import { type ConditionUpdate, type Journal, NO_SWITCH } from './journal.js';
import type { KubeApiserver } from '../cluster/kube-apiservers.js';
import { StepTimer } from './step-timer.js';
import type { SwitchOptions } from './options.js';
import { haveAllLeft, servedByCluster } from '../cluster/routes.js';
import { ReverseCopier } from './reverse-copier.js';
import type { ReturnedType } from './cluster-copy.js';
import { DependentsError, type DependentsPolicy, ExternalDependents } from './external-dependents.js';
import { RevisionRaiser } from '../cluster/revision-raiser.js';

const PROGRESS_MILLIS = 2_000;
const ESTABLISH_MILLIS = 60_000;
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

export interface ReturnParts {
  readonly journal: Journal;
  readonly fence: Fence;
  readonly clusterDefinitions: ClusterDefinitions;
  readonly annexDefinitions: AnnexDefinitions;
  readonly discovery: Pick<Discovery, 'complete'>;
  /** The number of the back door that this replica opened since it leads; 0 if none. */
  door: number;
}

/** Returns a group to the cluster, or leaves it with Annex. Every step may already have been done by a replica that is gone. */
export class Return {
  private readonly stepTimer: StepTimer;
  private readonly raise: RevisionRaiser;
  private readonly externalDependents: ExternalDependents;
  private reverseCopier: ReverseCopier | undefined;
  private isLoading = false;

  constructor(
    private readonly options: SwitchOptions,
    private readonly parts: ReturnParts,
  ) {
    const { backend, client, clock, group, namespace, uid: adoption } = options;
    this.stepTimer = new StepTimer(clock);
    this.raise = new RevisionRaiser({ client, clock, namespace });
    const policy = (stringAt(parts.journal.spec, 'dependents') ?? 'Refuse') as DependentsPolicy;
    this.externalDependents = new ExternalDependents({ client, backend, group, policy, adoption });
  }

  /** Continues from the recorded step. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal } = this.parts;
    if (!this.isRouting()) {
      const over = new AbortController();
      try {
        await this.handOver(AbortSignal.any([signal, over.signal]), over);
      } catch (error) {
        if (signal.aborted || isConflictOrNotFound(error)) throw error;
        await journal.read();
        if (this.isRouting()) throw error;
        const isClosed = journal.record.back === 'Closing';
        // While Annex takes writes, the attempt is repeated: no client is blocked by it.
        if (!isClosed && journal.isReturnWanted && !(error instanceof DependentsError)) throw error;
        await this.abortReturn(error, isClosed);
        return;
      } finally {
        over.abort();
      }
    }
    await this.routeToCluster(signal);
  }

  /** Brings the cluster's copy up to date with Annex, then ends writes. */
  private async handOver(signal: AbortSignal, over: AbortController): Promise<void> {
    const { journal, fence, clusterDefinitions, annexDefinitions } = this.parts;
    const { backend, clock, client, copyRate, group, replicas, servers } = this.options;
    // A replica that is gone may have closed it.
    await annexDefinitions.setStage('Served');
    const { back, door: last } = journal.record;
    const number = this.parts.door === 0 ? last + 1 : this.parts.door;
    if (back !== 'Copying' || number !== last) {
      const change = { back: 'Copying', fencedAt: 0, door: number } as const;
      await journal.write('Returning', change, 'the return to the cluster begins');
    }
    this.parts.door = number;
    const door = backDoor(number);
    const definitions = await annexDefinitions.list();
    const types = definitions.map(typeOf);
    const plurals = types.map(({ plural }) => plural);
    const through = { user: await whoAmI(client), version: door, routes: [...new Set(definitions.flatMap(routesOf))] };
    const hold = async (): Promise<void> => {
      await fence.put(through);
      await clusterDefinitions.stopServing();
      await clusterDefinitions.openBackDoor(door, await annexDefinitions.list());
    };
    await hold();
    const isOpen = async (server: KubeApiserver): Promise<boolean> =>
      (await fence.isEnforcedBy(server, through)) && clusterDefinitions.isOpen(server, door, plurals);
    await servers.everywhere('opening its copy', isOpen, DOOR_MILLIS, signal);
    const { first } = journal.record;
    const raise = this.skipsRaise ? undefined : (above: number): Promise<void> => this.raise.raiseAbove(above, signal);
    const rate = new RateLimit(clock, copyRate);
    const parts = { backend, client, clock, rate, group, door, types, first, raise };
    const carrier = (this.reverseCopier = new ReverseCopier(parts));
    await this.whileOpen(hold, signal, over, async () => {
      await carrier.survey(signal);
      await this.externalDependents.prepare(carrier.createdInAnnex);
      await raise?.(await backend.currentRevision());
      await carrier.drain(0, SMALL_BACKLOG, COPY_MILLIS, signal);
      // A replica that was present a moment ago and is silent may be about to write.
      await replicas.settled(GONE_MILLIS, GONE_MILLIS + STAGE_MILLIS, signal);
      await raise?.(await this.lastRevision(carrier.objects, signal));
    });
    const loadedAbove = await this.serveEarly(carrier, through, over, signal);
    await this.stopAnnexWrites(carrier, types, loadedAbove, signal);
  }

  /**
   * Has every kube-apiserver load the objects while Annex takes writes. Returns the cluster's revision before that: as long as clients have
   * seen no higher one, the types need not be loaded again.
   */
  private async serveEarly(
    carrier: ReverseCopier,
    through: FenceException,
    over: AbortController,
    signal: AbortSignal,
  ): Promise<Revision> {
    const { annexDefinitions, clusterDefinitions, fence } = this.parts;
    const { backend, client } = this.options;
    const definitions = await annexDefinitions.list();
    await clusterDefinitions.openBackDoor(through.version, definitions);
    const loadedAbove = await clusterRevision(client);
    const hold = async (): Promise<void> => {
      await fence.put(through);
      if (!deepEqual((await annexDefinitions.list()).map(specOf), definitions.map(specOf))) {
        over.abort();
        throw new Error('the definitions of the group were changed');
      }
      await clusterDefinitions.restoreEarly(definitions);
    };
    await hold();
    await this.whileOpen(hold, signal, over, async () => {
      this.isLoading = true;
      await this.waitUntilLoaded('loading the objects', LOAD_MILLIS, signal).finally(() => {
        this.isLoading = false;
      });
      const now = await backend.currentRevision();
      // While writes are refused, raising would prolong the refusal.
      if (!this.skipsRaise) await this.raise.raiseAbove(now + LAST_REVISIONS + LAST_REVISION_ROOM, signal);
      await carrier.drain(now, SMALL_BACKLOG, COPY_MILLIS, signal);
    });
    return loadedAbove;
  }

  /** Waits until every kube-apiserver has loaded the types that the cluster serves again. Returns their definitions. */
  private async waitUntilLoaded(what: string, millis: number, signal: AbortSignal): Promise<KubeObject[]> {
    const { clusterDefinitions } = this.parts;
    const crds = await clusterDefinitions.list();
    const isLoaded = (server: KubeApiserver): Promise<boolean> => clusterDefinitions.isRestored(server, crds);
    await this.options.servers.everywhere(what, isLoaded, millis, signal);
    return crds;
  }

  /** The revision that Annex is not expected to pass before its writes end. */
  private async lastRevision(objects: number, signal: AbortSignal): Promise<Revision> {
    const { backend, clock, copyRate } = this.options;
    const { now, perSecond } = await measureRevisions(() => backend.currentRevision(), clock, signal);
    return now + revisionsDuringSwitch({ perSecond, objects, copyRate, least: LAST_REVISIONS }) + LAST_REVISION_ROOM;
  }

  /**
   * Does a part of the work while clients write: keeps Annex open for writes, repeats `hold` in case other clients undo it, reports progress,
   * and aborts if the return is no longer wanted.
   */
  private async whileOpen(
    hold: () => Promise<void>,
    signal: AbortSignal,
    over: AbortController,
    work: () => Promise<void>,
  ): Promise<void> {
    const done = new AbortController();
    const kept = this.keepOpen(hold, AbortSignal.any([signal, done.signal]), over);
    try {
      await work();
    } finally {
      done.abort();
      await kept;
    }
  }

  private async keepOpen(hold: () => Promise<void>, signal: AbortSignal, over: AbortController): Promise<void> {
    const { journal, annexDefinitions } = this.parts;
    for (;;) {
      await sleep(this.options.clock, PROGRESS_MILLIS, signal);
      if (signal.aborted) return;
      try {
        await this.check();
        // A replica that wrongly believed to lead may have closed it.
        await annexDefinitions.setStage('Served');
        await hold();
        await journal.reportProgress(this.progressMessage(), { return: this.status() });
      } catch (error) {
        this.options.onError(error);
        if (!journal.isReturnWanted || journal.record.back !== 'Copying') over.abort();
      }
    }
  }

  /** Ends writes in Annex and carries the rest over to the cluster. */
  private async stopAnnexWrites(
    carrier: ReverseCopier,
    types: readonly ReturnedType[],
    /** The revision that the cluster had when kube-apiservers began to load the types. */
    loadedAbove: Revision,
    signal: AbortSignal,
  ): Promise<void> {
    const { journal, annexDefinitions, clusterDefinitions } = this.parts;
    const { backend, clock, replicas } = this.options;
    await this.check();
    await journal.write(
      'Returning',
      { back: 'Closing', fencedAt: clock.now() },
      'Annex accepts no writes for a few seconds',
    );
    this.stepTimer.begin();
    let last: Revision = 0;
    for (const stage of ['Closing', 'Returning'] as const) {
      if (stage === 'Closing') await annexDefinitions.setStage(stage);
      else last = await annexDefinitions.setReturning((await backend.currentRevision()) + LAST_REVISION_ROOM);
      const isThere = (stages: Stages): boolean => types.every(({ resource }) => stages[resource] === stage);
      await replicas.everywhere('the end of writes', isThere, STAGE_MILLIS, signal, GONE_MILLIS);
    }
    this.stepTimer.end('writes under way');
    await carrier.drain(await backend.currentRevision(), 0, LAST_MILLIS, signal);
    await carrier.assertEqualCounts();
    this.stepTimer.end('last changes');
    await this.externalDependents.prepare(carrier.createdInAnnex);
    this.stepTimer.end('dependents');
    // Lists return nothing newer from here on: watch caches of kube-apiservers have to start above it.
    if (!this.skipsRaise) {
      const shown = Math.max(await backend.currentRevision(), last) + RAISE_SLACK;
      await this.raise.raiseAbove(shown, signal, 0);
      if (shown >= loadedAbove) await clusterDefinitions.reload();
    }
    this.stepTimer.end('revisions');
    await this.check();
    const status = { return: this.status() };
    await journal.write('Returning', { back: 'Routing' }, 'requests for the group go to the cluster', [], status);
  }

  /** Moves the group out of Annex: first reads go to the cluster, then writes. */
  private async routeToCluster(signal: AbortSignal): Promise<void> {
    const { journal, fence, clusterDefinitions, annexDefinitions, discovery } = this.parts;
    const { clock, replicas, servers, staging } = this.options;
    const definitions = await annexDefinitions.list();
    const types = definitions.map(typeOf);
    await clusterDefinitions.restore(definitions);
    const crds = await this.waitUntilLoaded('serving the types', ROUTE_MILLIS, signal);
    this.stepTimer.end('the definitions');
    await annexDefinitions.setStage('Left');
    await replicas.everywhere('the end of the route', haveAllLeft(definitions), ROUTE_MILLIS, signal);
    await servers.everywhere('the route back', (server) => servedByCluster(server, crds), ROUTE_MILLIS, signal);
    this.stepTimer.end('the route');
    await fence.remove();
    const { fencedAt } = journal.record;
    const seconds = fencedAt === 0 ? undefined : ((clock.now() - fencedAt) / 1000).toFixed(1);
    const repointed = await this.externalDependents.repoint(types);
    await discovery.complete(signal);
    await clusterDefinitions.closeBackDoor();
    await annexDefinitions.remove(ESTABLISH_MILLIS, signal);
    for (const { metadata } of crds) await staging.discard(metadata.name ?? '');
    await staging.drop();
    const message = `the cluster serves the group again${seconds === undefined ? '' : `; writes were refused for ${seconds} s`}${this.stepTimer.text}${repointed === 0 ? '' : `; ${repointed} dependents refer to the new uids of their owners`}${this.skipsRaise ? '; restart the clients that watch it' : ''}`;
    const findings: ConditionUpdate[] = [
      ['Returned', true, 'Returned'],
      ['DependentsOutside', false, 'Returned'],
      DISCOVERED,
    ];
    const { door: last } = journal.record;
    await journal.write('Copying', { ...NO_SWITCH, door: last }, message, findings);
  }

  /** Lets Annex continue to serve the group. */
  private async abortReturn(why: unknown, wasClosed: boolean): Promise<void> {
    const { journal, fence, clusterDefinitions, annexDefinitions } = this.parts;
    await annexDefinitions.setStage('Served');
    await clusterDefinitions.stopServing();
    await this.externalDependents.undo();
    await clusterDefinitions.closeBackDoor(await annexDefinitions.list());
    await fence.put();
    const message = `Annex continues to serve the group: ${messageOf(why)}`;
    const isOutside = why instanceof DependentsError;
    const findings: ConditionUpdate[] = [
      ['Returned', false, wasClosed && !isOutside ? 'GivenUp' : 'Refused'],
      ['DependentsOutside', isOutside && why.areKnown, isOutside && !why.areKnown ? 'Unknown' : 'Looked'],
    ];
    await journal.write('Served', { back: '', fencedAt: 0 }, message, findings);
  }

  /** True if writes in Annex have ended and the cluster has everything. */
  private isRouting(): boolean {
    return this.parts.journal.record.back === 'Routing';
  }

  private get skipsRaise(): boolean {
    return this.parts.journal.spec['skipRaise'] === true;
  }

  private progressMessage(): string {
    const { from, to, reached, secondsLeft } = this.raise.progress;
    if (reached < to) {
      const left = secondsLeft === undefined ? '' : `, which takes about ${secondsLeft} s more`;
      return `Annex accepts writes; small writes raise the cluster's revision from ${from} to ${to}${left}`;
    }
    if (this.isLoading) return 'Annex accepts writes; kube-apiservers load the objects of the group';
    const { done = 0, left = 0, trouble = '' } = this.reverseCopier?.progress ?? {};
    const why = trouble === '' ? '' : `; ${trouble}`;
    return `Annex accepts writes; ${done} objects have been copied back, ${left} remain${why}`;
  }

  private status(): JsonObject {
    const { done = 0, left = 0, refused = 0, lowered = 0 } = this.reverseCopier?.progress ?? {};
    const { from, to, reached, secondsLeft } = this.raise.progress;
    const carried = {
      carried: done,
      left,
      refused,
      born: this.reverseCopier?.createdInAnnex.size ?? 0,
      loweredGenerations: lowered,
    };
    if (this.skipsRaise) return carried;
    const raised = { raiseFrom: from, raiseTo: to, raised: reached };
    return { ...carried, ...raised, ...(secondsLeft !== undefined && { raiseSecondsLeft: secondsLeft }) };
  }

  /** Throws if the return is no longer wanted, or if another replica has continued it. */
  private async check(): Promise<void> {
    const { journal } = this.parts;
    const { back } = journal.record;
    await journal.read();
    if (journal.record.back !== back) throw new Error(`the step is ${journal.record.back}, not ${back}`);
    if (!journal.isReturnWanted) throw new Error('the return is no longer wanted');
  }
}

const specOf = (definition: KubeObject): JsonObject => objectAt(definition, 'spec') ?? {};

const versionsOf = (definition: KubeObject): readonly JsonObject[] => objectsOf(specOf(definition)['versions']);

/** The names of the APIServices of a definition's versions. */
const routesOf = (definition: KubeObject): string[] =>
  servedVersions(definition).map((version) => `${version}.${groupOf(definition)}`);

function typeOf(definition: KubeObject): ReturnedType {
  const spec = specOf(definition);
  const names = objectAt(spec, 'names');
  const stored = versionsOf(definition).find((version) => version['storage'] === true);
  return {
    resource: definition.metadata.name ?? '',
    plural: textOf(names?.['plural']),
    kind: textOf(names?.['kind']),
    namespaced: spec['scope'] === 'Namespaced',
    hasStatus: objectAt(objectAt(stored, 'subresources'), 'status') !== undefined,
  };
}
