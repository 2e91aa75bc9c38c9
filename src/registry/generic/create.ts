import { ApiError, newAlreadyExists, newGenerateNameConflict } from '../../apimachinery/meta/errors.js';
import { hasDeletionTimestamp, type KubeObject } from '../../apimachinery/meta/meta.js';
import { deepCopy } from '../../apimachinery/json/json.js';
import type { RequestContext } from '../../request/context.js';

import type { StoredObject } from '../../storage/interfaces.js';
import type { ServedVersion } from '../rest/served.js';
import type { WriteResult } from '../rest/storage.js';
import { beforeCreate } from './before.js';
import { decodeIfSound } from '../../storage/detached-object.js';
import type { ResourceStore } from './store/resource-store.js';
import { isResourceVersionSet } from '../../storage/resource-version.js';
import { fillSystemFields, generateName } from './system-fields.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The maximum number of attempts to create an object under a generated name. */
const GENERATE_NAME_ATTEMPTS = 8;

export interface CreateInput {
  readonly context: RequestContext;
  readonly served: ServedVersion;
  readonly namespace: string;
  readonly object: KubeObject;
  readonly dryRun: boolean;
  /** Runs validating admission on the finished object. */
  validate(object: KubeObject): MaybePromise<void>;
}

/** Creates an object. If a name made from generateName is taken, another one is generated. */
export async function createObject(store: ResourceStore, request: CreateInput): Promise<WriteResult> {
  const { object } = request;
  const generates = (object.metadata.generateName ?? '') !== '' && (object.metadata.name ?? '') === '';
  if (!generates) return createOnce(store, request, object);
  for (let attempt = 1; ; attempt++) {
    try {
      return await createOnce(store, request, deepCopy(object));
    } catch (error) {
      const taken = error instanceof ApiError && error.reason === 'AlreadyExists';
      if (!taken || attempt >= GENERATE_NAME_ATTEMPTS) throw error;
    }
  }
}

async function createOnce(store: ResourceStore, request: CreateInput, object: KubeObject): Promise<WriteResult> {
  const { context, served, namespace } = request;
  const meta = object.metadata;
  if (served.strategy.checkEscalation !== undefined) await served.strategy.checkEscalation(context, object, undefined);
  fillSystemFields(meta, store.clock.now());
  if ((meta.generateName ?? '') !== '' && (meta.name ?? '') === '') meta.name = generateName(meta.generateName ?? '');
  beforeCreate(context, served, served.strategy, namespace, object);
  const pending = request.validate(object);
  if (pending !== undefined) await pending;
  const name = object.metadata.name ?? '';
  const key = store.key(namespace, name);
  if (request.dryRun) {
    const existing = await store.getLatest(key);
    if (existing !== undefined) throw alreadyExists(store, object, existing);
    return { object: await served.dryRunResult(object), stored: undefined };
  }
  if (isResourceVersionSet(object.metadata.resourceVersion)) {
    throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created');
  }
  delete object.metadata.resourceVersion;
  const result = await store.insert(key, await served.toStorage(object));
  if (result.outcome === 'conflict') throw alreadyExists(store, object, result.current);
  return { object, stored: result.object };
}

function alreadyExists(store: ResourceStore, object: KubeObject, existing: StoredObject | undefined): ApiError {
  const name = object.metadata.name ?? '';
  const error =
    (object.metadata.generateName ?? '') === ''
      ? newAlreadyExists(store.groupResource, name)
      : newGenerateNameConflict(store.groupResource, name, 1);
  const found = existing && decodeIfSound(existing);
  if (found === undefined || !hasDeletionTimestamp(found as KubeObject)) return error;
  return new ApiError(error.code, error.reason, `object is being deleted: ${error.message}`, error.details);
}
