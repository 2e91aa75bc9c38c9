import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import { dedupOwnerReferences, ensureNamespace } from '../../registry/generic/system-fields.js';
import type { ServedCreateOnlySubresource } from '../../registry/rest/served.js';
import { writeCreated } from '../responsewriters/object.js';
import { readBody } from './request/body.js';
import { mainThreadLimit } from './request/weight.js';
import { decodeBody } from './codec/decode-body.js';
import { Query } from './request/query.js';
import { negotiateCreated } from './respond.js';
import { soleVersion } from '../../registry/generic/admission-versions.js';
import { admissionAttributes, admissionOptions, admitMutations } from './admission.js';
import type { RequestScope } from '../router/scope.js';
import { createOrUpdateOptions } from './request/write-options.js';

/** POST on a subresource whose objects have a kind of their own. */
export async function createSubresourceHandler(
  scope: RequestScope,
  creation: ServedCreateOnlySubresource,
): Promise<void> {
  const { context, request, served, environment } = scope;
  const { namespace, name } = context.info;
  const query = new Query(request.url ?? '');
  const sink = negotiateCreated(scope, query);
  const limit = mainThreadLimit(request.headers['content-type'], environment.maxRequestBodyBytes);
  const body = await readBody(request, limit, context);
  environment.metrics.requestBodySize(served.gvk.group, served.groupResource.resource, 'create', body.length);
  const options = createOrUpdateOptions(query, 'CreateOptions');
  context.dryRun = options.dryRun;
  const object = decodeBody({ ...creation, type: {} }, scope, body, options.fieldValidation);
  ensureNamespace(served.type.namespaced ? namespace : '', object.metadata);
  const warn = (text: string): void => context.warn(text);
  dedupOwnerReferences(object, warn, { afterAdmission: false });
  scope.fieldManager.update(undefined, object, managerOrUserAgent(options.fieldManager, context.userAgent));
  const attributes = {
    ...admissionAttributes(scope, 'CREATE', name, object, undefined, admissionOptions(scope, 'CREATE')),
    kind: creation.gvk,
    versions: soleVersion((json, strict) => creation.decode(json, strict)),
  };
  await admitMutations(environment.admission, attributes);
  const answer = await creation.subresource.create(context, object, { namespace, name }, async () => {
    await environment.admission.validate(attributes);
  });
  await writeCreated(sink, answer, creation.gvk);
}
