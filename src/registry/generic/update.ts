import { newConflict, newInvalid, newNotFound } from '../../apimachinery/meta/errors.js';
import { FieldPath, invalid } from '../../apimachinery/meta/field-error.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import { deepEqual, FACTS } from '../../apimachinery/json/json.js';
import type { RequestContext } from '../../request/context.js';
import type { StoredObject } from '../../storage/interfaces.js';
import type { Strategy } from '../rest/interfaces.js';
import type { ServedVersion } from '../rest/served.js';
import type { UpdateResult } from '../rest/storage.js';
import { beforeCreate, beforeUpdate } from './before.js';
import type { ResourceStore, TryUpdate } from './store/resource-store.js';
import { decodeInVersion } from './conversion-retry.js';
import { parseObjectResourceVersion } from '../../storage/resource-version.js';
import { fillSystemFields, wipeSystemFields } from './system-fields.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const OPTIMISTIC_LOCK = 'the object has been modified; please apply your changes to the latest version and try again';

export interface UpdateInput {
  readonly context: RequestContext;
  readonly served: ServedVersion;
  /** The strategy of the type itself, or of a subresource. */
  readonly strategy: Strategy;
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
  /** Apply creates an object that does not exist, regardless of the type's strategy. */
  readonly forceAllowCreate: boolean;
  /** The UID in the client's object, as a precondition. */
  readonly expectedUid: string | undefined;
  /** Returns the new object made from the current one, which is undefined if none exists. Must be rerunnable and must not modify `current`. */
  transform(current: KubeObject | undefined): MaybePromise<KubeObject>;
  validateCreate(object: KubeObject): MaybePromise<void>;
  validateUpdate(object: KubeObject, old: KubeObject): MaybePromise<void>;
}

/** Updates an object, or creates it where that is allowed. Removes an object that is being deleted when its last finalizer goes. */
export async function updateObject(store: ResourceStore, request: UpdateInput): Promise<UpdateResult> {
  const { served, context } = request;
  const key = store.key(request.namespace, request.name);
  let response: KubeObject | undefined;
  const tryUpdate: TryUpdate = async (current) => {
    const { object, shouldRemove } =
      current === undefined
        ? { object: await createInstead(store, request), shouldRemove: false }
        : await nextState(store, request, current);
    response = object;
    if (shouldRemove) return request.dryRun ? 'nothing' : 'remove';
    // A dry run also returns the fields that are dropped before an object is stored.
    if (request.dryRun) {
      response = await served.dryRunResult(object);
      return 'nothing';
    }
    delete object.metadata.selfLink;
    return { store: await served.toStorage(object) };
  };
  const { stored, created } = await store.guaranteedUpdate(key, tryUpdate, context);
  return { object: response as KubeObject, stored, created };
}

async function createInstead(store: ResourceStore, request: UpdateInput): Promise<KubeObject> {
  const { served, strategy, context } = request;
  if (!strategy.allowCreateOnUpdate && !request.forceAllowCreate) {
    throw newNotFound(store.groupResource, request.name);
  }
  if (request.expectedUid !== undefined) throw preconditionFailed(store, request, '');
  const object = await request.transform(undefined);
  parseObjectResourceVersion(object.metadata.resourceVersion);
  if (strategy.checkEscalation !== undefined) await strategy.checkEscalation(context, object, undefined);
  wipeSystemFields(object.metadata);
  fillSystemFields(object.metadata, store.clock.now());
  beforeCreate(context, served, strategy, request.namespace, object);
  await request.validateCreate(object);
  // A dry run stores nothing, so nothing is dropped from the object.
  if (!request.dryRun) delete object.metadata.resourceVersion;
  return object;
}

/** Returns the new state; `shouldRemove` means that the update completes the object's deletion. */
async function nextState(
  store: ResourceStore,
  request: UpdateInput,
  current: StoredObject,
): Promise<{ readonly object: KubeObject; readonly shouldRemove: boolean }> {
  const { served, strategy, context } = request;
  const old = await decodeInVersion(served, current, context.stopwatch);
  if (request.expectedUid !== undefined && request.expectedUid !== (old.metadata.uid ?? '')) {
    throw preconditionFailed(store, request, old.metadata.uid ?? '');
  }
  const object = await request.transform(old);
  if (strategy.checkEscalation !== undefined) await strategy.checkEscalation(context, object, old);
  checkResourceVersion(store, request, object, current);
  beforeUpdate(context, served, strategy, request.namespace, object, old);
  ignoreManagedFieldsTimestamps(object, old);
  await request.validateUpdate(object, old);
  const shouldRemove =
    completesDeletion(object, old) && served.type.deletion.shouldDeleteDuringUpdate?.(object) !== false;
  return { object, shouldRemove };
}

function checkResourceVersion(
  store: ResourceStore,
  request: UpdateInput,
  object: KubeObject,
  current: StoredObject,
): void {
  const given = parseObjectResourceVersion(object.metadata.resourceVersion);
  if (given === 0) {
    if (!request.strategy.allowUnconditionalUpdate) {
      const kind = { group: store.groupResource.group, kind: store.groupResource.resource };
      const path = FieldPath.of('metadata', 'resourceVersion');
      throw newInvalid(kind, request.name, [invalid(path, 0, 'must be specified for an update')]);
    }
    object.metadata.resourceVersion = String(current.revision);
    return;
  }
  if (given !== current.revision) throw newConflict(store.groupResource, request.name, OPTIMISTIC_LOCK);
}

function preconditionFailed(store: ResourceStore, request: UpdateInput, actual: string): Error {
  const shown = store.displayKey(store.key(request.namespace, request.name));
  // kube-apiserver decides a dry run before it adds the prefix to the key.
  const key = request.dryRun ? shown.slice('/registry'.length) : shown;
  return newConflict(
    store.groupResource,
    request.name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${request.expectedUid ?? ''}, UID in object meta: ${actual}`,
  );
}

/** Reports whether the update completes the deletion: the last finalizer is gone and no grace period is left. */
function completesDeletion(object: KubeObject, old: KubeObject): boolean {
  if ((object.metadata.finalizers ?? []).length > 0 || !hasDeletionTimestamp(old)) return false;
  const grace = old.metadata.deletionGracePeriodSeconds;
  return grace === undefined || grace === 0;
}

/** Keeps the old managedFields if nothing but their timestamps changed, so that nothing is written. */
function ignoreManagedFieldsTimestamps(object: KubeObject, old: KubeObject): void {
  if (object[FACTS]?.unseenMembers !== undefined) return;
  const now = object.metadata.managedFields;
  const was = old.metadata.managedFields;
  if (now === undefined || was === undefined || now.length !== was.length) return;
  const sameButTime = now.every((entry, i) => {
    const { time: _now, ...a } = entry;
    const { time: _was, ...b } = was[i] ?? {};
    return deepEqual(a, b);
  });
  if (!sameButTime || deepEqual(now, was)) return;
  const { managedFields: _m, ...meta } = object.metadata;
  const { managedFields: _w, ...oldMeta } = old.metadata;
  if (!deepEqual(meta, oldMeta)) return;
  const { metadata: _a, ...rest } = object;
  const { metadata: _b, ...oldRest } = old;
  if (deepEqual(rest, oldRest)) object.metadata.managedFields = was;
}
