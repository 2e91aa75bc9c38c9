import { newConflict, newNotFound } from '../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { formatTime, hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from '../../apimachinery/validation/object-meta.js';
import type { RequestContext } from '../../request/context.js';
import type { Revision, StoredObject } from '../../storage/interfaces.js';
import type { ServedVersion } from '../rest/served.js';
import type { DeleteOptions, DeleteResult } from '../rest/storage.js';
import { decodeInVersion } from './conversion-retry.js';
import type { ResourceStore } from './store/resource-store.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** Returns the options as webhooks and policies see them. */
export function deleteOptionsObject(options: DeleteOptions): JsonObject {
  const { uid, resourceVersion } = options.preconditions;
  const preconditions = {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  return {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(options.gracePeriodSeconds !== undefined && { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.hasPreconditions === true && { preconditions }),
    ...(options.orphanDependents !== undefined && { orphanDependents: options.orphanDependents }),
    ...(options.propagationPolicy !== undefined && { propagationPolicy: options.propagationPolicy }),
    ...(options.dryRun && { dryRun: ['All'] }),
  };
}

export interface DeleteInput {
  readonly context: RequestContext;
  readonly served: ServedVersion;
  readonly namespace: string;
  readonly name: string;
  readonly options: DeleteOptions;
  /** Runs validating admission. */
  validate(object: KubeObject): MaybePromise<void>;
}

/**
 * Deletes an object: immediately, or in two phases if finalizers or a grace period require it. A concurrent change to the object
 * restarts the deletion.
 */
export async function deleteObject(store: ResourceStore, request: DeleteInput): Promise<DeleteResult> {
  const key = store.key(request.namespace, request.name);
  let original = await store.getOriginalState(key);
  for (;;) {
    request.context.cancellation.throwIfAborted();
    let step: Step;
    try {
      step = await stepFrom(store, request, original.current);
    } catch (error) {
      const newer = await store.refreshIfStale(key, original);
      if (newer === undefined) throw error;
      original = newer;
      continue;
    }
    if ('answer' in step) {
      const newer = await store.refreshIfStale(key, original);
      if (newer === undefined) return step.answer;
      original = newer;
      continue;
    }
    const result = await executeStep(store, key, step, original.isLatest);
    if ('object' in result) return result;
    original = { current: result.current, isLatest: false };
  }
}

/** The next step: a write, whose result shows whether it was based on the newest state, or an answer that writes nothing. */
type Step = { readonly answer: DeleteResult } | DeletionWrite;

interface DeletionWrite {
  readonly current: StoredObject;
  readonly old: KubeObject;
  /** The object marked for deletion; undefined if it is removed without a mark. */
  readonly marked: { readonly object: KubeObject; readonly value: JsonObject } | undefined;
}

async function stepFrom(store: ResourceStore, request: DeleteInput, current: StoredObject | undefined): Promise<Step> {
  if (current === undefined) throw newNotFound(store.groupResource, request.name);
  const old = await decodeInVersion(request.served, current, request.context.stopwatch);
  checkPreconditions(request, old, String(current.revision));
  const next = markedForDeletion(store, request, old);
  if (next === 'pending') return { answer: { object: old, stored: current, removed: false } };
  await request.validate(old);
  if (request.options.dryRun) {
    return { answer: { object: next ?? old, stored: undefined, removed: next === undefined || isRemovable(next) } };
  }
  const marked = next === undefined ? undefined : { object: next, value: await request.served.toStorage(next) };
  return { current, old, marked };
}

/** Marks the object, removes it, or both. If another client changed it meanwhile, returns its current state. */
async function executeStep(
  store: ResourceStore,
  key: string,
  { current, old, marked }: DeletionWrite,
  isLatest: boolean,
): Promise<DeleteResult | { readonly current: StoredObject | undefined }> {
  if (marked === undefined) {
    const result = await store.remove(key, current);
    if (result.outcome === 'conflict') return result;
    return { object: at(old, result.object.revision), stored: undefined, removed: true };
  }
  const { object, value } = marked;
  const written = await store.replace(key, { current, isLatest }, value);
  if (written.outcome === 'conflict') return written;
  if (!isRemovable(object)) return { object, stored: written.object, removed: false };
  const { revision } = written.object;
  const removed = await store.remove(key, written.object);
  if (removed.outcome === 'committed') {
    return { object: at(object, removed.object.revision), stored: undefined, removed: true };
  }
  // Another client removed it first, which is the requested outcome.
  if (removed.current === undefined) return { object: at(object, revision), stored: undefined, removed: true };
  return removed;
}

/** Returns the object as clients see it after its removal: with the resourceVersion of that removal. */
const at = (object: KubeObject, revision: Revision): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});

/**
 * Reports whether the grace period is zero and no finalizers are left. The mark is still written, for watchers, and the object is
 * removed right after.
 */
const isRemovable = ({ metadata }: KubeObject): boolean =>
  metadata.deletionGracePeriodSeconds === 0 && (metadata.finalizers ?? []).length === 0;

/**
 * Returns the object marked for deletion, undefined if it can be removed immediately, or 'pending' if there is nothing to do
 * because its grace period is already running.
 */
