import { objectAt, stringAt } from '../../../apimachinery/json/json.js';
import { textOf } from '../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { servedVersions } from '../../../registry/builtin/kubeannex/resource-definitions.js';
import { sleep } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { isConflictOrNotFound } from '../../errors.js';
import { RateLimit } from '../rate-limit.js';
import type { Stages } from '../replica-stages.js';
import type { AnnexDefinitions } from '../switch/annex-definitions.js';
import { BACK_DOOR, type ClusterDefinitions } from '../switch/cluster-definitions.js';
import { raiseCluster } from '../switch/cluster-revision.js';
import type { Fence } from '../switch/fence.js';
import { type Finding, type Journal, NO_SWITCH } from '../switch/journal.js';
import type { KubeApiserver } from '../switch/kube-apiservers.js';
import { Laps } from '../switch/laps.js';
import type { SwitchOptions } from '../switch/options.js';
import { Carrier, type ReturnedType } from './carrier.js';
import { type Dependents, dependentsOf, dependentsText } from '../../../client/dependents.js';

/** The cluster's revision is raised by so much more than it needs: Annex takes writes meanwhile. */
const MARGIN = 2_000;
const TELL_MILLIS = 2_000;
/** Small writes a second to the cluster that raise its revision. */
const RAISE_RATE = 2_000;
const ESTABLISH_MILLIS = 60_000;
const DOOR_MILLIS = 60_000;
/** Nothing is refused meanwhile. */
const COPY_MILLIS = 24 * 3_600_000;
const STAGE_MILLIS = 20_000;
const LAST_MILLIS = 20_000;
const ROUTE_MILLIS = 120_000;
/** How long ago a replica may have been here that is not waited for: longer than any request of it lasts. */
const GONE_MILLIS = 70_000;

export interface ReturnParts {
  readonly journal: Journal;
  readonly fence: Fence;
  readonly theirs: ClusterDefinitions;
  readonly ours: AnnexDefinitions;
}

/** Why the group stays with Annex. */
class Refused extends Error {
  constructor(
    message: string,
    readonly dependents: boolean,
  ) {
    super(message);
  }
}

