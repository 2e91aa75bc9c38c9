import { newConflict, newInvalid, newNotFound } from '../../apimachinery/meta/errors.js';
import { FieldPath, invalid } from '../../apimachinery/meta/field-error.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import { deepEqual, FACTS } from '../../apimachinery/json/json.js';
import type { RequestContext } from '../../request/context.js';
import type { StoredObject } from '../../storage/interfaces.js';
import type { Strategy } from '../rest/interfaces.js';
import type { ServedVersion } from '../rest/served.js';
import { beforeCreate, beforeUpdate } from './before.js';
import type { ResourceStore, TryUpdate } from './store/resource-store.js';
import { storedAs } from './loopback/settled.js';
import { objectResourceVersion } from './resource-version.js';
import { fillSystemFields } from './system-fields.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const OPTIMISTIC_LOCK = 'the object has been modified; please apply your changes to the latest version and try again';

export interface UpdateRequest {
  readonly context: RequestContext;
  readonly served: ServedVersion;
  /** The type's own strategy, or a subresource's. */
  readonly strategy: Strategy;
  readonly namespace: string;
  readonly name: string;
  readonly dryRun: boolean;
  /** Apply creates what does not exist, whatever the type says. */
  readonly forceAllowCreate: boolean;
  /** The uid that the client's object names, as a precondition. */
  readonly expectedUid: string | undefined;
  /** Makes the new object from the current one (undefined: there is none). Rerunnable; must not change `current`. */
  transform(current: KubeObject | undefined): MaybePromise<KubeObject>;
  validateCreate(object: KubeObject): MaybePromise<void>;
  validateUpdate(object: KubeObject, old: KubeObject): MaybePromise<void>;
}

export interface Updated {
  readonly object: KubeObject;
  /** Undefined for a dry run, or when the update removed the object: then `object` is the answer. */
  readonly stored: StoredObject | undefined;
  readonly created: boolean;
}

/**
 * Updates an object, or creates it where that is allowed. An object that is being deleted and whose last finalizer goes is
 * removed.
 */
export async function updateObject(store: ResourceStore, request: UpdateRequest): Promise<Updated> {
  const { served, context } = request;
  const key = store.key(request.namespace, request.name);
  let answer: KubeObject | undefined;
  const tryUpdate: TryUpdate = async (current) => {
    const { object, gone } =
      current === undefined
        ? { object: await createInstead(store, request), gone: false }
        : await nextState(store, request, current);
    answer = object;
    if (gone) return request.dryRun ? 'nothing' : 'remove';
    // What would not be stored is still shown where nothing is.
    if (request.dryRun) {
      answer = await served.dryRunResult(object);
      return 'nothing';
    }
    delete object.metadata.selfLink;
    return { store: await served.toStorage(object) };
  };
  const { stored, created, removed } = await store.guaranteedUpdate(key, tryUpdate, context);
  const { takesAlong } = served.type.deletion;
  if (removed && takesAlong !== undefined) await store.removeOther(takesAlong, key);
  return { object: answer as KubeObject, stored, created };
}

async function createInstead(store: ResourceStore, request: UpdateRequest): Promise<KubeObject> {
  const { served, strategy, context } = request;
  if (!strategy.allowCreateOnUpdate && !request.forceAllowCreate) {
    throw newNotFound(store.groupResource, request.name);
  }
  if (request.expectedUid !== undefined) throw preconditionFailed(store, request, '');
  const object = await request.transform(undefined);
  objectResourceVersion(object.metadata.resourceVersion);
  if (strategy.guard !== undefined) await strategy.guard(context, object, undefined);
  fillSystemFields(object.metadata, store.clock.now());
  beforeCreate(context, served, strategy, request.namespace, object);
  await request.validateCreate(object);
  // A dry run stores nothing, and so nothing is taken from what would have been stored.
  if (!request.dryRun) delete object.metadata.resourceVersion;
  return object;
}

/** The new state; `gone`: with it the object is removed. */
async function nextState(
  store: ResourceStore,
  request: UpdateRequest,
  current: StoredObject,
): Promise<{ readonly object: KubeObject; readonly gone: boolean }> {
  const { served, strategy, context } = request;
  const old = await storedAs(served, current, context.stopwatch);
  if (request.expectedUid !== undefined && request.expectedUid !== (old.metadata.uid ?? '')) {
    throw preconditionFailed(store, request, old.metadata.uid ?? '');
  }
  const object = await request.transform(old);
  if (strategy.guard !== undefined) await strategy.guard(context, object, old);
  checkResourceVersion(store, request, object, current);
  beforeUpdate(context, served, strategy, request.namespace, object, old);
  ignoreManagedFieldsTimestamps(object, old);
  await request.validateUpdate(object, old);
  const gone = isFinallyGone(object, old) && served.type.deletion.mayDeleteDuringUpdate?.(object) !== false;
  return { object, gone };
}

function checkResourceVersion(
  store: ResourceStore,
  request: UpdateRequest,
  object: KubeObject,
  current: StoredObject,
): void {
  const given = objectResourceVersion(object.metadata.resourceVersion);
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

function preconditionFailed(store: ResourceStore, request: UpdateRequest, actual: string): Error {
  const shown = store.displayKey(store.key(request.namespace, request.name));
  // A dry run is decided before the key is made whole.
  const key = request.dryRun ? shown.slice('/registry'.length) : shown;
  return newConflict(
    store.groupResource,
    request.name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${request.expectedUid ?? ''}, UID in object meta: ${actual}`,
  );
}

/** The last finalizer went and no grace period is left: the update is the deletion. */
function isFinallyGone(object: KubeObject, old: KubeObject): boolean {
  if ((object.metadata.finalizers ?? []).length > 0 || !hasDeletionTimestamp(old)) return false;
  const grace = old.metadata.deletionGracePeriodSeconds;
  return grace === undefined || grace === 0;
}

/** When nothing changed but times in managedFields, the old ones stay, so that nothing is written. */
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
