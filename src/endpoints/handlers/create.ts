import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import { createObject } from '../../registry/generic/create.js';
import { retryOnPendingConversion } from '../../registry/generic/conversion-retry.js';
import { isTooLarge } from '../../registry/generic/store/resource-store.js';
import { dedupOwnerReferences, ensureNamespace, wipeSystemFields } from '../../registry/generic/system-fields.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import { readBody } from './request/body.js';
import { decodeBody, inputFormat } from './codec/decode-body.js';
import { offloadOrRun } from './offload.js';
import { negotiateObject, writeMutationResult } from './respond.js';
import { Query } from './request/query.js';
import { admissionAttributes, admissionOptions, admitMutations } from './admission.js';
import type { RequestScope } from '../router/scope.js';
import { createOrUpdateOptions, type WriteOptions } from './request/write-options.js';

/** POST on a collection. */
export async function createHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  // An unsupported media type is rejected before the options are validated; updates do it the other way round.
  inputFormat(served, environment, request);
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  environment.metrics.requestBodySize(served.gvk.group, served.groupResource.resource, 'create', body.length);
  const options = createOrUpdateOptions(query, 'CreateOptions');
  context.dryRun = options.dryRun;
  return offloadOrRun(scope, body, () => create(scope, body, options, sink));
}

async function create(scope: RequestScope, body: Buffer, options: WriteOptions, sink: ResponseSink): Promise<void> {
  const { context, served, environment } = scope;
  const object = decodeBody(scope.served, scope, body, options.fieldValidation);
  const namespace = context.info.namespace;
  wipeSystemFields(object.metadata);
  ensureNamespace(served.type.namespaced ? namespace : '', object.metadata);
  const warn = (text: string): void => context.warn(text);
  dedupOwnerReferences(object, warn, { afterAdmission: false });
  const manager = managerOrUserAgent(options.fieldManager, context.userAgent);
  await retryOnPendingConversion(() => scope.fieldManager.update(undefined, object, manager));
  const optionsObject = admissionOptions(scope, 'CREATE');
  const name = object.metadata.name ?? '';
  await admitMutations(
    environment.admission,
    admissionAttributes(scope, 'CREATE', name, object, undefined, optionsObject),
  );
  const store = (): ReturnType<typeof createObject> =>
    createObject(scope.store, {
      context,
      served,
      namespace,
      object,
      dryRun: options.dryRun,
      validate: (made) =>
        environment.admission.validate(
          admissionAttributes(scope, 'CREATE', made.metadata.name ?? '', made, undefined, optionsObject),
        ),
    });
  const created = await store().catch((error: unknown) => {
    if (!isTooLarge(error) || object.metadata.managedFields === undefined) throw error;
    // Retry without managedFields: the object matters more than its bookkeeping.
    delete object.metadata.managedFields;
    return store();
  });
  await writeMutationResult(scope, sink, 201, created);
}
