import { ApiError, newGenericNotFound } from '../../apimachinery/meta/errors.js';
import { formatGroupVersion, type KubeObject } from '../../apimachinery/meta/meta.js';
import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import type { CreateOnlyApi } from '../../registry/generic/store/api-registry.js';
import { ensureNamespace, wipeSystemFields } from '../../registry/generic/system-fields.js';
import { checkRoute } from '../negotiation/media.js';
import { writeCreated } from '../responsewriters/object.js';
import { readBody } from '../handlers/request/body.js';
import { mainThreadLimit } from '../handlers/request/weight.js';
import { decodeBody } from '../handlers/codec/decode-body.js';
import { builtinDecoder } from '../../registry/generic/store/builtin-served.js';
import { soleVersion } from '../../registry/generic/admission-versions.js';
import { Query } from '../handlers/request/query.js';
import { negotiateCreated } from '../handlers/respond.js';
import { builtinCodec } from '../handlers/codec/builtin.js';
import { admissionOptions, admitMutations, attributesOf } from '../handlers/admission.js';
import type { RoutedRequest } from './scope.js';
import { createOrUpdateOptions } from '../handlers/request/write-options.js';

/** POST of a create-only type, such as a review. */
export async function createOnlyHandler(
  { type, fieldManager }: CreateOnlyApi,
  exchanged: RoutedRequest,
): Promise<void> {
  const { environment, context, request } = exchanged;
  const { info } = context;
  context.handled = true;
  // Only the collection has a route.
  if (info.name !== '' || info.subresource !== '' || type.namespaced !== (info.namespace !== ''))
    throw newGenericNotFound();
  if (info.verb !== 'create') {
    throw new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  }
  const query = new Query(request.url ?? '');
  checkRoute(request.headers.accept, 'object', environment.features.enabled('CBORServingAndStorage'));
  const sink = negotiateCreated(exchanged, query);
  const limit = mainThreadLimit(request.headers['content-type'], environment.maxRequestBodyBytes);
  const body = await readBody(request, limit, context);
  const options = createOrUpdateOptions(query, 'CreateOptions');
  context.dryRun = options.dryRun;
  const target = {
    gvk: type,
    groupVersion: formatGroupVersion(type),
    type: {},
    decode: builtinDecoder(type),
  };
  const object: KubeObject = decodeBody(target, { ...exchanged, codec: builtinCodec }, body, options.fieldValidation);
  wipeSystemFields(object.metadata);
  ensureNamespace(type.namespaced ? info.namespace : '', object.metadata);
  fieldManager.update(undefined, object, managerOrUserAgent(options.fieldManager, context.userAgent));
  const attributes = attributesOf(context, {
    operation: 'CREATE',
    kind: type,
    resource: type,
    subresource: '',
    namespace: info.namespace,
    name: object.metadata.name ?? '',
    object,
    oldObject: undefined,
    options: admissionOptions({ request }, 'CREATE'),
    versions: soleVersion(target.decode),
  });
  await admitMutations(environment.admission, attributes);
  await environment.admission.validate(attributes);
  const answer = await type.create(context, object, info.namespace);
  await writeCreated(sink, answer, type);
}
