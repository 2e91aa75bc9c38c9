import { isConditionTrue } from '../../apimachinery/meta/conditions.js';
import { hasDeletionTimestamp, type KubeObject, groupOf } from '../../apimachinery/meta/meta.js';
import { deepEqual } from '../../apimachinery/json/json.js';
import {
  type Condition,
  computeNamesAccepted,
  establish,
  nonStructuralConditionSliced,
  setTerminating,
  CLEANUP_FINALIZER,
} from '../../registry/apiextensions/customresourcedefinition/status.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import { yieldNow, sliced } from '../../scheduling/slicer.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import type { CustomResourceHandler } from './custom-resource-handler.js';
import { exceptConflicts } from '../errors.js';

/** How long creations that began before a definition was marked as terminating may take to end, so that their objects are found. */
const SETTLE_MILLIS = 250;
/** How soon a definition whose objects still wait for their finalizers is checked again. */
const DRAIN_POLL_MILLIS = 250;

export interface DefinitionControllerOptions {
  readonly client: LoopbackClient;
  readonly serving: CustomResourceHandler;
  readonly clock: Clock;
  /** Deletes all objects of a store in the name of the server; finalizers hold them back as usual. */
  deleteObjects(store: ResourceStore): Promise<void>;
  /** Reports whether deleting the definition leaves its objects to the component that deletes it. */
  leavesObjects?(definition: KubeObject): boolean;
  readonly onError: (name: string, error: unknown) => void;
}

/**
 * Manages the lifecycle of definitions: accepts or refuses their names, establishes and serves them, and on deletion removes their objects
 * first, behind the customresourcecleanup finalizer.
 */
export class DefinitionController {
  private readonly definitions = new Map<string, KubeObject>();
  /** UIDs of definitions being deleted, with the time (monotonic) from which their objects may be deleted. */
  private readonly settling = new Map<string, number>();
  private readonly judged = new WeakMap<KubeObject, { readonly condition: Condition | undefined }>();
  private readonly queue: WorkQueue;
  private syncedOnce: (() => void) | undefined;
  readonly synced: Promise<void>;

  constructor(private readonly options: DefinitionControllerOptions) {
    this.synced = new Promise((resolve) => {
      this.syncedOnce = resolve;
    });
    this.queue = new WorkQueue({
      name: 'crd_naming_condition_controller',
      clock: options.clock,
      reconcile: (name) => this.sync(name),
      onError: exceptConflicts(options.onError),
    });
  }

  start(signal: AbortSignal): void {
    this.options.client.watch(
      {
        upsert: (crd) => {
          const name = crd.metadata.name ?? '';
          this.definitions.set(name, crd);
          this.options.serving.update(crd);
          this.enqueueGroup(crd);
        },
        delete: (crd) => {
          this.definitions.delete(crd.metadata.name ?? '');
          this.settling.delete(crd.metadata.uid ?? '');
          this.options.serving.remove(crd);
          this.enqueueGroup(crd);
        },
        reset: () => this.definitions.clear(),
        synced: () => void this.options.serving.started().then(() => this.syncedOnce?.()),
      },
      signal,
    );
    this.queue.stopOn(signal);
  }

  /** Names are unique within a group: a change of one definition may settle another's conflict. */
  private enqueueGroup(crd: KubeObject): void {
    const group = groupOf(crd);
    for (const [name, other] of this.definitions) if (groupOf(other) === group) this.queue.add(name);
  }

  private async sync(name: string): Promise<void> {
    // Definitions can be large: reading, serving, checking and writing one take separate turns of the event loop.
    await yieldNow();
    const crd = this.definitions.get(name);
    if (crd === undefined) return;
    if (hasDeletionTimestamp(crd)) {
      await this.finalize(crd);
      return;
    }
    const others = [...this.definitions.values()].filter((other) => other !== crd && groupOf(other) === groupOf(crd));
    const now = this.options.clock.now();
    const named = computeNamesAccepted(crd, others, now);
    const structural = await this.nonStructural(crd);
    const next = establish(named, now, () => structural);
    if (deepEqual(next['status'], crd['status'])) return;
    // A client that sees an established definition uses it right away.
    if (isConditionTrue(next, 'Established')) await this.options.serving.prepare(next);
    await yieldNow();
    await this.options.client.updateStatus(next);
  }

  /** Computed once for each state of a definition: changes to others of its group requeue it again and again. */
  private async nonStructural(crd: KubeObject): Promise<Condition | undefined> {
    const judged = this.judged.get(crd);
    if (judged !== undefined) return judged.condition;
    const condition = await sliced(nonStructuralConditionSliced(crd), this.options.clock);
    this.judged.set(crd, { condition });
    return condition;
  }

  private async finalize(crd: KubeObject): Promise<void> {
    if (!(crd.metadata.finalizers ?? []).includes(CLEANUP_FINALIZER)) return;
    const { client, serving, clock } = this.options;
    const name = crd.metadata.name ?? '';
    const uid = crd.metadata.uid ?? '';
    const settled = this.settling.get(uid);
    if (settled === undefined) {
      this.settling.set(uid, clock.monotonic() + SETTLE_MILLIS);
      this.queue.addAfter(name, SETTLE_MILLIS);
      await client.updateStatus(setTerminating(crd, clock.now(), 'InstanceDeletionInProgress'));
      return;
    }
    if (clock.monotonic() < settled) {
      this.queue.addAfter(name, settled - clock.monotonic());
      return;
    }
    if (!serving.isShadowed(crd) && this.options.leavesObjects?.(crd) !== true) {
      const store = serving.store(crd);
      if (isConditionTrue(crd, 'Established')) await this.options.deleteObjects(store);
      if (store.cache.size() > 0) {
        this.queue.addAfter(name, DRAIN_POLL_MILLIS);
        return;
      }
    }
    const reason = isConditionTrue(crd, 'Established') ? 'InstanceDeletionCompleted' : 'NeverEstablished';
    const done = setTerminating(crd, clock.now(), reason);
    const marked = await client.updateStatus(done);
    const finalizers = (marked.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
    const next: KubeObject = { ...marked, metadata: { ...marked.metadata, finalizers } };
    await client.update(next);
  }
}
