import { deepCopy, isObject, type JsonObject, objectAt } from '../../apimachinery/json/json.js';
import { newBadRequest, newInternalError } from '../../apimachinery/meta/errors.js';
import { type KubeObject, quote } from '../../apimachinery/meta/meta.js';
import { ScaleManagedFields } from '../../managedfields/scale.js';
import type { RequestContext } from '../../request/context.js';
import { admissionAttributes, admitMutations } from '../generic/admission.js';
import { decodeInVersion } from '../generic/conversion-retry.js';
import { checkName, ensureNamespace } from '../generic/identity.js';
import { authorOf } from '../generic/store/author.js';
import { instrumentStore } from '../generic/store/instrumented-store.js';
import type { ResourceStore } from '../generic/store/resource-store.js';
import { updateObject } from '../generic/update.js';
import type { ScalePaths, ServedScale, ServedVersion } from '../rest/served.js';
import type { Getter, PatchRequest, UpdateRequest, UpdateResult } from '../rest/storage.js';
import { decodeScale, SCALE_GVK, scaleTable } from './scale.js';

/** Marks the replicas of a Scale as unset, so that a write must set them. */
const UNSET = -2147483648;

/** Returns the scale subresource of a version of a definition; undefined if it has none. */
export function servedScale(served: ServedVersion, store: ResourceStore, objects: Getter): ServedScale | undefined {
  const { scale } = served;
  return scale && { served: asScale(served), storage: new ScaleStorage({ served, store, objects, paths: scale }) };
}

/** Returns the served version with the Scale's type, for decoding bodies and patches. */
const asScale = (served: ServedVersion): ServedVersion => ({
  ...served,
  type: { ...served.type, noProtobuf: false },
  version: { ...served.version, table: scaleTable },
  gvk: SCALE_GVK,
  groupVersion: 'autoscaling/v1',
  decode: decodeScale,
});

interface Scaled {
  readonly served: ServedVersion;
  readonly store: ResourceStore;
  readonly objects: Getter;
  readonly paths: ScalePaths;
}

type MakeScale = (scale: KubeObject) => KubeObject;

/** Reads and writes an autoscaling/v1 Scale that maps to two or three fields of the object (apiserver, ScaleREST). */
class ScaleStorage {
  private readonly asScale: ServedVersion;

  constructor(private readonly scaled: Scaled) {
    this.asScale = asScale(scaled.served);
  }

  async get(context: RequestContext, namespace: string, name: string, resourceVersion: string): Promise<KubeObject> {
    const { served, objects, paths } = this.scaled;
    const { scale, found } = scaleOf(
      served.toObject(await objects.get(context, namespace, name, resourceVersion)),
      paths,
    );
    if (!found) throw newInternalError(`the spec replicas field ${quote(paths.specReplicasPath)} does not exist`);
    return scale;
  }

  async update(request: UpdateRequest): Promise<UpdateResult> {
    const { namespace, name, object, manager, part } = request;
    ensureNamespace(this.scaled.served.type.namespaced ? namespace : '', object.metadata);
    checkName(object, name);
    const uid = object.metadata.uid === '' ? undefined : object.metadata.uid;
    return this.write(request, uid, (scale) => part.fieldManager.update(scale, deepCopy(object), manager));
  }

  patch(request: PatchRequest): Promise<UpdateResult> {
    return this.write(request, undefined, request.make);
  }

  private async write(
    request: UpdateRequest | PatchRequest,
    expectedUid: string | undefined,
    make: MakeScale,
  ): Promise<UpdateResult> {
    const { context, namespace, name, admission, part, optionsFor, authorizeCreate } = request;
    const { served, store, paths } = this.scaled;
    const shown = (object: KubeObject): KubeObject => scaleOf(object, paths).scale;
    // Admission sees Scales.
    const validate = (operation: 'CREATE' | 'UPDATE', object: KubeObject, old: KubeObject | undefined) =>
      admission.validate(
        admissionAttributes(context, this.asScale, {
          operation,
          name,
          object: shown(object),
          oldObject: old && shown(old),
          options: optionsFor(operation),
        }),
      );
    const updated = await updateObject(instrumentStore(store, context).writtenBy(authorOf(context)), {
      context,
      served,
      strategy: part.strategy,
      namespace,
      name,
      dryRun: context.dryRun,
      forceAllowCreate: false,
      expectedUid,
      transform: (current) => {
        if (current === undefined) throw new Error('cannot update the scale of an object that does not exist');
        return this.transform(request, current, make);
      },
      validateCreate: async (object) => {
        await authorizeCreate();
        await validate('CREATE', object, undefined);
      },
      validateUpdate: (object, old) => validate('UPDATE', object, old),
    });
    const object =
      updated.stored === undefined ? updated.object : await decodeInVersion(served, updated.stored, context.stopwatch);
    return { object: shown(object), stored: undefined, created: false };
  }

  /** Returns the object with the replicas of the changed Scale. */
  private async transform(
    { context, namespace, name, admission, optionsFor }: UpdateRequest | PatchRequest,
    current: KubeObject,
    make: MakeScale,
  ): Promise<KubeObject> {
    const { served, paths } = this.scaled;
    const fields = new ScaleManagedFields(current.metadata.managedFields, served.groupVersion, paths.byVersion);
    const { scale, found } = scaleOf(current, paths);
    if (!found) (scale['spec'] as JsonObject)['replicas'] = UNSET;
    const owned = fields.toScale();
    if (owned !== undefined && owned.length > 0) scale.metadata.managedFields = owned;
    const next = make(scale);
    const options = optionsFor('UPDATE');
    const change = { operation: 'UPDATE' as const, name, object: next, oldObject: scale, options };
    await admitMutations(admission, admissionAttributes(context, this.asScale, change));
    ensureNamespace(served.type.namespaced ? namespace : '', next.metadata);
    checkName(next, name);
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
