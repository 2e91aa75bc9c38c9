import { type DetailedJson, JsonError } from '../../../apimachinery/json/decode.js';
import { metadataFieldNames, supportedFieldNames } from '../../../apimachinery/selectors/field-selectors.js';
import { isObject, type JsonObject, type JsonValue, objectAt } from '../../../apimachinery/json/json.js';
import {
  formatGroupVersion,
  formatGroupVersionKind,
  type GroupVersionKind,
  type KubeObject,
  parseGroupVersion,
} from '../../../apimachinery/meta/meta.js';
import type { VersionedResource } from '../../../admission/interfaces.js';
import { applyStrategicMergePatch } from '../../../apimachinery/patch/strategic-merge.js';
import { type BuiltinSchema, requireSchema } from '../../../apimachinery/scheme/builtin-schema.js';
import { checkConvertible, conversionError } from '../../../apimachinery/scheme/convert.js';
import { DecodeError } from '../../../apimachinery/scheme/decode-error.js';
import { convertNumbers } from '../../../apimachinery/scheme/go-numbers.js';
import { FieldManager } from '../../../managedfields/field-manager.js';
import { emptyObjectOf } from '../../../apimachinery/scheme/empty-objects.js';
import type { CachedObject } from '../../../storage/cacher/interfaces.js';
import type { BuiltinTypes } from '../../../structured-merge-diff/schema/builtin-types.js';
import type { Clock } from '../../../util/clock.js';
import { type StoredApi, storedApi } from './api-registry.js';
import type {
  ApiResourceEntry,
  CreateOnlySubresource,
  ResourceType,
  ResourceVersion,
  ServedSubresource,
  Strategy,
} from '../../rest/interfaces.js';
import type { AdmissionView, DecodedObject, ServedCreateOnlySubresource, ServedVersion } from '../../rest/served.js';
import { decodeMutated } from '../admission-versions.js';
import { createdStorage } from '../unstored.js';
import { withApiVersion, mergeTypeOf, storedForm, versionConverter } from './builtin-versions.js';
import { representations } from './representations.js';
import type { ResourceStore } from './resource-store.js';
import { storageVersionHash } from './storage-version-hash.js';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const SUBRESOURCE_VERBS = ['get', 'patch', 'update'];
const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];
/** The verbs of all other subresources, which cannot be read. */
const UPDATE_ONLY = ['patch', 'update'];

export interface BuiltinServing {
  readonly store: ResourceStore;
  readonly mergeTypes: BuiltinTypes;
  readonly clock: Clock;
  readonly cbor: boolean;
}

/** Returns the decoder of bodies of a built-in kind, for stored and for create-only types. */
export function builtinDecoder(
  gvk: GroupVersionKind,
  applyDefaults?: (object: KubeObject) => void,
): (body: DetailedJson, strict: boolean) => DecodedObject {
  const schema = requireSchema(gvk.group, gvk.version, gvk.kind);
  const apiVersion = formatGroupVersion(gvk);
  return (body, strict) => {
    try {
      const { object, strictErrors } = schema.decode(body, strict);
      object.kind = gvk.kind;
      object.apiVersion = apiVersion;
      // An empty list of managers asks to remove them all. It would be dropped like any empty list.
      if (forgetsManagers(body.value)) object.metadata.managedFields = [{}];
      applyDefaults?.(object);
      return { object, strictErrors };
    } catch (error) {
      if (error instanceof JsonError) throw new DecodeError(error.message);
      throw error;
    }
  };
}

function forgetsManagers(body: JsonValue): boolean {
  const managers = isObject(body) ? objectAt(body, 'metadata')?.['managedFields'] : undefined;
  return Array.isArray(managers) && managers.length === 0;
}

/** Returns everything needed to serve a built-in type. */
export function serveBuiltin(type: ResourceType, serving: BuiltinServing): StoredApi[] {
  return type.versions.map((version) => storedApi(servedVersion(type, version, serving), serving.store));
}

