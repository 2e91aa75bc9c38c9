import type { AdmissionAttributes } from '../../admission/interfaces.js';
import { deepCopy, type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import { newBadRequest } from '../../apimachinery/meta/errors.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { MaybePromise } from '../../util/maybe-promise.js';
import type { ServedVersion } from '../rest/served.js';
import type {
  CreateRequest,
  DeleteCollectionRequest,
  DeletedCollection,
  DeleteOptions,
  DeleteRequest,
  DeleteResult,
  ListOptions,
  PatchRequest,
  UpdateRequest,
  UpdateResult,
  WriteResult,
} from '../rest/storage.js';
import { admissionAttributes, admitMutations } from './admission.js';
import { retryOnPendingConversion } from './conversion-retry.js';
import { createObject } from './create.js';
import { deleteObject, deleteOptionsObject } from './delete.js';
import { deleteListed } from './delete-collection.js';
import { checkName, checkUidExists, ensureNamespace } from './identity.js';
import { isTooLarge, type ResourceStore } from './store/resource-store.js';
import { dedupOwnerReferences, wipeSystemFields } from './system-fields.js';
import { updateObject } from './update.js';

/*
 * The write pipeline. Every write of a stored type passes it, whoever makes it: a handler, a worker thread that runs one, or one of the
 * server's own controllers. Owner references and managed fields → mutating admission → strategy, schema and CEL → validating admission →
 * compare and write. The last three steps are in create.ts, update.ts and delete.ts; a conflict runs all but the first again.
 */

/** Creates an object. */
export async function create(
  store: ResourceStore,
  served: ServedVersion,
  request: CreateRequest,
): Promise<WriteResult> {
  const { context, namespace, admission, object, manager } = request;
  wipeSystemFields(object.metadata);
  ensureNamespace(served.type.namespaced ? namespace : '', object.metadata);
  dedupOwnerReferences(object, (text) => context.warn(text), { afterAdmission: false });
  await retryOnPendingConversion(() => served.fieldManager.update(undefined, object, manager));
  const options = request.optionsFor('CREATE');
  const attributes = (made: KubeObject): AdmissionAttributes =>
    admissionAttributes(context, served, {
      operation: 'CREATE',
      name: made.metadata.name ?? '',
      object: made,
      oldObject: undefined,
      options,
    });
  await admitMutations(admission, attributes(object));
  const write = (): Promise<WriteResult> =>
    createObject(store, {
      context,
      served,
      namespace,
      object,
      dryRun: context.dryRun,
      validate: (made) => admission.validate(attributes(made)),
    });
  return write().catch((error: unknown) => {
    if (!isTooLarge(error) || object.metadata.managedFields === undefined) throw error;
    // Retry without managedFields: the object matters more than its bookkeeping.
    delete object.metadata.managedFields;
    return write();
  });
}

/** Replaces an object. */
export async function update(
  store: ResourceStore,
  served: ServedVersion,
  request: UpdateRequest,
): Promise<UpdateResult> {
  const { context, namespace, name, object, manager, part, copy = deepCopy } = request;
  const { namespaced } = served.type;
  ensureNamespace(namespaced ? namespace : '', object.metadata);
  checkName(object, name);
  dedupOwnerReferences(object, (text) => context.warn(text), { afterAdmission: false });
  if (namespaced && namespace === '') throw newBadRequest('Namespace parameter required.');
  const uid = object.metadata.uid ?? '';
  return change(store, served, request, {
    expectedUid: uid === '' ? undefined : uid,
    apply: false,
    async make(current) {
      const next = copy(object, current);
      await retryOnPendingConversion(() => part.fieldManager.update(current, next, manager));
      return next;
    },
  });
}

/** Patches or applies an object. */
export function patch(store: ResourceStore, served: ServedVersion, request: PatchRequest): Promise<UpdateResult> {
  const { namespace, name, apply, make } = request;
  const { groupResource, type } = served;
  return change(store, served, request, {
    expectedUid: undefined,
    apply,
    async make(current) {
      const next = await retryOnPendingConversion(() => make(current));
      checkUidExists(groupResource, name, next, current);
      ensureNamespace(type.namespaced ? namespace : '', next.metadata);
      checkName(next, name);
      return next;
    },
  });
}

/** How an update or a patch makes the new object. */
interface Change {
  readonly expectedUid: string | undefined;
  readonly apply: boolean;
  /** Returns the new object with its managed fields, before admission. May run several times. */
  readonly make: (current: KubeObject | undefined) => Promise<KubeObject>;
}

async function change(
  store: ResourceStore,
  served: ServedVersion,
  { context, namespace, name, admission, part, optionsFor, authorizeCreate, turn }: UpdateRequest | PatchRequest,
  { expectedUid, apply, make }: Change,
): Promise<UpdateResult> {
  const attributes = (
    operation: 'CREATE' | 'UPDATE',
    object: KubeObject,
    oldObject: KubeObject | undefined,
  ): AdmissionAttributes =>
    admissionAttributes(context, served, { operation, name, object, oldObject, options: optionsFor(operation) });
  const write = (tracksFields: boolean): Promise<UpdateResult> =>
    updateObject(store, {
      context,
      served,
      strategy: part.strategy,
      namespace,
      name,
      dryRun: context.dryRun,
      forceAllowCreate: apply && context.info.subresource === '',
      expectedUid,
      async transform(current) {
        if (turn !== undefined) await turn();
        const next = await make(current);
        if (!tracksFields) delete next.metadata.managedFields;
        if (turn !== undefined) await turn();
        await admitMutations(admission, attributes(current === undefined ? 'CREATE' : 'UPDATE', next, current));
        return next;
      },
      async validateCreate(object) {
        await authorizeCreate();
        await admission.validate(attributes('CREATE', object, undefined));
      },
      validateUpdate(object, old) {
        const validated = admission.validate(attributes('UPDATE', object, old));
        return turn === undefined ? validated : Promise.resolve(validated).then(turn);
      },
    });
  return write(true).catch((error: unknown) => {
    // An apply depends on its managed fields.
    if (apply || !isTooLarge(error)) throw error;
    return write(false);
  });
}

/** Deletes an object. */
export const remove = (store: ResourceStore, served: ServedVersion, request: DeleteRequest): Promise<DeleteResult> => {
  const { context, namespace, name, options } = request;
  return deleteObject(store, {
    context,
    served,
    namespace,
    name,
    options,
    validate: admitDelete(served, request, name),
  });
};

/** Deletes the objects that a list selects. */
export const removeListed = (
  store: ResourceStore,
  served: ServedVersion,
  request: DeleteCollectionRequest,
  selection: ListOptions,
): Promise<DeletedCollection> => {
  const { context, namespace, admission, options } = request;
  return deleteListed(
    store,
    {
      context,
      served,
      namespace,
      options,
      validate: admitDelete(served, request, ''),
      // If admission may reject an object, delete in order, so that no object after a rejected one is deleted.
      inOrder: admission.readsObjects('DELETE', served.groupResource),
    },
    selection,
  );
};

/**
 * Returns the admission of a deletion. Mutating plugins may reject it too, and receive the object as the old object. `name` is
 * the request's: empty for a deletecollection.
 */
function admitDelete(
  served: ServedVersion,
  { context, admission, options }: DeleteRequest | DeleteCollectionRequest,
  name: string,
): (object: KubeObject) => MaybePromise<void> {
  const shownOptions = optionsOf(served, options);
  return async (object) => {
    const attributes = admissionAttributes(context, served, {
      operation: 'DELETE',
      name,
      object: undefined,
      oldObject: object,
      options: shownOptions(object),
    });
    await admission.admit(attributes);
    await admission.validate(attributes);
  };
}

/** Returns the DeleteOptions of an object as admission sees them. Types that are deleted in two phases are deleted by their UID. */
function optionsOf({ type }: ServedVersion, options: DeleteOptions): (object: KubeObject) => JsonObject {
  const shown = deleteOptionsObject(options);
  if (type.deletion.beforeDelete === undefined || options.preconditions.uid !== undefined) return () => shown;
  return ({ metadata: { uid } }) =>
    uid === undefined ? shown : { ...shown, preconditions: { ...objectAt(shown, 'preconditions'), uid } };
}
