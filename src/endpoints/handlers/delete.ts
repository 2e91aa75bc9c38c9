import { newForbidden, newInvalid } from '../../apimachinery/meta/errors.js';
import type { DeleteResult } from '../../registry/rest/storage.js';
import { FieldPath, invalid } from '../../apimachinery/meta/field-error.js';
import { readBody } from './request/body.js';
import { deleteOptions } from './request/delete-options.js';
import { offloadLarge } from './offload.js';
import { listOptions } from './request/list-options.js';
import { negotiateObject, writeDeletedCollection, writeSuccess, writeMutationResult } from './respond.js';
import { whileAway } from './outage.js';
import { Query } from './request/query.js';
import { authorizerAttributes, requireNamespace } from './request/target.js';
import type { RequestScope } from './scope.js';

/** DELETE on an object. */
export async function deleteHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment, storage } = scope;
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
    await storage.deleteUndecodable(context, namespace, name, options.dryRun);
    await writeSuccess(sink, 200, { name, kind: served.gvk.kind }, { showsCode: true });
    return;
  }
  const deleted = await storage.delete({ context, namespace, name, options, admission: environment.admission });
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
  const { context, request, served, environment, storage } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const selection = listOptions(query, served, '', environment);
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  const options = deleteOptions(scope, query, body);
  if (options.ignoreStoreReadError) {
    const field = FieldPath.of('ignoreStoreReadErrorWithClusterBreakingPotential');
    const why = 'is not allowed with DELETECOLLECTION, try again after removing the option';
    throw newInvalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [invalid(field, true, why)]);
  }
  requireNamespace(scope);
  context.dryRun = options.dryRun;
  const { namespace } = context.info;
  const deleted = await storage.deleteCollection(
    { context, namespace, options, admission: environment.admission },
    { ...selection, whileAway: whileAway(scope, false) },
  );
  await writeDeletedCollection(scope, sink, deleted);
}