function servedVersion(type: ResourceType, version: ResourceVersion, serving: BuiltinServing): ServedVersion {
  const gvk = { group: type.group, version: version.name, kind: type.kind };
  const groupVersion = formatGroupVersion(gvk);
  const schema = requireSchema(gvk.group, gvk.version, gvk.kind);
  const defaults = type.applyDefaults?.bind(type);
  const manager = fieldManagers(type, gvk, schema, serving);
  const subresources: Record<string, ServedSubresource> = {};
  for (const [name, strategy] of Object.entries(type.subresources)) {
    subresources[name] = { strategy, fieldManager: manager(name, strategy) };
  }
  const id = `${groupVersion}/${type.resource}`;
  const form = storedForm(type, version);
  const toObject = (object: CachedObject): KubeObject => {
    const stored = object.decode() as KubeObject;
    const shown = form === undefined ? stored : form.fromStorage(stored);
    defaults?.(shown);
    return shown;
  };
  const decodeObject = builtinDecoder(gvk, defaults);
  return {
    type,
    version,
    groupVersion,
    id,
    ...representations(id, { converted: form !== undefined, shared: type.storedAs !== undefined }, toObject),
    toObject,
    gvk,
    groupResource: { group: type.group, resource: type.resource },
    decode: decodeObject,
    maxDefaultedValues: () => 0,
    dryRunResult: (object) => object,
    toStorage: (object) => (form === undefined ? object : form.toStorage({ ...object })),
    strategy: type.strategy,
    fieldManager: manager('', type.strategy),
    subresources,
    createOnlySubresources: Object.fromEntries(
      Object.entries(type.created ?? {}).map(([name, created]) => [
        name,
        servedCreation(name, created, [type, version], serving),
      ]),
    ),
    scale: undefined,
    patchTypes: serving.cbor ? [...PATCH_TYPES, 'application/apply-patch+cbor'] : PATCH_TYPES,
    strategicMerge: (current, patch) => {
      const merged = applyStrategicMergePatch(current, patch, schema.type);
      checkConvertible(schema.type, merged);
      return convertNumbers(schema.type, merged) as JsonObject;
    },
    verbs: type.verbs ?? VERBS,
    discovery: discoveryEntries(type),
    openApiSchema: undefined,
    definition: undefined,
    admission: builtinAdmissionView(type, decodeObject, serving.mergeTypes),
    fieldNames: fieldNames(type, version),
  };
}

/** Returns a function that creates the field manager of the type itself (subresource '') or of a subresource. */
function fieldManagers(
  type: ResourceType,
  kind: GroupVersionKind,
  schema: BuiltinSchema,
  { mergeTypes, clock }: BuiltinServing,
): (subresource: string, strategy: Strategy) => FieldManager {
  const defaults = type.applyDefaults?.bind(type);
  return (subresource, { resetFields }) =>
    new FieldManager({
      kind,
      subresource,
      typeOf: (wanted) => mergeTypeOf(type, wanted, mergeTypes),
      resetFields,
      emptyObject: emptyObjectOf(kind),
      applyDefaults: (object) => normalizeInPlace(schema, object, defaults),
      clock,
      ...(type.versions.length > 1 && { converter: versionConverter(type) }),
    });
}

function fieldNames({ namespaced }: ResourceType, { selectableFields }: ResourceVersion): ServedVersion['fieldNames'] {
  if (selectableFields.length === 0) return metadataFieldNames;
  return supportedFieldNames(['metadata.name', ...(namespaced ? ['metadata.namespace'] : []), ...selectableFields]);
}

