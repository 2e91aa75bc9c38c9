import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { messageOf } from '../../util/error-message.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { Staging } from '../../storage/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import { ClusterCollection } from './collection.js';
import { compareSides } from './comparison.js';
import { Copier } from './copier.js';
import { type AdoptedType, adoptedType, refusalReason } from './definitions.js';
import { RateLimit } from '../rate-limit.js';
import type { Progress, ResourceProgress } from './status.js';
import { validatorOf, type ObjectValidator } from './validity.js';

const POLL_MILLIS = 500;
/** Both sides are compared once everything is copied, and again at this interval. */
const COMPARE_MILLIS = 10 * 60_000;
/** The shorter interval after a comparison that found differences or failed. */
const COMPARE_AGAIN_MILLIS = 30_000;

export interface RehearsalOptions {
  readonly client: Pick<ClusterClient, 'call' | 'watch'>;
  readonly clock: Clock;
  readonly group: string;
  /** The copy, which belongs to this Adoption alone. */
  readonly staging: Staging;
  readonly leader: string;
}

interface Running {
  readonly crds: string;
  readonly parts: readonly Part[];
  readonly stop: AbortController;
  readonly ended: Promise<unknown>;
}

/** Copies a group of the cluster, follows its changes and compares both sides, while the definitions of the group come and change. */
export class Rehearsal {
  private running: Running | undefined;
  private refusal = '';
  /** The names, UIDs and generations of the definitions that `define` saw last. */
  private looked = '';
  private readonly rate: RateLimit;

  constructor(private readonly options: RehearsalOptions) {
    this.rate = new RateLimit(options.clock, 1);
  }

  get progress(): Progress {
    const resources = (this.running?.parts ?? []).map((part) => part.progress);
    const { group, leader } = this.options;
    const none = resources.length === 0;
    return {
      leader,
      resources,
      problem: none ? `the cluster has no CustomResourceDefinition of the group ${group}` : '',
      problemReason: none ? 'NoDefinitions' : '',
      refusal: this.refusal,
    };
  }

  /** The types being copied. */
  get types(): readonly AdoptedType[] {
    return (this.running?.parts ?? []).map(({ type }) => type);
  }

  /** Sets the current definitions of the group, and how many objects may be read per second. */
  async define(crds: readonly KubeObject[], copyRate: number, signal: AbortSignal): Promise<void> {
    this.rate.perSecond = copyRate;
    const looked = crds
      .map(({ metadata: { name = '', uid = '', generation = 0 } }) => `${name} ${uid} ${generation}`)
      .join();
    if (looked === this.looked) return;
    this.looked = looked;
    const types = crds.map(adoptedType);
    this.refusal = crds.map(refusalReason).find((why) => why !== '') ?? '';
    const validators = this.refusal === '' ? await this.validatorsOf(crds) : new Map<string, ObjectValidator>();
    // Reads do not depend on schemas; an object that a new default completes arrives when it is next written.
    const text = JSON.stringify(types.map(({ resource, version }) => [resource, version]).sort());
    if (signal.aborted) return;
    if (text === this.running?.crds) {
      for (const part of this.running.parts) part.judge(validators.get(part.type.resource));
      return;
    }
    await this.stop();
    const stop = new AbortController();
    signal.addEventListener('abort', () => stop.abort());
    const parts = types.filter(({ version }) => version !== '').map((type) => new Part(type, this.options, this.rate));
    for (const part of parts) part.judge(validators.get(part.type.resource));
    const ended = Promise.all(parts.map((part) => part.run(stop.signal)));
    this.running = { crds: text, parts, stop, ended };
  }

  private async validatorsOf(crds: readonly KubeObject[]): Promise<Map<string, ObjectValidator>> {
    const found = new Map<string, ObjectValidator>();
    for (const crd of crds) {
      const { resource, version } = adoptedType(crd);
      if (version !== '') found.set(resource, await validatorOf(crd, version, this.options.clock));
    }
    return found;
  }

  /** Stops the rehearsal; nothing is written to the copy afterwards. */
  async stop(): Promise<void> {
    this.running?.stop.abort();
    await this.running?.ended;
    this.running = undefined;
  }
}

/** The rehearsal of one resource. */
class Part {
  private readonly copier: Copier;
  private readonly collection: ClusterCollection;
  private comparison: ResourceProgress['comparison'];
  private trouble = '';
  private whyInvalid: ObjectValidator = () => '';
  /** How often the schema has changed. */
  private schemas = 0;

  constructor(
    readonly type: AdoptedType,
    private readonly options: RehearsalOptions,
    private readonly rate: RateLimit,
  ) {
    const { client, clock, group, staging } = options;
    this.collection = new ClusterCollection(client, `/apis/${group}/${type.version}`, type.plural);
    this.copier = new Copier({ collection: this.collection, staging, resource: type.resource, clock, rate });
  }

  get progress(): ResourceProgress {
    const { state } = this.copier;
    const trouble = state.trouble === '' ? this.trouble : state.trouble;
    return { plural: this.type.plural, copy: { ...state, trouble }, comparison: this.comparison };
  }

  /** Sets a new schema: both sides are compared again, and the objects are validated against it. */
  judge(whyInvalid: ObjectValidator = () => ''): void {
    this.whyInvalid = whyInvalid;
    this.schemas++;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.copier.run(signal), this.compare(signal)]);
  }

  private async compare(signal: AbortSignal): Promise<void> {
    const { clock, staging } = this.options;
    const { collection, copier, rate, type } = this;
    while (!signal.aborted) {
      await sleep(clock, POLL_MILLIS, signal);
      if (!copier.state.complete) continue;
      let wait = COMPARE_AGAIN_MILLIS;
      const { schemas } = this;
      try {
        const whyInvalid: ObjectValidator = (object) => this.whyInvalid(object);
        const parts = { collection, copier, clock, staging, rate, resource: type.resource, whyInvalid };
        this.comparison = { ...(await compareSides(parts, signal)), at: clock.now() };
        this.trouble = '';
        if (this.comparison.differences === 0) wait = COMPARE_MILLIS;
      } catch (error) {
        this.trouble = messageOf(error);
      }
      const next = clock.monotonic() + wait;
      const isTime = (): boolean => signal.aborted || clock.monotonic() >= next || this.schemas !== schemas;
      while (!isTime()) await sleep(clock, POLL_MILLIS, signal);
    }
  }
}
