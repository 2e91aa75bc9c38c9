import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import type { UnstoredCreater } from '../../registry/rest/computed.js';
import { writeCreated } from '../responsewriters/object.js';
import type { KindScope } from './scope.js';
import { decodeBody } from './codec/decode-body.js';
import { admissionOptions } from './request/admission-options.js';
import { readBody } from './request/body.js';
import { Query } from './request/query.js';
import { mainThreadLimit } from './request/weight.js';
import { createOrUpdateOptions } from './request/write-options.js';
import { negotiateCreated } from './respond.js';

/** POST of a kind whose objects are not stored, such as a review. */
export async function createUnstored(scope: KindScope<UnstoredCreater>): Promise<void> {
  const { environment, context, request, served, storage } = scope;
  const query = new Query(request.url ?? '');
  const sink = negotiateCreated(scope, query);
  const limit = mainThreadLimit(request.headers['content-type'], environment.maxRequestBodyBytes);
  const body = await readBody(request, limit, context);
  const options = createOrUpdateOptions(query, 'CreateOptions');
  context.dryRun = options.dryRun;
  const { gvk, groupVersion } = served;
  const target = { gvk, groupVersion, type: {}, decode: storage.decode };
  const created = await storage.create({
    context,
    namespace: context.info.namespace,
    admission: environment.admission,
    optionsFor: (operation) => admissionOptions({ request }, operation),
    object: decodeBody(target, scope, body, options.fieldValidation),
    manager: managerOrUserAgent(options.fieldManager, context.userAgent),
  });
  await writeCreated(sink, created.object, gvk);
}
