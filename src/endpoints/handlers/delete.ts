import { newMethodNotSupported } from '../../apimachinery/errors.js';
import type { KubeObject } from '../../apimachinery/meta.js';
import { deleteObject, type DeleteOptions, type Deleted } from '../../registry/generic/delete.js';
import { deleteCollection } from '../../registry/generic/delete-collection.js';
import { readBody } from './body.js';
import { deleteOptions } from './delete-options.js';
import { listOptions } from './list-options.js';
import { negotiateObject, writeDeletedCollection, writeSuccess, writeWritten } from './respond.js';
import { Query } from './query.js';
import { admissionAttributes, type RequestScope } from './scope.js';

/** DELETE on an object. */
export async function deleteHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  if (!served.verbs.includes('delete')) throw newMethodNotSupported(served.groupResource, 'delete');
  const query = new Query(request.url ?? '');
  const media = negotiateObject(scope, query);
  const body = await readBody(request, environment.maxRequestBodyBytes, context.signal);
  const options = deleteOptions(scope, query, body);
  context.dryRun = options.dryRun;
  const { namespace, name } = context.info;
  const deleted = await deleteObject(scope.store, {
    context,
    served,
    namespace,
    name,
    options,
    validate: admitDelete(scope, options),
  });
  const status = !deleted.removed && options.orphanDependents === false ? 202 : 200;
  if (deleted.removed && !served.returnsDeletedObject) {
    await writeSuccess(scope, status, successDetails(scope, deleted), media);
    return;
  }
  await writeWritten(scope, status, deleted, media);
}

const successDetails = (scope: RequestScope, deleted: Deleted): { name: string; group: string; kind: string; uid: string } => ({
  name: deleted.object.metadata.name ?? '',
  group: scope.served.groupResource.group,
  kind: scope.served.groupResource.resource,
  uid: deleted.object.metadata.uid ?? '',
});

/** DELETE on a collection. */
export async function deleteCollectionHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  if (!served.verbs.includes('deletecollection')) throw newMethodNotSupported(served.groupResource, 'deletecollection');
  const query = new Query(request.url ?? '');
  const media = negotiateObject(scope, query);
  const selection = listOptions(query, served, '', environment.features.enabled('WatchList'));
  const body = await readBody(request, environment.maxRequestBodyBytes, context.signal);
  const options = deleteOptions(scope, query, body);
  context.dryRun = options.dryRun;
  const deleted = await deleteCollection(
    scope.store,
    { context, served, namespace: context.info.namespace, options, validate: admitDelete(scope, options) },
    selection,
  );
  await writeDeletedCollection(scope, deleted, media);
}

/** Admission of a deletion: mutating plugins may refuse it too, and see the object as the old one. */
function admitDelete(scope: RequestScope, options: DeleteOptions): (object: KubeObject) => Promise<void> {
  const { admission } = scope.environment;
  const optionsObject = {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
  };
  return async (object) => {
    const attributes = admissionAttributes(scope, 'DELETE', object.metadata.name ?? '', undefined, object, optionsObject);
    await admission.admit(attributes);
    await admission.validate(attributes);
  };
}
