import { TOOK_TOO_LONG } from './protocol/condition.js';
import { conditionsOf } from '../apimachinery/meta/conditions.js';
import { deepCopy, deepEqual, type JsonObject, objectAt } from '../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject, nameOf, groupOf } from '../apimachinery/meta/meta.js';
import type { ClusterClient } from '../client/cluster-client.js';
import type { LoopbackClient } from '../registry/rest/loopback-client.js';
import type { Backend } from '../storage/interfaces.js';
import { type Clock, sleep } from '../util/clock.js';
import { isConflictOrNotFound } from '../controllers/errors.js';
import type { ElectionLease } from '../controllers/lease.js';
import type { AdoptedDefinitions } from './handover/adopted-definitions.js';
import { hasFailed, isMoving, isReturnWanted, isTriedAgain, isWanted, phaseOf, recordOf } from './move/journal.js';
import type { KubeApiservers } from './cluster/kube-apiservers.js';
import type { MoveOptions } from './move/parts.js';
import { isFreed } from './move/source.js';
import { Mover } from './move/mover.js';
import { ReadinessChecker } from './reporting/readiness.js';
import { Rehearsal } from './rehearsal/rehearsal.js';
import { type Progress, statusOf } from './rehearsal/status.js';

const FINALIZER = 'kubeannex.io/adoption';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const REPORT_MILLIS = 1_000;
const HOLD_MILLIS = 10_000;
const DEFAULT_RATE = 1_000;
/** Interval between attempts to return a group, in milliseconds: the obstacle may be gone by then. */
const RETURN_AGAIN_MILLIS = 300_000;

export interface AdoptionControllerOptions {
  readonly adoptions: LoopbackClient;
  readonly definitions: LoopbackClient;
  readonly client: ClusterClient;
  readonly servers: KubeApiservers;
  readonly replicas: MoveOptions['replicas'];
  readonly backend: Backend;
  readonly adopted: Pick<AdoptedDefinitions, 'followsCluster' | 'routeOf'>;
  /** The namespace that Annex runs in. */
  readonly namespace: string;
  readonly admissionFromCluster: boolean;
  readonly clock: Clock;
  readonly lease: Pick<ElectionLease, 'contend'>;
  /** The name of this replica, as shown in the status of Adoptions. */
  readonly identity: string;
  readonly onError: (what: string, error: unknown) => void;
}

interface Running {
  readonly uid: string;
  readonly rehearsal: Rehearsal;
  readonly stop: AbortController;
}

/** A switch in progress, or a group that Annex serves and holds. */
interface ActiveSwitch {
  readonly uid: string;
  readonly mover: Mover;
  readonly stop: AbortController;
  done: Promise<void> | undefined;
  /** When the last move ended, or when the group was first seen (monotonic milliseconds). */
  movedAt: number;
  heldAt: number;
}

/** Carries out Adoptions while this replica leads. */
export class AdoptionController {
  private readonly adoptions = new Map<string, KubeObject>();
  private readonly running = new Map<string, Running>();
  private readonly activeSwitches = new Map<string, ActiveSwitch>();
  private readonly definitions = new Map<string, KubeObject>();
  private definitionsKnown = false;
  private adoptionsKnown = false;
  private readonly readiness: ReadinessChecker;

  constructor(private readonly options: AdoptionControllerOptions) {
    this.readiness = new ReadinessChecker(options);
  }

  /** Takes part in leader election until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.options.lease.contend(signal, (leading) => this.lead(leading));
  }

  private async lead(signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.options;
    this.watchAdoptions(signal);
    void this.followDefinitions(signal);
    while (!signal.aborted) {
      if (this.adoptionsKnown) {
        for (const name of new Set([...this.adoptions.keys(), ...this.running.keys()])) {
          try {
            await this.sync(name);
          } catch (error) {
            if (!isConflictOrNotFound(error)) onError(name, error);
          }
        }
      }
      await sleep(clock, REPORT_MILLIS, signal);
    }
    await Promise.all([...this.running.keys(), ...this.activeSwitches.keys()].map((name) => this.stopGroup(name)));
    this.adoptions.clear();
    this.definitions.clear();
    this.definitionsKnown = this.adoptionsKnown = false;
  }

  private watchAdoptions(signal: AbortSignal): void {
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

  /** Follows the cluster's definitions. Only those of groups with an Adoption are kept in full: schemas make them large. */
  private async followDefinitions(signal: AbortSignal): Promise<void> {
    const isWanted = (crd: KubeObject): boolean => this.adoptions.has(groupOf(crd));
    const keep = (crd: KubeObject): void => {
      this.definitions.set(
        nameOf(crd),
        isWanted(crd) ? crd : { metadata: crd.metadata, spec: { group: groupOf(crd) } },
      );
    };
    const listener = {
      upsert: keep,
      delete: (crd: KubeObject) => void this.definitions.delete(nameOf(crd)),
      replaced: (all: readonly KubeObject[]) => {
        this.definitions.clear();
        for (const crd of all) keep(crd);
        this.definitionsKnown = true;
      },
    };
    await this.options.client.follow(DEFINITIONS, listener, signal, (error) =>
      this.options.onError('CustomResourceDefinitions', error),
    );
  }

