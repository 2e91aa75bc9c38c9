import { newForbidden, newInvalid } from '../../apimachinery/meta/errors.js';
import { objectAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import {
  deleteObject,
  type DeleteOptions,
  type DeleteResult,
  deleteOptionsObject,
} from '../../registry/generic/delete.js';
import { FieldPath, invalid } from '../../apimachinery/meta/field-error.js';
import { deleteUndecodable } from '../../registry/generic/unsafe-delete.js';
import { deleteCollection } from '../../registry/generic/delete-collection.js';
import { readBody } from './request/body.js';
import { deleteOptions } from './request/delete-options.js';
import { offloadLarge } from './offload.js';
import { listOptions } from './request/list-options.js';
import { negotiateObject, writeDeletedCollection, writeSuccess, writeMutationResult } from './respond.js';
import { whileAway } from './outage.js';
import { Query } from './request/query.js';
import { authorizerAttributes, requireNamespace } from './request/target.js';
import { admissionAttributes } from './admission.js';
import type { RequestScope } from '../router/scope.js';

/** DELETE on an object. */
export async function deleteHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  const options = deleteOptions(scope, query, body);
  requireNamespace(scope);
  context.dryRun = options.dryRun;
  const offloaded = offloadLarge(scope, body);
  if (offloaded !== undefined) return offloaded;
  const { namespace, name } = context.info;
  if (options.ignoreStoreReadError) {
    await authorizeUnsafeDelete(scope);
    await deleteUndecodable(scope.store, namespace, name);
    await writeSuccess(sink, 200, { name, kind: served.gvk.kind }, { showsCode: true });
    return;
  }
  const deleted = await deleteObject(scope.store, {
    context,
    served,
    namespace,
    name,
    options,
    validate: admitDelete(scope, name, options),
  });
  const status = !deleted.removed && options.orphanDependents === false ? 202 : 200;
  if (deleted.removed && served.type.returnsDeletedObject !== true) {
    await writeSuccess(sink, status, successDetails(scope, deleted));
    return;
  }
  await writeMutationResult(scope, sink, status, deleted);
}

const UNSAFE_VERB = 'unsafe-delete-ignore-read-errors';

/** Authorizes the deletion of an undecodable object, which requires a verb of its own, and annotates the audit event. */
async function authorizeUnsafeDelete(scope: RequestScope): Promise<void> {
  const { context, served, environment } = scope;
  context.annotate('apiserver.k8s.io/unsafe-delete-ignore-read-error', '');
  const attributes = authorizerAttributes(scope, UNSAFE_VERB);
  const { decision, reason, error = '' } = await environment.authorizer.authorize(attributes, context.signal);
  if (decision === 'allow') return;
  const why =
    error === ''
      ? `not permitted to do "${UNSAFE_VERB}", reason: ${reason}`
      : `error while checking permission for "${UNSAFE_VERB}", ${error}`;
  throw newForbidden(served.groupResource, context.info.name, why);
}

const successDetails = (
  scope: RequestScope,
  deleted: DeleteResult,
): { name: string; group: string; kind: string; uid: string } => ({
  name: deleted.object.metadata.name ?? '',
  group: scope.served.groupResource.group,
  kind: scope.served.groupResource.resource,
  uid: deleted.object.metadata.uid ?? '',
});

/** DELETE on a collection. */
export async function deleteCollectionHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const selection = listOptions(query, served, '', environment.features.enabled('WatchList'));
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  const options = deleteOptions(scope, query, body);
  if (options.ignoreStoreReadError) {
    const field = FieldPath.of('ignoreStoreReadErrorWithClusterBreakingPotential');
    const why = 'is not allowed with DELETECOLLECTION, try again after removing the option';
    throw newInvalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [invalid(field, true, why)]);
  }
  requireNamespace(scope);
  context.dryRun = options.dryRun;
  const deleted = await deleteCollection(
    scope.store,
    {
      context,
      served,
      namespace: context.info.namespace,
      options,
      validate: admitDelete(scope, '', options),
      // If admission may reject an object, delete in order, so that no object after a rejected one is deleted.
      inOrder: environment.admission.readsObjects('DELETE', served.groupResource),
    },
    { ...selection, whileAway: whileAway(scope, false) },
  );
  await writeDeletedCollection(scope, sink, deleted);
}

/**
 * Returns the admission of a deletion. Mutating plugins may reject it too, and receive the object as the old object. `name` is
 * the request's: empty for a deletecollection.
 */
function admitDelete(scope: RequestScope, name: string, options: DeleteOptions): (object: KubeObject) => Promise<void> {
  const { admission } = scope.environment;
  const optionsObject = deleteOptionsObject(options);
  // Types that are deleted in two phases are deleted with a UID precondition.
  const byUid = scope.served.type.deletion.beforeDelete !== undefined && options.preconditions.uid === undefined;
  return async (object) => {
    const { uid } = object.metadata;
    const preconditions = { ...(objectAt(optionsObject, 'preconditions') ?? {}), uid };
    const shown = byUid && uid !== undefined ? { ...optionsObject, preconditions } : optionsObject;
    const attributes = admissionAttributes(scope, 'DELETE', name, undefined, object, shown);
    await admission.admit(attributes);
    await admission.validate(attributes);
  };
}
