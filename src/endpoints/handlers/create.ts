import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import { readBody } from './request/body.js';
import { decodeBody, inputFormat } from './codec/decode-body.js';
import { offloadOrRun } from './offload.js';
import { negotiateObject, writeMutationResult } from './respond.js';
import { Query } from './request/query.js';
import { admissionOptions } from './request/admission-options.js';
import type { RequestScope } from './scope.js';
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
  const { context, served, environment, storage } = scope;
  const created = await storage.create({
    context,
    namespace: context.info.namespace,
    admission: environment.admission,
    optionsFor: (operation) => admissionOptions(scope, operation),
    object: decodeBody(served, scope, body, options.fieldValidation),
    manager: managerOrUserAgent(options.fieldManager, context.userAgent),
  });
  await writeMutationResult(scope, sink, 201, created);
}