function markedForDeletion(
  store: ResourceStore,
  request: DeleteInput,
  old: KubeObject,
): KubeObject | undefined | 'pending' {
  const next: KubeObject = { ...old, metadata: { ...old.metadata } };
  const special = request.served.type.deletion.beforeDelete?.(request.context, next, request.options);
  if (special !== undefined) return special;
  const graceful = applyGrace(store, request, next);
  if (graceful === 'pending') return 'pending';
  setGarbageCollectionFinalizers(request, next);
  const waits = (next.metadata.finalizers ?? []).length > 0;
  if (graceful === 'graceful') return next;
  if (!waits) return undefined;
  markAsDeleting(next, store.clock.now());
  return next;
}

/** Applies graceful deletion for the types that support it (pods). */
function applyGrace(store: ResourceStore, request: DeleteInput, object: KubeObject): 'graceful' | 'pending' | 'none' {
  const strategy = request.served.type.deletion;
  if (strategy.gracePeriodSeconds === undefined) return 'none';
  const asked = negativeIsOne(request.options.gracePeriodSeconds);
  const meta = object.metadata;
  if (hasDeletionTimestamp(object)) return shortenGrace(store, meta, asked);
  const seconds = strategy.gracePeriodSeconds(object, asked);
  if (seconds === undefined) return 'none';
  meta.deletionTimestamp = formatTime(store.clock.now() + seconds * 1000);
  meta.deletionGracePeriodSeconds = seconds;
  if ((meta.generation ?? 0) > 0) meta.generation = (meta.generation ?? 0) + 1;
  return 'graceful';
}

/** Shortens a running grace period, which can never be extended. */
function shortenGrace(
  store: ResourceStore,
  meta: KubeObject['metadata'],
  asked: number | undefined,
): 'graceful' | 'pending' | 'none' {
  const running = negativeIsOne(meta.deletionGracePeriodSeconds) ?? 0;
  if (running === 0) return 'none';
  if (asked === undefined || asked >= running) return 'pending';
  const now = store.clock.now();
  const at = Date.parse(meta.deletionTimestamp ?? '') - running * 1000 + asked * 1000;
  const seconds = at < now && asked !== 0 ? 1 : asked;
  meta.deletionTimestamp = formatTime(Math.max(at, now));
  meta.deletionGracePeriodSeconds = seconds;
  return 'graceful';
}

const negativeIsOne = (seconds: number | undefined): number | undefined =>
  seconds !== undefined && seconds < 0 ? 1 : seconds;

/** Sets deletionTimestamp to now and the grace period to zero. */
function markAsDeleting(object: KubeObject, now: number): void {
  const meta = object.metadata;
  if (!hasDeletionTimestamp(object) && (meta.generation ?? 0) > 0) meta.generation = (meta.generation ?? 0) + 1;
  if (!hasDeletionTimestamp(object) || Date.parse(meta.deletionTimestamp ?? '') > now) {
    meta.deletionTimestamp = formatTime(now);
  }
  meta.deletionGracePeriodSeconds = 0;
}

/** Sets the finalizers of the garbage collector as the options, the existing finalizers and the type's default require. */
function setGarbageCollectionFinalizers(request: DeleteInput, object: KubeObject): void {
  if (request.served.type.deletion.defaultGarbageCollection === 'unsupported') return;
  const existing = object.metadata.finalizers ?? [];
  const policy = effectivePolicy(request, existing);
  const wanted = existing.filter(
    (name) => name !== FINALIZER_ORPHAN_DEPENDENTS && name !== FINALIZER_DELETE_DEPENDENTS,
  );
  if (policy === 'Orphan') wanted.push(FINALIZER_ORPHAN_DEPENDENTS);
  if (policy === 'Foreground') wanted.push(FINALIZER_DELETE_DEPENDENTS);
  const known = new Set(existing);
  const same = wanted.length === existing.length && wanted.every((name) => known.has(name));
  if (same) return;
  if (wanted.length === 0) delete object.metadata.finalizers;
  else object.metadata.finalizers = wanted;
}

function effectivePolicy(request: DeleteInput, finalizers: readonly string[]): 'Orphan' | 'Foreground' | 'Background' {
  const { orphanDependents, propagationPolicy } = request.options;
  if (orphanDependents !== undefined) return orphanDependents ? 'Orphan' : 'Background';
  if (propagationPolicy === 'Orphan' || propagationPolicy === 'Foreground' || propagationPolicy === 'Background') {
    return propagationPolicy;
  }
  for (const finalizer of finalizers) {
    if (finalizer === FINALIZER_ORPHAN_DEPENDENTS) return 'Orphan';
    if (finalizer === FINALIZER_DELETE_DEPENDENTS) return 'Foreground';
  }
  return request.served.type.deletion.defaultGarbageCollection === 'orphan' ? 'Orphan' : 'Background';
}

/** Checks the preconditions. The conflict texts are kube-apiserver's, which name the kind, not the resource. */
function checkPreconditions(request: DeleteInput, old: KubeObject, resourceVersion: string): void {
  const wanted = request.options.preconditions;
  // The group is that of the internal type: events of either group are core events.
  const { group, kind } = request.served.gvk;
  const subject = { group: group === 'events.k8s.io' ? '' : group, resource: kind };
  const { deletion } = request.served.type;
  for (const [field, given, actual, change] of [
    ['UID', wanted.uid, old.metadata.uid ?? '', 'deleted and then recreated'],
    ['ResourceVersion', wanted.resourceVersion, resourceVersion, 'modified'],
  ] as const) {
    if (given === undefined || given === actual) continue;
    const text = `the ${field} in the precondition (${given}) does not match the ${field} in record (${actual}). The object might have been ${change}`;
    throw deletion.preconditionFailed?.(old, field, given, actual) ?? newConflict(subject, request.name, text);
  }
}
