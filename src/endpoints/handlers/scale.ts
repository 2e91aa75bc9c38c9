import { ApiError, newBadRequest, newInternalError } from '../../apimachinery/meta/errors.js';
import { deepCopy, isObject, type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import { type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import { ScaleManagedFields } from '../../managedfields/scale.js';
import { managerOrUserAgent } from '../../managedfields/manager-name.js';
import { decodeScale, SCALE_GVK, scaleTable } from '../../registry/customresource/scale.js';
import { decodeInVersion } from '../../registry/generic/conversion-retry.js';
import { ensureNamespace } from '../../registry/generic/system-fields.js';
import { type UpdateResult, updateObject } from '../../registry/generic/update.js';
import type { ScalePaths, ServedVersion } from '../../registry/rest/served.js';
import type { ResponseSink } from '../responsewriters/sink.js';
import { negotiatePatch } from '../negotiation/media.js';
import { writeObject } from '../responsewriters/object.js';
import { readBody } from './request/body.js';
import { scaleCodec } from './codec/builtin.js';
import { decodeBody } from './codec/decode-body.js';
import { requestedResourceVersion, readAt } from './get.js';
import { isApply, type Mechanism, patchMechanism } from './patch.js';
import { Query } from './request/query.js';
import { negotiateObject } from './respond.js';
import { admissionAttributes, admissionOptions, admitMutations } from './admission.js';
import type { RequestScope } from '../router/scope.js';
import { checkName } from './request/target.js';
import { validators } from './update.js';
import { createOrUpdateOptions, patchOptions, type FieldValidation } from './request/write-options.js';

/** Marks the replicas of a Scale as unset, so that a write must set them. */
const UNSET = -2147483648;

/** GET, PUT and PATCH on the scale subresource: an autoscaling/v1 Scale that maps to two or three fields of the object. */
export async function scaleHandler(scope: RequestScope, paths: ScalePaths): Promise<void> {
  const { context, request, store } = scope;
  const { namespace, name, verb } = context.info;
  const query = new Query(request.url ?? '');
  if (verb === 'get') {
    const sink = negotiateObject(scope, query);
    const asked = requestedResourceVersion(query);
    const object = await store.get(store.key(namespace, name), name, readAt(asked, store.type), asked);
    const { scale, found } = scaleOf(scope.served.toObject(object), paths);
    if (!found) throw newInternalError(`the spec replicas field ${quote(paths.specReplicasPath)} does not exist`);
    await writeScale(scope, sink, scale);
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
  const updated = await storeScaled(scope, paths, await readChange(scope, query, patchType));
  const object =
    updated.stored === undefined
      ? updated.object
      : await decodeInVersion(scope.served, updated.stored, scope.context.stopwatch);
  await writeScale(scope, sink, scaleOf(object, paths).scale);
}

interface ScaleChange {
  readonly mechanism: Mechanism;
  /** The UID in the body of a PUT. */
  readonly expectedUid: string | undefined;
}

/** Reads how the request changes a Scale. */
async function readChange(scope: RequestScope, query: Query, patchType: string): Promise<ScaleChange> {
  const { context, request, environment } = scope;
  const scaleScope: RequestScope = { ...scope, served: asScale(scope.served), codec: scaleCodec };
  const body = await readBody(request, environment.maxRequestBodyBytes, context);
  if (patchType !== '') {
    const options = patchOptions(query, isApply(patchType));
    context.dryRun = options.dryRun;
    return { mechanism: patchMechanism(scaleScope, patchType, body, options), expectedUid: undefined };
  }
  const options = createOrUpdateOptions(query, 'UpdateOptions');
  context.dryRun = options.dryRun;
  const object = decodeScaleBody(scaleScope, body, options.fieldValidation);
  ensureNamespace(scope.served.type.namespaced ? context.info.namespace : '', object.metadata);
  checkName(object, context.info.name);
  const manager = managerOrUserAgent(options.fieldManager, context.userAgent);
  return {
    mechanism: (current) => scope.fieldManager.update(current, deepCopy(object), manager),
    expectedUid: object.metadata.uid === '' ? undefined : object.metadata.uid,
  };
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

function storeScaled(scope: RequestScope, paths: ScalePaths, change: ScaleChange): Promise<UpdateResult> {
  const { context, served } = scope;
  const { namespace, name } = context.info;
  return updateObject(scope.store, {
    context,
    served,
    strategy: scope.strategy,
    namespace,
    name,
    dryRun: context.dryRun,
    forceAllowCreate: false,
    expectedUid: change.expectedUid,
    transform: (current) => {
      if (current === undefined) throw new Error('cannot update the scale of an object that does not exist');
      return scaled(scope, paths, current, change.mechanism);
    },
    ...scaleValidators(scope, paths),
  });
}

/** Returns validators that pass Scales to admission. */
function scaleValidators(scope: RequestScope, paths: ScalePaths): ReturnType<typeof validators> {
  const ofScale = validators({ ...scope, served: asScale(scope.served) });
  const scale = (object: KubeObject): KubeObject => scaleOf(object, paths).scale;
  return {
    validateCreate: (object) => ofScale.validateCreate(scale(object)),
    validateUpdate: (object, old) => ofScale.validateUpdate(scale(object), scale(old)),
  };
}

/** Returns the object with the replicas of the changed Scale. */
async function scaled(
  scope: RequestScope,
  paths: ScalePaths,
  current: KubeObject,
  mechanism: Mechanism,
): Promise<KubeObject> {
  const fields = new ScaleManagedFields(current.metadata.managedFields, scope.served.groupVersion, paths.byVersion);
  const { scale, found } = scaleOf(current, paths);
  if (!found) (scale['spec'] as JsonObject)['replicas'] = UNSET;
  const owned = fields.toScale();
  if (owned !== undefined && owned.length > 0) scale.metadata.managedFields = owned;
  const next = mechanism(scale);
  const asked = { ...scope, served: asScale(scope.served) };
  await admitMutations(
    scope.environment.admission,
    admissionAttributes(asked, 'UPDATE', scope.context.info.name, next, scale, admissionOptions(scope, 'UPDATE')),
  );
  ensureNamespace(scope.served.type.namespaced ? scope.context.info.namespace : '', next.metadata);
  checkName(next, scope.context.info.name);
  const replicas = objectAt(next, 'spec')?.['replicas'] ?? 0;
  if (replicas === UNSET) {
    throw newBadRequest(`the spec replicas field ${quote(paths.specReplicasPath)} cannot be empty`);
  }
  const object = deepCopy(current);
  setNested(object, paths.specReplicas, replicas);
  const version = next.metadata.resourceVersion ?? '';
  if (version !== '') object.metadata.resourceVersion = version;
  const managed = fields.toParent(next.metadata.managedFields);
  if (managed === undefined || managed.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = managed;
  return object;
}

function setNested(object: JsonObject, path: readonly string[], value: JsonObject[string]): void {
  let parent = object;
  for (const key of path.slice(0, -1)) {
    const child = parent[key];
    const next = isObject(child) ? child : {};
    parent[key] = next;
    parent = next;
  }
  parent[path[path.length - 1] ?? ''] = value;
}

/**
 * Builds the Scale of an object, and reports whether the object has replicas. Values of the wrong type count as absent; a
 * validated object has none.
 */
function scaleOf(object: KubeObject, paths: ScalePaths): { scale: KubeObject; found: boolean } {
  const replicas = nested(object, paths.specReplicas);
  const status = nested(object, paths.statusReplicas);
  const selector = paths.labelSelector === undefined ? undefined : nested(object, paths.labelSelector);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const scale: KubeObject = {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: Object.fromEntries(
      Object.entries({ name, namespace, uid, resourceVersion, creationTimestamp }).filter(
        ([, value]) => value !== undefined,
      ),
    ),
    spec: typeof replicas === 'number' && replicas !== 0 ? { replicas } : {},
    status: {
      replicas: typeof status === 'number' ? status : 0,
      ...(typeof selector === 'string' && selector !== '' ? { selector } : {}),
    },
  };
  return { scale, found: replicas !== undefined };
}

function nested(object: JsonObject, path: readonly string[]): JsonObject[string] {
  let value: JsonObject[string] = object;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value;
}

/** Returns the served version with the Scale's type, for decoding bodies and patches. */
function asScale(served: ServedVersion): ServedVersion {
  return {
    ...served,
    type: { ...served.type, noProtobuf: false },
    version: { ...served.version, table: scaleTable },
    gvk: SCALE_GVK,
    groupVersion: 'autoscaling/v1',
    decode: decodeScale,
  };
}

async function writeScale({ served }: RequestScope, sink: ResponseSink, scale: KubeObject): Promise<void> {
  if (sink.media.as === 'PartialObjectMetadataList') {
    const why = 'you requested PartialObjectMetadataList, but the requested object is not a list (*v1.Scale)';
    throw new ApiError(406, 'NotAcceptable', why);
  }
  await writeObject(sink, 200, scale, asScale(served));
}
