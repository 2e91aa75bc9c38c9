import { deepCopy, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { ClusterClient } from '../../client/cluster-client.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Backend } from '../../storage/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import { isConflictOrNotFound } from '../errors.js';
import type { ClusterLease } from './lease.js';
import { Rehearsal } from './rehearsal.js';
import { isNews, type Progress, statusOf } from './status.js';

const FINALIZER = 'kubeannex.io/adoption';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const REPORT_MILLIS = 1_000;
const DEFAULT_RATE = 1_000;

export interface AdoptionControllerOptions {
  readonly adoptions: LoopbackClient;
  readonly client: Pick<ClusterClient, 'call' | 'watch' | 'follow'>;
  readonly backend: Pick<Backend, 'staging'>;
  readonly clock: Clock;
  readonly lease: Pick<ClusterLease, 'contend'>;
  /** This replica, for people. */
  readonly identity: string;
  readonly failed: (what: string, error: unknown) => void;
}

interface Running {
  readonly uid: string;
  readonly rehearsal: Rehearsal;
  readonly stop: AbortController;
}

/** Carries out Adoptions while this replica leads. */
export class AdoptionController {
  private readonly adoptions = new Map<string, KubeObject>();
  private readonly running = new Map<string, Running>();
  private readonly definitions = new Map<string, KubeObject>();
  private definitionsKnown = false;
  private adoptionsKnown = false;

  constructor(private readonly options: AdoptionControllerOptions) {}

  /** Contends for the lead until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.options.lease.contend(signal, (leading) => this.lead(leading));
  }

  private async lead(signal: AbortSignal): Promise<void> {
    const { clock, failed } = this.options;
    this.watchAdoptions(signal);
    void this.followDefinitions(signal);
    while (!signal.aborted) {
      if (this.adoptionsKnown) {
        for (const name of new Set([...this.adoptions.keys(), ...this.running.keys()])) {
          try {
            await this.sync(name);
          } catch (error) {
            if (!isConflictOrNotFound(error)) failed(name, error);
          }
        }
      }
      await sleep(clock, REPORT_MILLIS, signal);
    }
    await Promise.all([...this.running.keys()].map((name) => this.end(name)));
    this.adoptions.clear();
    this.definitions.clear();
    this.definitionsKnown = this.adoptionsKnown = false;
  }

  private watchAdoptions(signal: AbortSignal): void {
    const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? '';
    const listener = {
      upsert: (adoption: KubeObject) => void this.adoptions.set(nameOf(adoption), adoption),
      delete: (adoption: KubeObject) => void this.adoptions.delete(nameOf(adoption)),
      reset: () => {
        this.adoptions.clear();
        this.adoptionsKnown = false;
      },
      synced: () => {
        this.adoptionsKnown = true;
      },
    };
    this.options.adoptions.watch(listener, signal);
  }

  /** Of the definitions of the cluster those of groups that may be adopted; schemas make them large. */
  private async followDefinitions(signal: AbortSignal): Promise<void> {
    const isWanted = (crd: KubeObject): boolean => this.adoptions.has(groupOf(crd));
    const keep = (crd: KubeObject): void => {
      this.definitions.set(
        crd.metadata.name ?? '',
        isWanted(crd) ? crd : { metadata: crd.metadata, spec: { group: groupOf(crd) } },
      );
    };
    const listener = {
      upsert: keep,
      delete: (crd: KubeObject) => void this.definitions.delete(crd.metadata.name ?? ''),
      replaced: (all: readonly KubeObject[]) => {
        this.definitions.clear();
        for (const crd of all) keep(crd);
        this.definitionsKnown = true;
      },
    };
    await this.options.client.follow(DEFINITIONS, listener, signal, (error) => {
      this.options.failed('CustomResourceDefinitions', error);
    });
  }

  private async sync(name: string): Promise<void> {
    const adoption = this.adoptions.get(name);
    const running = this.running.get(name);
    if (adoption === undefined || hasDeletionTimestamp(adoption)) {
      await this.end(name);
      if (adoption !== undefined) await this.finalize(adoption);
      return;
    }
    if (running !== undefined && running.uid !== uidOf(adoption)) await this.end(name);
    if (!(adoption.metadata.finalizers ?? []).includes(FINALIZER)) {
      await this.options.adoptions.update(
        withFinalizers(adoption, [...(adoption.metadata.finalizers ?? []), FINALIZER]),
      );
      return;
    }
    await this.report(adoption, await this.rehearse(adoption));
  }

  private async rehearse(adoption: KubeObject): Promise<Progress> {
    const { backend, client, clock, identity } = this.options;
    const group = adoption.metadata.name ?? '';
    const staging = backend.staging?.(stagingName(adoption));
    if (staging === undefined) {
      const problem = 'the store keeps no copies: adoptions need MongoDB, and a type that is not encrypted at rest';
      return { leader: identity, resources: [], problem, problemReason: 'StoreWithoutCopies', refusal: '' };
    }
    let running = this.running.get(group);
    if (running === undefined) {
      const rehearsal = new Rehearsal({ client, clock, group, staging, leader: identity });
      running = { uid: uidOf(adoption), rehearsal, stop: new AbortController() };
      this.running.set(group, running);
    }
    if (!this.definitionsKnown) return { ...running.rehearsal.progress, problem: '', problemReason: '' };
    const copyRate = Number(objectAt(adoption, 'spec')?.['copyRate'] ?? DEFAULT_RATE);
    await running.rehearsal.define(await this.definitionsOf(group), copyRate, running.stop.signal);
    return running.rehearsal.progress;
  }

  private async definitionsOf(group: string): Promise<KubeObject[]> {
    const found: KubeObject[] = [];
    for (const [name, crd] of this.definitions) {
      if (groupOf(crd) !== group) continue;
      const whole = objectAt(crd, 'spec')?.['versions'] === undefined ? await this.read(name) : crd;
      if (whole === undefined) continue;
      this.definitions.set(name, whole);
      found.push(whole);
    }
    return found;
  }

  private async read(name: string): Promise<KubeObject | undefined> {
    const { status, body } = await this.options.client.call('GET', `${DEFINITIONS}/${name}`);
    return status === 200 ? (body as KubeObject) : undefined;
  }

  private async report(adoption: KubeObject, progress: Progress): Promise<void> {
    const status = statusOf(adoption, progress, this.options.clock.now());
    if (!isNews(objectAt(adoption, 'status'), status)) return;
    await this.options.adoptions.updateStatus({ ...deepCopy(adoption), status });
  }

  private async end(name: string): Promise<void> {
    const running = this.running.get(name);
    this.running.delete(name);
    running?.stop.abort();
    await running?.rehearsal.stop();
  }

  /** The copy goes with its Adoption. */
  private async finalize(adoption: KubeObject): Promise<void> {
    const { adoptions, backend } = this.options;
    const finalizers = adoption.metadata.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) return;
    await backend.staging?.(stagingName(adoption)).drop();
    await adoptions.update(
      withFinalizers(
        adoption,
        finalizers.filter((one) => one !== FINALIZER),
      ),
    );
  }
}

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';

const groupOf = (crd: KubeObject): string => stringAt(objectAt(crd, 'spec'), 'group') ?? '';

/** No two Adoptions have the same, so that one that was deleted and made again begins with nothing. */
const stagingName = (adoption: KubeObject): string => uidOf(adoption).slice(0, 13);

const withFinalizers = (adoption: KubeObject, finalizers: string[]): KubeObject => {
  const copy = deepCopy(adoption);
  return { ...copy, metadata: { ...copy.metadata, finalizers } };
};