  private async sync(name: string): Promise<void> {
    const adoption = this.adoptions.get(name);
    const running = this.running.get(name);
    if (adoption !== undefined && isMoving(adoption)) return this.move(adoption);
    if (adoption === undefined || hasDeletionTimestamp(adoption)) {
      await this.stopGroup(name);
      if (adoption !== undefined) await this.finalize(adoption);
      return;
    }
    if (running !== undefined && running.uid !== uidOf(adoption)) await this.stopGroup(name);
    if (phaseOf(adoption) === 'Served') return this.serve(adoption);
    // A failed switch is not retried until the spec changes.
    if (hasFailed(adoption) && isWanted(adoption)) return;
    if (!(adoption.metadata.finalizers ?? []).includes(FINALIZER)) {
      await this.options.adoptions.update(
        withFinalizers(adoption, [...(adoption.metadata.finalizers ?? []), FINALIZER]),
      );
      return;
    }
    const progress = await this.rehearse(adoption);
    const counted = await this.startCountingWrites(adoption);
    const crds = this.definitionsKnown ? await this.definitionsOf(name) : [];
    const readiness = crds.length > 0 && progress.problem === '' ? await this.readiness.of(name, crds) : [];
    const status = statusOf(adoption, progress, readiness, this.options.clock.now());
    const { retries, retryAt } = recordOf(adoption);
    const isLater = isTriedAgain(adoption);
    if (counted !== undefined || isLater) status['switch'] = { ...counted, ...(isLater && { retries, retryAt }) };
    await this.report(adoption, status);
    const isSwitchable = readiness.some(([type, holds]) => type === 'Switchable' && holds);
    const isInSync = status['phase'] === 'InSync' && phaseOf(adoption) === 'InSync';
    const isReady = isInSync && isSwitchable && progress.refusal === '';
    const isDue = !isLater || this.options.clock.now() >= retryAt;
    if (isWanted(adoption) && isReady && isDue) await this.move(adoption);
  }

  /** Starts counting writes early, if RBAC allows it: a switch can begin only after all uncounted writes have ended. */
  private async startCountingWrites(adoption: KubeObject): Promise<JsonObject | undefined> {
    const { counted, countedSince } = recordOf(adoption);
    if (counted !== '') return { counted, countedSince };
    const running = this.running.get(nameOf(adoption));
    if (phaseOf(adoption) !== 'InSync' || running === undefined) return undefined;
    try {
      const found = await this.newActiveSwitch(adoption)?.mover.countEarly(
        running.rehearsal.types,
        running.stop.signal,
      );
      return found && { ...found };
    } catch {
      // The switch itself reports what is missing.
      return undefined;
    }
  }

  /** Runs the switch on this replica until it is over. */
  private async move(adoption: KubeObject): Promise<void> {
    const group = nameOf(adoption);
    const found = this.activeSwitches.get(group);
    if (found?.uid === uidOf(adoption) && found.done !== undefined) return;
    await this.stopGroup(group);
    const moving = this.newActiveSwitch(adoption);
    if (moving === undefined) return;
    this.activeSwitches.set(group, moving);
    moving.done = moving.mover.run(moving.stop.signal).finally(() => {
      moving.done = undefined;
      moving.movedAt = this.options.clock.monotonic();
    });
  }

  /** Keeps the group with Annex, or returns it to the cluster: one attempt for each change of the spec, and again after a while. */
  private async serve(adoption: KubeObject): Promise<void> {
    const { clock } = this.options;
    const moving = this.activeSwitches.get(nameOf(adoption));
    const { generation = 0 } = adoption.metadata;
    const last = conditionsOf(adoption).find(
      ({ type, status, observedGeneration }) =>
        type === 'Returned' && status === 'False' && observedGeneration === generation,
    );
    const isLater = moving === undefined || clock.monotonic() - moving.movedAt > RETURN_AGAIN_MILLIS;
    // A return that failed while writes were refused is not retried until the spec changes.
    const isTime =
      last === undefined || ((last['reason'] === 'Refused' || last['reason'] === TOOK_TOO_LONG) && isLater);
    const crds = this.definitionsKnown ? await this.definitionsOf(nameOf(adoption)) : [];
    if (isReturnWanted(adoption) && isTime) await this.move(adoption);
    else await this.hold(adoption, isWanted(adoption) && isFreed(adoption, crds));
  }

