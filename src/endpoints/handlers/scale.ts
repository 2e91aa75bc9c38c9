import { ApiError, newBadRequest } from '../../apimachinery/meta/errors.js';
import { type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import type { ServedScale } from '../../registry/rest/served.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import { negotiatePatch } from '../negotiation/media.js';
import { writeObject } from '../responsewriters/object.js';
import { readBody } from './request/body.js';
import { scaleCodec } from './codec/builtin.js';
import { decodeBody } from './codec/decode-body.js';
import { requestedResourceVersion } from './get.js';
import { isApply, patchMechanism } from './patch.js';
import { Query } from './request/query.js';
import { negotiateObject } from './respond.js';
import type { RequestScope } from './scope.js';
import { namedWrite } from './update.js';
import type { FieldValidation } from './codec/codec.js';
import { createOrUpdateOptions, patchOptions } from './request/write-options.js';

/** GET, PUT and PATCH on the scale subresource. */
export async function scaleHandler(scope: RequestScope, scale: ServedScale): Promise<void> {
  const { context, request } = scope;
  const { namespace, name, verb } = context.info;
  const query = new Query(request.url ?? '');
  if (verb === 'get') {
    const sink = negotiateObject(scope, query);
    const asked = requestedResourceVersion(query);
    await writeScale(scale, sink, await scale.storage.get(context, namespace, name, asked));
    return;
  }
  if (verb !== 'update' && verb !== 'patch') {
    const { group, resource } = scope.served.groupResource;
    throw new ApiError(
      405,
      'MethodNotAllowed',
      `${verb} is not supported on resources of kind ${quote(`${resource}.${group}`)}`,
      {
        group,
        kind: resource,
      },
    );
  }
  const patchType = verb === 'patch' ? negotiatePatch(request.headers['content-type'], scope.served.patchTypes) : '';
  const sink = negotiateObject(scope, query);
  await writeScale(scale, sink, await changeScale(scope, scale, query, patchType));
}

async function changeScale(
  scope: RequestScope,
  { served, storage }: ServedScale,
  query: Query,
  patchType: string,
): Promise<KubeObject> {
  const { context, request, environment } = scope;
  const scaleScope: RequestScope = { ...scope, served, codec: scaleCodec };
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  if (patchType !== '') {
    const apply = isApply(patchType);
    const options = patchOptions(query, apply);
    context.dryRun = options.dryRun;
    const make = patchMechanism(scaleScope, patchType, body, options);
    return (await storage.patch({ ...namedWrite(scope), make, apply })).object;
  }
  const options = createOrUpdateOptions(query, 'UpdateOptions');
  context.dryRun = options.dryRun;
  const object = decodeScaleBody(scaleScope, body, options.fieldValidation);
  const manager = managerOrUserAgent(options.fieldManager, context.userAgent);
  return (await storage.update({ ...namedWrite(scope), object, manager })).object;
}

/** Decodes the body of a PUT. kube-apiserver fails to encode its own 400 for a bad body, and returns that failure instead. */
function decodeScaleBody(scope: RequestScope, body: Buffer, validation: FieldValidation): KubeObject {
  try {
    return decodeBody(scope.served, scope, body, validation);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 400)) throw error;
    throw newBadRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"');
  }
}

async function writeScale({ served }: ServedScale, sink: ResponseSink, scale: KubeObject): Promise<void> {
  if (sink.media.as === 'PartialObjectMetadataList') {
    const why = 'you requested PartialObjectMetadataList, but the requested object is not a list (*v1.Scale)';
    throw new ApiError(406, 'NotAcceptable', why);
  }
  await writeObject(sink, 200, scale, served);
}