/** Returns a built-in type as webhooks and policies see it. Its versions have the same fields; events also exist in a second group. */
function builtinAdmissionView(
  type: ResourceType,
  decodeObject: ServedVersion['decode'],
  mergeTypes: BuiltinTypes,
): AdmissionView {
  const { twin, kind, resource } = type;
  const inGroup = ({ group, version }: { group: string; version: string }): VersionedResource => ({
    resource: { group, version, resource },
    kind: { group, version, kind },
  });
  const versions = type.versions.map(({ name }) => inGroup({ group: type.group, version: name }));
  if (twin !== undefined) versions.push(inGroup(twin));
  const decodeTwin = twin && builtinDecoder(inGroup(twin).kind);
  const isTwin = (group: string): boolean => group === twin?.group;
  return {
    equivalents: () => versions,
    convert: (object, wanted) => {
      const has = isTwin(parseGroupVersion(object.apiVersion ?? '')?.group ?? type.group);
      if (twin === undefined) return versions.length > 1 ? withApiVersion(object, formatGroupVersion(wanted)) : object;
      if (has === isTwin(wanted.group)) return object;
      return has ? twin.fromTwin(object) : twin.toTwin(object);
    },
    complete: (changed, wanted, how) => {
      const read = decodeTwin !== undefined && isTwin(wanted.group) ? decodeTwin : decodeObject;
      return decodeMutated(read, changed, how);
    },
    exchanged: () => undefined,
    mergeType: (wanted) => mergeTypes.typeOf(wanted),
    schemaOf: (wanted) => mergeTypes.schemaOf(wanted),
  };
}

function servedCreation(
  name: string,
  subresource: CreateOnlySubresource,
  [type, version]: readonly [ResourceType, ResourceVersion],
  serving: BuiltinServing,
): ServedCreateOnlySubresource {
  const { gvk } = subresource;
  const groupVersion = formatGroupVersion(gvk);
  const decode = builtinDecoder(gvk, subresource.applyDefaults?.bind(subresource));
  const fieldManager = new FieldManager({
    kind: gvk,
    subresource: name,
    typeOf: (wanted) => (wanted === groupVersion ? serving.mergeTypes.typeOf(gvk) : undefined),
    emptyObject: requireSchema(gvk.group, gvk.version, gvk.kind).empty(),
    clock: serving.clock,
  });
  const storage = createdStorage(type, version.name, subresource, { fieldManager, decode });
  return { gvk, groupVersion, decode, fieldManager, storage };
}

/**
 * Normalizes an object that an apply made from what the client sent into the form that decoding returns. Throws JsonError if the
 * object fits the type's schema but not the type.
 */
function normalizeInPlace(
  schema: BuiltinSchema,
  object: KubeObject,
  defaults: ((object: KubeObject) => void) | undefined,
): void {
  const { apiVersion, kind } = object;
  const normalized = normalizeOrThrow(schema, object);
  for (const key in object) delete object[key];
  Object.assign(object, normalized, { apiVersion, kind });
  defaults?.(object);
}

function normalizeOrThrow(schema: BuiltinSchema, object: KubeObject): KubeObject {
  try {
    return schema.normalize(object);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const why = conversionError(schema.type, object) ?? error.message;
    throw new JsonError(`unable to convert unstructured object to ${formatGroupVersionKind(schema.gvk)}: ${why}`);
  }
}

function discoveryEntries(type: ResourceType): ApiResourceEntry[] {
  const entries: ApiResourceEntry[] = [
    {
      name: type.resource,
      singularName: type.singular,
      namespaced: type.namespaced,
      kind: type.kind,
      verbs: type.verbs ?? VERBS,
      shortNames: type.shortNames,
      categories: type.categories,
      storageVersionHash: storageVersionHash(type.group, type.storageVersion, type.kind),
    },
  ];
  for (const name of Object.keys(type.subresources)) {
    entries.push({
      name: `${type.resource}/${name}`,
      singularName: '',
      namespaced: type.namespaced,
      kind: type.kind,
      verbs:
        name === 'finalize' ? ['update'] : name === 'approval' || name === 'status' ? SUBRESOURCE_VERBS : UPDATE_ONLY,
    });
  }
  for (const [name, { gvk }] of Object.entries(type.created ?? {})) {
    entries.push({
      name: `${type.resource}/${name}`,
      singularName: '',
      namespaced: type.namespaced,
      ...gvk,
      verbs: ['create'],
    });
  }
  return entries;
}