/** Gives a group back to the cluster, or leaves it with Annex. Every step may have been done before, by a replica that is gone. */
export class Return {
  private readonly laps: Laps;
  private reached = 0;
  private raising: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly options: SwitchOptions,
    private readonly parts: ReturnParts,
  ) {
    this.laps = new Laps(options.clock);
  }

  /** Goes on from wherever it is. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal } = this.parts;
    if (!this.isLeaving()) {
      const following = new AbortController();
      const stop = (): void => {
        following.abort();
      };
      signal.addEventListener('abort', stop, { once: true });
      try {
        await this.handOver(following.signal);
      } catch (error) {
        if (signal.aborted || isConflictOrNotFound(error)) throw error;
        await journal.read();
        const { back } = journal.record;
        if (this.isLeaving()) throw error;
        // While everybody writes it is tried again; nobody waits longer than that for a failure.
        const isOver = error instanceof Refused || back === 'Closing' || !journal.isReturnWanted;
        if (!isOver) throw error;
        await this.stay(error);
        return;
      } finally {
        stop();
        signal.removeEventListener('abort', stop);
      }
    }
    await this.leave(signal);
  }

  /** The cluster's copy becomes what Annex has, and nobody writes any more. */
  private async handOver(signal: AbortSignal): Promise<void> {
    const { journal, fence, theirs, ours } = this.parts;
    const { backend, clock, client, group, servers } = this.options;
    if (journal.record.back === '') {
      const backFrom = await this.clusterRevision();
      await journal.write('Returning', { back: 'Copying', backFrom }, 'the way back to the cluster begins');
    } else if (journal.record.back === 'Closing') {
      // Whoever closed it is gone.
      await ours.bring('Served');
      await journal.write('Returning', { back: 'Copying', fencedAt: 0 }, 'the way back begins anew');
    }
    const definitions = await ours.list();
    const names = definitions.map(({ metadata }) => metadata.name ?? '');
    const present = new Set((await theirs.list()).map(({ metadata }) => metadata.name));
    await fence.put(await this.userName());
    for (const definition of definitions) if (!present.has(definition.metadata.name)) await theirs.recreate(definition);
    await theirs.openBackDoor();
    const types = definitions.map(typeOf);
    const isOpen = (server: KubeApiserver): Promise<boolean> => this.isOpen(server, types);
    await servers.everywhere('the way to its copy', isOpen, DOOR_MILLIS, signal);
    const { first, backFrom: from } = journal.record;
    const raise = (above: number): Promise<void> => this.raise(above, signal);
    const rate = new RateLimit(clock, this.options.copyRate);
    const carrier = new Carrier({ backend, client, clock, rate, group, types, first, from, raise });
    await carrier.survey(signal);
    await this.mustHaveNoDependents(carrier.born);
    await this.raiseFirst(signal);
    await this.copy(carrier, signal);
    await this.close(carrier, names, signal);
  }

  private async copy(carrier: Carrier, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const telling = new AbortController();
    const tell = async (): Promise<void> => {
      while (!telling.signal.aborted) {
        const { done, left, trouble } = carrier.progress;
        const why = trouble === '' ? '' : `; ${trouble}`;
        await this.parts.journal
          .tell(`Annex takes writes; ${done} objects have been carried over, ${left} are left${why}`)
          .catch(this.options.failed);
        await this.check().catch(() => {
          telling.abort();
        });
        await sleep(clock, TELL_MILLIS, telling.signal);
      }
    };
    const told = tell();
    try {
      await carrier.drain(0, COPY_MILLIS, AbortSignal.any([signal, telling.signal]));
    } finally {
      telling.abort();
      await told;
    }
  }

  /** Nobody writes any more, and the cluster has everything. */
  private async close(carrier: Carrier, names: readonly string[], signal: AbortSignal): Promise<void> {
    const { journal, ours } = this.parts;
    const { backend, clock, replicas } = this.options;
    // One that was here a moment ago, and is silent, may be about to write.
    await replicas.settled(GONE_MILLIS, GONE_MILLIS + STAGE_MILLIS, signal);
    await this.check();
    await journal.write(
      'Returning',
      { back: 'Closing', fencedAt: clock.now() },
      'Annex takes no writes for some seconds',
    );
    this.laps.begin();
    await ours.bring('Returning');
    const isClosed = (stages: Stages): boolean => names.every((name) => stages[name] === 'Returning');
    await replicas.everywhere('the end of writes', isClosed, STAGE_MILLIS, signal, GONE_MILLIS);
    this.laps.end('writes under way');
    const last = await backend.currentRevision();
    await carrier.drain(last, LAST_MILLIS, signal);
    await carrier.mustBeEqual();
    await this.mustHaveNoDependents(carrier.born);
    this.laps.end('last changes');
    if (!this.skipsRaise) await this.raise(await backend.currentRevision(), signal);
    this.laps.end('revisions');
    await this.check();
    await journal.write('Returning', { back: 'Routing' }, 'requests for the group go to the cluster');
  }

  /** Nothing of it is in Annex any more: first who serves reads, then who takes writes. */
  private async leave(signal: AbortSignal): Promise<void> {
    const { journal, fence, theirs, ours } = this.parts;
    const { clock, servers, staging } = this.options;
    const definitions = await ours.list();
    await theirs.restore();
    await ours.bring('Copying');
    const probes = definitions.flatMap((definition) => this.probesOf(definition));
    const isBack = (server: KubeApiserver): Promise<boolean> => isServedByCluster(server, probes);
    await servers.everywhere('the route back', isBack, ROUTE_MILLIS, signal);
    this.laps.end('the route');
    await fence.remove();
    const { fencedAt } = journal.record;
    const seconds = fencedAt === 0 ? undefined : ((clock.now() - fencedAt) / 1000).toFixed(1);
    await ours.remove(ESTABLISH_MILLIS, signal);
    for (const { metadata } of definitions) await staging.discard(metadata.name ?? '');
    await staging.drop();
    await theirs.closeBackDoor();
    const message = `the cluster serves the group again${seconds === undefined ? '' : `; writes were refused for ${seconds} s`}${this.laps.text}`;
    const findings: Finding[] = [
      ['Returned', true, 'Returned'],
      ['DependentsOutside', false, 'Returned'],
    ];
    const { counted, countedSince } = journal.record;
    await journal.write('Copying', { ...NO_SWITCH, counted, countedSince }, message, findings);
  }

  /** Annex goes on serving the group. */
  private async stay(why: unknown): Promise<void> {
    const { journal, fence, theirs, ours } = this.parts;
    await ours.bring('Served');
    await theirs.closeBackDoor();
    await fence.put();
    const message = `Annex goes on serving the group: ${messageOf(why)}`;
    const findings: Finding[] = [
      ['Returned', false, 'Refused'],
      ['DependentsOutside', why instanceof Refused && why.dependents, 'Looked'],
    ];
    await journal.write('Served', { back: '', backFrom: 0, fencedAt: 0 }, message, findings);
  }

  private async mustHaveNoDependents(born: ReadonlySet<string>): Promise<void> {
    if (this.parts.journal.spec['dependents'] === 'Abandon' || born.size === 0) return;
    const { client, group } = this.options;
    const found: Dependents = await dependentsOf(client, group, born);
    if (found.objects.length > 0 || found.unread.length > 0)
      throw new Refused(dependentsText(found), found.objects.length > 0);
  }

  /** Nobody writes in Annex any more, and the cluster has everything. */
  private isLeaving(): boolean {
    return this.parts.journal.record.back === 'Routing';
  }

  private get skipsRaise(): boolean {
    return this.parts.journal.spec['skipRaise'] === true;
  }

  /** While everybody writes: most of the way. */
  private async raiseFirst(signal: AbortSignal): Promise<void> {
    if (this.skipsRaise) return;
    const { backend, clock } = this.options;
    const target = await backend.currentRevision();
    const from = await this.clusterRevision();
    const began = clock.monotonic();
    const raised = this.raise(target, signal);
    const progress = { isOver: false };
    const done = raised.catch(() => undefined).then(() => (progress.isOver = true));
    while (!progress.isOver) {
      const [left, perMilli] = [target - this.reached, (this.reached - from) / (clock.monotonic() - began)];
      const seconds = this.reached > from && left > 0 ? `, for about ${Math.ceil(left / perMilli / 1000)} s more` : '';
      await this.parts.journal.tell(
        `Annex takes writes; the cluster's revision is raised from ${from} to ${target} by small writes${seconds}`,
      );
      await Promise.race([done, sleep(clock, TELL_MILLIS, signal)]);
    }
    await raised;
  }

  /** Has the cluster's revision be above one of Annex. */
  private async raise(above: number, signal: AbortSignal): Promise<void> {
    if (this.skipsRaise || this.reached > above) return;
    const next = this.raising
      .catch(() => undefined)
      .then(async () => {
        if (this.reached > above) return;
        const { client, clock, namespace } = this.options;
        const rate = new RateLimit(clock, RAISE_RATE);
        const reached = (revision: number): void => {
          this.reached = Math.max(this.reached, revision);
        };
        await raiseCluster({ client, namespace, rate, reached }, above + MARGIN, signal);
      });
    this.raising = next;
    await next;
  }

  private async clusterRevision(): Promise<number> {
    const found = await this.options.client.must('GET', '/api/v1/namespaces?limit=1');
    const revision = Number(objectAt(found, 'metadata')?.['resourceVersion'] ?? NaN);
    if (!Number.isFinite(revision)) throw new Error('the cluster does not tell its revision');
    return revision;
  }

  private async userName(): Promise<string> {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const answer = await this.options.client.must('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
    const name = stringAt(objectAt(objectAt(answer, 'status'), 'userInfo'), 'username') ?? '';
    if (name === '') throw new Error('the cluster does not tell who Annex is');
    return name;
  }

  private async isOpen(server: KubeApiserver, types: readonly ReturnedType[]): Promise<boolean> {
    for (const { plural } of types) {
      const { status } = await server.call('GET', `/apis/${this.options.group}/${BACK_DOOR}/${plural}?limit=1`);
      if (status !== 200) return false;
    }
    return true;
  }

  /** Throws where the way back is not wanted any more, or somebody else goes on with it. */
  private async check(): Promise<void> {
    const { journal } = this.parts;
    const { back } = journal.record;
    await journal.read();
    if (journal.record.back !== back) throw new Error(`the step is ${journal.record.back}, not ${back}`);
    if (!journal.isReturnWanted) throw new Error('it is not wanted any more');
  }

  /** Watches of each version that say at once whether Annex has the group: it ends them, and the cluster has none to tell of. */
  private probesOf(definition: KubeObject): string[] {
    const { group } = this.options;
    const spec = objectAt(definition, 'spec');
    const plural = textOf(objectAt(spec, 'names')?.['plural']);
    const query = 'watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dannex-none';
    return servedVersions(definition).map((version) => `/apis/${group}/${version}/${plural}?${query}`);
  }
}

async function isServedByCluster(server: KubeApiserver, probes: readonly string[]): Promise<boolean> {
  for (const probe of probes) {
    const { status, text } = await server.plain('GET', probe);
    if (status !== 200 || text.includes('"ERROR"')) return false;
  }
  return true;
}

const typeOf = (definition: KubeObject): ReturnedType => ({
  resource: definition.metadata.name ?? '',
  plural: textOf(objectAt(objectAt(definition, 'spec'), 'names')?.['plural']),
});