  /** Periodically restores what keeps the group with Annex, or frees the cluster's copy if it is not to be retained. */
  private async hold(adoption: KubeObject, frees: boolean): Promise<void> {
    const group = nameOf(adoption);
    const { clock, onError } = this.options;
    let moving = this.activeSwitches.get(group);
    if (moving?.uid !== uidOf(adoption)) {
      await this.stopGroup(group);
      moving = this.newActiveSwitch(adoption);
      if (moving === undefined) return;
      this.activeSwitches.set(group, moving);
    }
    if (moving.done !== undefined || clock.monotonic() - moving.heldAt < HOLD_MILLIS) return;
    const held = moving;
    held.done = (frees ? held.mover.free(held.stop.signal) : held.mover.hold(held.stop.signal))
      .catch((error: unknown) => {
        if (!isConflictOrNotFound(error)) onError(group, error);
      })
      .finally(() => {
        held.done = undefined;
        held.heldAt = clock.monotonic();
      });
  }

  private newActiveSwitch(adoption: KubeObject): ActiveSwitch | undefined {
    const { adopted, adoptions, backend, client, clock, definitions, onError, namespace, replicas, servers } =
      this.options;
    const staging = backend.staging?.copy(stagingName(adoption));
    if (staging === undefined) return undefined;
    const group = nameOf(adoption);
    const uid = uidOf(adoption);
    const mover = new Mover({
      ...{ adopted, adoptions, backend, client, clock, definitions, namespace, replicas, servers, staging, group, uid },
      copyRate: copyRateOf(adoption),
      onError: (error) => onError(group, error),
    });
    const since = clock.monotonic();
    return { uid, mover, stop: new AbortController(), done: undefined, movedAt: since, heldAt: -Infinity };
  }

  private async rehearse(adoption: KubeObject): Promise<Progress> {
    const { backend, client, clock, identity } = this.options;
    const group = nameOf(adoption);
    const staging = backend.staging?.copy(stagingName(adoption));
    if (staging === undefined) {
      const problem = 'the store cannot hold copies: adoptions require MongoDB';
      return { leader: identity, resources: [], problem, problemReason: 'StoreWithoutCopies', refusal: '' };
    }
    if (this.options.adopted.routeOf(group) !== 'Ordinary') {
      const problem = 'Annex already serves the group: an earlier Adoption has moved it';
      return { leader: identity, resources: [], problem, problemReason: 'AlreadyServed', refusal: '' };
    }
    let running = this.running.get(group);
    if (running === undefined) {
      const rehearsal = new Rehearsal({ client, clock, group, staging, leader: identity });
      running = { uid: uidOf(adoption), rehearsal, stop: new AbortController() };
      this.running.set(group, running);
    }
    if (!this.definitionsKnown) return { ...running.rehearsal.progress, problem: '', problemReason: '' };
    await running.rehearsal.define(await this.definitionsOf(group), copyRateOf(adoption), running.stop.signal);
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

  private async report(adoption: KubeObject, status: JsonObject): Promise<void> {
    if (deepEqual(objectAt(adoption, 'status'), status)) return;
    await this.options.adoptions.updateStatus({ ...deepCopy(adoption), status });
  }

  private async stopGroup(name: string): Promise<void> {
    this.readiness.forget(name);
    const running = this.running.get(name);
    this.running.delete(name);
    running?.stop.abort();
    await running?.rehearsal.stop();
    const moving = this.activeSwitches.get(name);
    this.activeSwitches.delete(name);
    moving?.stop.abort();
    await moving?.done;
  }

  /** Deletes the copy together with its Adoption. */
  private async finalize(adoption: KubeObject): Promise<void> {
    const { adoptions, backend } = this.options;
    const finalizers = adoption.metadata.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) return;
    await backend.staging?.copy(stagingName(adoption)).drop();
    if (recordOf(adoption).counted !== '') await this.newActiveSwitch(adoption)?.mover.cleanUp();
    await adoptions.update(
      withFinalizers(
        adoption,
        finalizers.filter((one) => one !== FINALIZER),
      ),
    );
  }
}

const copyRateOf = (adoption: KubeObject): number => Number(objectAt(adoption, 'spec')?.['copyRate'] ?? DEFAULT_RATE);

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';

/** Derived from the UID, so that an Adoption that is deleted and created again starts from scratch. */
const stagingName = (adoption: KubeObject): string => uidOf(adoption).slice(0, 13);

const withFinalizers = (adoption: KubeObject, finalizers: string[]): KubeObject => {
  const copy = deepCopy(adoption);
  return { ...copy, metadata: { ...copy.metadata, finalizers } };
};
