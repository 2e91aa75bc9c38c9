import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import type { ServedCreateOnlySubresource } from '../../registry/rest/served.js';
import { writeCreated } from '../responsewriters/object.js';
import { readBody } from './request/body.js';
import { mainThreadLimit } from './request/weight.js';
import { decodeBody } from './codec/decode-body.js';
import { Query } from './request/query.js';
import { negotiateCreated } from './respond.js';
import { admissionOptions } from './request/admission-options.js';
import type { RequestScope } from './scope.js';
import { createOrUpdateOptions } from './request/write-options.js';

/** POST on a subresource whose objects have a kind of their own. */
export async function createSubresourceHandler(
  scope: RequestScope,
  creation: ServedCreateOnlySubresource,
): Promise<void> {
  const { context, request, served, environment } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateCreated(scope, query);
  const limit = mainThreadLimit(request.headers['content-type'], environment.maxRequestBodyBytes);
  const body = await readBody(request, limit, context);
  environment.metrics.requestBodySize(served.gvk.group, served.groupResource.resource, 'create', body.length);
  const options = createOrUpdateOptions(query, 'CreateOptions');
  context.dryRun = options.dryRun;
  const created = await creation.storage.create({
    context,
    namespace: context.info.namespace,
    admission: environment.admission,
    optionsFor: (operation) => admissionOptions(scope, operation),
    object: decodeBody({ ...creation, type: {} }, scope, body, options.fieldValidation),
    manager: managerOrUserAgent(options.fieldManager, context.userAgent),
  });
  await writeCreated(sink, created.object, creation.gvk);
}
