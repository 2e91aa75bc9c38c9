import { type JsonObject, objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import type { Clock } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { exceptConflicts } from '../errors.js';
import { splitKey } from '../../registry/generic/store/resource-store.js';
import { keyOf } from '../object-cache.js';

export interface ProtectionOptions {
  /** The name of the work queue in metrics. */
  readonly queue: string;
  /** The client of the protected type. */
  readonly client: LoopbackClient;
  readonly finalizer: string;
  readonly clock: Clock;
  /** Reports whether an object that is being deleted is still used. */
  isUsed(object: KubeObject): Promise<boolean>;
  readonly onError: (key: string, error: unknown) => void;
}

/** Removes the protection finalizer from deleted volumes and claims once nothing uses them. */
export class StorageProtection {
  private readonly queue: WorkQueue;

  constructor(private readonly options: ProtectionOptions) {
    this.queue = new WorkQueue({
      name: options.queue,
      clock: options.clock,
      reconcile: (key) => this.sync(key),
      workers: 4,
      onError: exceptConflicts(options.onError),
    });
  }

  start(signal: AbortSignal): void {
    const upsert = (object: KubeObject): void => {
      if (this.isCandidate(object)) this.queue.add(keyOf(object));
    };
    this.options.client.watch({ upsert }, signal);
    this.queue.stopOn(signal);
  }

  /** Requeues an object because its user has changed. */
  reconsider(namespace: string, name: string): void {
    this.queue.add(keyOf({ metadata: { namespace, name } }));
  }

  private isCandidate(object: KubeObject): boolean {
    return hasDeletionTimestamp(object) && object.metadata.finalizers?.includes(this.options.finalizer) === true;
  }

  private async sync(key: string): Promise<void> {
    const { client, finalizer } = this.options;
    const { namespace, name } = splitKey(key);
    const object = await client.get(namespace, name);
    if (object === undefined || !this.isCandidate(object) || (await this.options.isUsed(object))) return;
    const finalizers = object.metadata.finalizers?.filter((other) => other !== finalizer) ?? [];
    await client.update({ ...object, metadata: { ...object.metadata, finalizers } });
  }
}

/** Returns the claims that a pod protects from deletion: kubelets do not start a scheduled pod whose claim is being deleted. */
export function claimsInUse(pod: KubeObject): string[] {
  const spec = objectAt(pod, 'spec');
  if ((stringAt(spec, 'nodeName') ?? '') === '') return [];
  const isShutDown = hasDeletionTimestamp(pod) && pod.metadata['deletionGracePeriodSeconds'] === 0;
  return claimsOf(pod, spec, isShutDown ? 'persistent' : 'all');
}

/** Returns all claims that a pod names. */
export const claimsNamed = (pod: KubeObject): string[] => claimsOf(pod, objectAt(pod, 'spec'), 'all');

function claimsOf(pod: KubeObject, spec: JsonObject | undefined, volumes: 'all' | 'persistent'): string[] {
  return objectsOf(spec?.['volumes']).flatMap((volume) => {
    const claim = stringAt(objectAt(volume, 'persistentVolumeClaim'), 'claimName');
    if (claim !== undefined) return [claim];
    if (volumes === 'persistent' || objectAt(volume, 'ephemeral') === undefined) return [];
    return [`${pod.metadata.name ?? ''}-${stringAt(volume, 'name') ?? ''}`];
  });
}
