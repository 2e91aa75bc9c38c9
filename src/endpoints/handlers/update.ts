import { newInternalError } from '../../apimachinery/meta/errors.js';
import { authorizerAttributes } from './request/target.js';
import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import type { UpdateRequest } from '../../registry/rest/storage.js';
import { forbidden } from '../../authorization/authorizer/forbidden.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import { readBody } from './request/body.js';
import { decodeBody } from './codec/decode-body.js';
import { offloadOrRun } from './offload.js';
import { negotiateObject, writeMutationResult } from './respond.js';
import { Query } from './request/query.js';
import { admissionOptions } from './request/admission-options.js';
import type { RequestScope } from './scope.js';
import { createOrUpdateOptions, type WriteOptions } from './request/write-options.js';

/** PUT on an object, or on a subresource that writes it. */
export async function updateHandler(scope: RequestScope): Promise<void> {
  const { context, request, served, environment } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateObject(scope, query);
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  environment.metrics.requestBodySize(served.gvk.group, served.groupResource.resource, 'update', body.length);
  const options = createOrUpdateOptions(query, 'UpdateOptions');
  context.dryRun = options.dryRun;
  return offloadOrRun(scope, body, () => update(scope, body, options, sink));
}

async function update(scope: RequestScope, body: Buffer, options: WriteOptions, sink: ResponseSink): Promise<void> {
  const { context, served, storage } = scope;
  const updated = await storage.update({
    ...namedWrite(scope),
    object: decodeBody(served, scope, body, options.fieldValidation),
    manager: managerOrUserAgent(options.fieldManager, context.userAgent),
  });
  await writeMutationResult(scope, sink, updated.created ? 201 : 200, updated);
}

/** Returns what updates and patches have in common. */
export function namedWrite(
  scope: RequestScope,
): Pick<UpdateRequest, 'context' | 'namespace' | 'name' | 'part' | 'admission' | 'optionsFor' | 'authorizeCreate'> {
  const { context, environment } = scope;
  const { namespace, name } = context.info;
  return {
    context,
    namespace,
    name,
    part: scope,
    admission: environment.admission,
    optionsFor: (operation) => admissionOptions(scope, operation),
    authorizeCreate: () => authorizeCreate(scope),
  };
}

/** Authorizes a create through an update or a patch as a create. */
async function authorizeCreate(scope: RequestScope): Promise<void> {
  const { context, environment } = scope;
  const attributes = authorizerAttributes(scope, 'create');
  const result = await environment.authorizer.authorize(attributes, context.signal);
  if (result.decision === 'allow') return;
  if (result.error !== undefined && result.error !== '') throw newInternalError(result.error);
  throw forbidden(attributes, result.reason);
}
