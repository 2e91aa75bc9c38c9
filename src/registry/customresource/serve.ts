import { ApiError } from '../../apimachinery/meta/errors.js';
import { supportedFieldNames } from '../../apimachinery/selectors/field-selectors.js';
import {
  addFacts,
  deepCopy,
  deepEqual,
  FACTS,
  isObject,
  type JsonObject,
  type JsonValue,
} from '../../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import { nameIsDnsSubdomain } from '../../apimachinery/validation/names.js';
import { createFieldManager } from '../../managedfields/field-manager.js';
import { createScaleFieldManager } from '../../managedfields/scale.js';
import type { FieldManager } from '../../managedfields/interfaces.js';
import { MetadataError, readMetadata } from '../../schema/metadata.js';
import { tableConvertorFor } from '../../schema/columns/table.js';
import { simplePath } from '../../schema/scale.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import { type Clock, sleep } from '../../util/clock.js';
import type { ResourceStore } from '../generic/store/resource-store.js';
import { compareVersions, type StoredApi } from '../generic/store/api-registry.js';
import type { ResourceType, ResourceVersion } from '../rest/interfaces.js';
import type { OffloadableDefinition, ScalePaths, ServedVersion } from '../rest/served.js';
import { customAdmissionView } from './admission-view.js';
import { customAttributes } from './attributes.js';
import { type CompiledDefinition, type CompiledVersion, readScale } from './compiled.js';
import { decodeCustom } from './decode.js';
import type { Definition, DefinitionVersion } from './definition.js';
import { discoveryEntries, VERBS } from './discovery.js';
import { type CustomStrategyOptions, customResourceStrategy, customStatusStrategy, STATUS_RESETS } from './strategy.js';
import type { Conversion } from './conversion/conversion.js';
import { ConvertedCache } from './conversion/converted-cache.js';
import { CustomView, type Shown } from './view.js';

const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];

export interface ServeOptions {
  readonly compiled: CompiledDefinition;
  readonly store: ResourceStore;
  readonly conversion: Conversion;
  readonly terminating: boolean;
  /** Set apart from earlier views of the same versions. */
  readonly epoch: number;
  /** Aborts when the definition changes or goes. */
  readonly signal: AbortSignal;
  /** Aborts when watches must end: the definition's spec or names have changed, or it is gone. */
  readonly watchesEnd: AbortSignal;
  readonly clock: Clock;
  readonly cbor: boolean;
  /** Has another thread show a large object of the type in another version; undefined: it is to be done here. */
  readonly offloadShow?: OffloadShow | undefined;
}

export type OffloadShow = (
  served: Pick<ServedVersion, 'groupVersion' | 'offloadable'>,
  resource: string,
  object: CachedObject,
) => Promise<Shown> | undefined;

/** Makes everything that serving a definition takes: one api for each version that is wanted, over one store. */
export function serveDefinition(
  options: ServeOptions,
  isWanted = ({ version }: CompiledVersion): boolean => version.served,
): StoredApi[] {
  const { definition, versions: compiled } = options.compiled;
  const type = resourceType(definition, compiled);
  const formOf = (groupVersion: string): CompiledVersion | undefined => {
    const name = groupVersion.startsWith(`${definition.group}/`) ? groupVersion.slice(definition.group.length + 1) : '';
    return compiled.get(name);
  };
  const offloadable = offloadableForm(options);
  const attributes = customAttributes(definition, 'shown');
  return [...compiled.values()].filter(isWanted).map((version) => {
    const { view, ...rest } = servedVersion(options, type, version, formOf, offloadable);
    const served = { ...rest, offloadable };
    const { store, terminating } = options;
    const { prepare } = served;
    const own =
      prepare === undefined
        ? store
        : store.through(new ConvertedCache(store.cache, prepare, (object) => view.attributes(object, attributes)));
    return { kind: 'stored' as const, served, store: own, terminating };
  });
}

function offloadableForm({ compiled, conversion: { sender }, signal }: ServeOptions): OffloadableDefinition {
  const review = sender === undefined ? undefined : (body: string) => sender.send(body);
  return { id: compiled.id, serialized: () => compiled.serialized, retired: signal, review };
}

function resourceType(definition: Definition, compiled: ReadonlyMap<string, CompiledVersion>): ResourceType {
  const { names } = definition;
  const versions = [...compiled.values()].map(({ version }): ResourceVersion => ({
    name: version.name,
    served: version.served,
    deprecated: version.deprecated,
    deprecationWarning: version.deprecationWarning ?? deprecationWarning(definition, version),
    table: tableConvertorFor(version.columns),
    selectableFields: version.selectableFields.map((path) => path.replace(/^\./, '')),
  }));
  const storage = compiled.get(definition.storageVersion) ?? [...compiled.values()][0];
  if (storage === undefined) throw new Error(`definition ${definition.name} has no versions`);
  return {
    group: definition.group,
    resource: names.plural,
    singular: names.singular,
    kind: names.kind,
    listKind: names.listKind,
    shortNames: names.shortNames,
    categories: names.categories,
    namespaced: definition.namespaced,
    versions,
    storageVersion: definition.storageVersion,
    custom: true,
    noProtobuf: true,
    attributes: customAttributes(definition),
    validateName: nameIsDnsSubdomain,
    strategy: customResourceStrategy(strategyOptions(definition, storage)),
    subresources: {},
    deletion: {},
  };
}

/** The warning of a deprecated version that has no text of its own: with the best of the newer versions that are not deprecated. */
function deprecationWarning(definition: Definition, version: DefinitionVersion): string {
  const { group, names } = definition;
  const [better] = definition.versions
    .filter(({ name, served, deprecated }) => served && !deprecated && compareVersions(name, version.name) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const instead = better === undefined ? '' : `; use ${group}/${better} ${names.kind}`;
  return `${group}/${version.name} ${names.kind} is deprecated${instead}`;
}

function strategyOptions(definition: Definition, compiled: CompiledVersion): CustomStrategyOptions {
  return {
    gvk: gvkOf(definition, compiled.version),
    namespaced: definition.namespaced,
    schema: compiled.schema,
    hasStatus: compiled.version.hasStatus,
  };
}

const gvkOf = (definition: Definition, version: DefinitionVersion): GroupVersionKind => ({
  group: definition.group,
  version: version.name,
  kind: definition.names.kind,
});

function servedVersion(
  options: ServeOptions,
  type: ResourceType,
  compiled: CompiledVersion,
  formOf: (groupVersion: string) => CompiledVersion | undefined,
  offloadable: OffloadableDefinition,
): ServedVersion & { readonly view: CustomView } {
  const { store, offloadShow } = options;
  const { definition } = options.compiled;
  const { version, schema } = compiled;
  const gvk = gvkOf(definition, version);
  const groupVersion = `${gvk.group}/${gvk.version}`;
  const storageGroupVersion = `${gvk.group}/${definition.storageVersion}`;
  const described = type.versions.find((candidate) => candidate.name === version.name);
  if (described === undefined) throw new Error(`version ${version.name} is not described`);
  const pruned = (object: KubeObject): KubeObject => {
    if (object[FACTS]?.mutated === true) schema.prune(object, false);
    return object;
  };
  const stored = (object: KubeObject): KubeObject | Promise<KubeObject> => {
    const fault = object[FACTS]?.unreadable;
    if (fault !== undefined && object.apiVersion !== storageGroupVersion) throw new ApiError(500, '', fault);
    return toStored(object, formOf(storageGroupVersion), storageGroupVersion, options);
  };
  const strategy = customResourceStrategy(strategyOptions(definition, compiled));
  const statusStrategy = customStatusStrategy(strategyOptions(definition, compiled));
  /** Entries of versions that are gone are no reason to go on: kube-apiserver fails, and all entries are lost. */
  const known = (wanted: string): string => {
    if (formOf(wanted) !== undefined) return wanted;
    throw new Error(`request to convert CR to an invalid group/version: ${wanted}`);
  };
  const manager = (subresource: string, resetFields: ServedVersion['strategy']['resetFields']): FieldManager =>
    createFieldManager({
      kind: gvk,
      subresource,
      typeOf: (groupVersion) => formOf(groupVersion)?.mergeType,
      converter: { convert: (object, wanted) => options.conversion.convert(object, known(wanted)) },
      resetFields,
      applyDefaults: (object) => {
        // Below a place that keeps what is unknown an apply takes fields that the schema has no place for.
        if (!compiled.preserveUnknownFields) addFacts(object, { unpruned: true });
        schema.applyDefaults(object);
        schema.coerce(object);
        if (!isObject(object.metadata)) return;
        dropEmptyMetadata(object, subresource === '');
        const fault = readDeletion(object.metadata);
        if (fault !== undefined && subresource === '') addFacts(object, { unreadable: fault });
      },
      clock: options.clock,
    });
  const view = new CustomView({
    id: `${store.resource}/${version.name}/${options.epoch}`,
    groupVersion,
    formOf,
    conversion: options.conversion,
    isStorage: version.name === definition.storageVersion,
    offload:
      offloadShow === undefined
        ? undefined
        : (object) => offloadShow({ groupVersion, offloadable }, store.resource, object),
  });
  void verifyLater(view, options);
  return {
    view,
    type,
    version: described,
    groupVersion,
    id: view.json.id,
    json: view.json,
    listItem: view.json,
    toObject: (object) => view.toObject(object),
    gvk,
    groupResource: store.groupResource,
    decode: (body, strict) => decodeCustom(formOf, gvk, body, strict),
    mostDefaults: (objects) => schema.defaultsBound.once + objects * schema.defaultsBound.perItem,
    toStorage: (object) => {
      if (options.signal.aborted) throw definitionChanged();
      // Nulls that an apply left are gone when the object is read.
      const wasApplied = object[FACTS]?.unpruned === true && !compiled.preserveUnknownFields;
      if (wasApplied && schema.pruneRead(object)) addFacts(object, { unseenMembers: 'stored' });
      return stored(pruned(object));
    },
    dryRunResult: async (object) => {
      if (object.metadata.resourceVersion === '') delete object.metadata.resourceVersion;
      return view.shown(await stored(pruned(object)));
    },
    prepare: options.conversion.remote ? (objects) => view.prepare(objects) : undefined,
    strategy,
    fieldManager: manager('', strategy.resetFields),
    subresources: version.hasStatus
      ? { status: { strategy: statusStrategy, fieldManager: manager('status', statusResetFields(definition)) } }
      : {},
    scale: servedScale(definition, version, options.clock),
    patchTypes: options.cbor ? [...PATCH_TYPES, 'application/apply-patch+cbor'] : PATCH_TYPES,
    verbs: VERBS,
    discovery: discoveryEntries(definition, version),
    openApiSchema: version.schema,
    returnsDeletedObject: false,
    admission: customAdmissionView(definition, options.conversion, formOf, (object) => {
      // It is pruned later than what an apply made.
      if (!compiled.preserveUnknownFields) addFacts(object, { mutated: true, unpruned: false });
    }),
    watchesEnd: options.watchesEnd,
    fieldNames: supportedFieldNames([
      'metadata.name',
      ...(definition.namespaced ? ['metadata.namespace'] : []),
      ...described.selectableFields,
    ]),
  };
}

/** What a write of the status leaves as it was, also for managers that speak other versions that are served or stored. */
function statusResetFields(definition: Definition): Record<string, readonly (readonly string[])[]> {
  const { group, versions, storageVersion } = definition;
  const fields: Record<string, readonly (readonly string[])[]> = {};
  for (const { name, hasStatus, served } of versions) {
    if (hasStatus && (served || name === storageVersion)) fields[`${group}/${name}`] = STATUS_RESETS;
  }
  return fields;
}

/** What is set again before an object is stored. */
const SYSTEM_FIELDS = new Set([
  'creationTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
]);

/**
 * What an apply leaves empty is not there when the object is read again, and a label that is null is an empty text. `isStored`: the
 * metadata are, not those of the object before.
 */
function dropEmptyMetadata(object: KubeObject, isStored: boolean): void {
  const { metadata } = object as { metadata: JsonObject };
  for (const key in metadata) {
    const value = metadata[key];
    if (isEmptyMember(key, value)) {
      Reflect.deleteProperty(metadata, key);
      noteUnseen(object, isStored && !SYSTEM_FIELDS.has(key));
    } else if (key === 'labels' || key === 'annotations') {
      if (replaceNulls(value, '')) noteUnseen(object, isStored);
    } else if (key === 'ownerReferences' && Array.isArray(value)) {
      for (const item of value) if (replaceNulls(item, undefined)) noteUnseen(object, isStored);
    }
  }
}

/** `stored` once, `stored` it stays. */
function noteUnseen(object: KubeObject, isStored: boolean): void {
  const known = object[FACTS]?.unseenMembers;
  addFacts(object, { unseenMembers: isStored || known === 'stored' ? 'stored' : 'dropped' });
}

function isEmptyMember(key: string, value: JsonValue | undefined): boolean {
  if (value === null) return true;
  if (key === 'generateName') return value === '';
  const isCollection = key === 'labels' || key === 'annotations' || key === 'finalizers' || key === 'ownerReferences';
  return isCollection && typeof value === 'object' && Object.keys(value).length === 0;
}

function replaceNulls(value: JsonValue | undefined, by: string | undefined): boolean {
  if (!isObject(value)) return false;
  let found = false;
  for (const key in value) {
    if (value[key] !== null) continue;
    if (by === undefined) Reflect.deleteProperty(value, key);
    else value[key] = by;
    found = true;
  }
  return found;
}

/** A deletion as it is read again: what cannot be read has not begun, a time has its usual form. Returns why it cannot be read. */
function readDeletion(metadata: JsonObject): string | undefined {
  const { deletionTimestamp = null, deletionGracePeriodSeconds = null } = metadata;
  const given = { deletionTimestamp, deletionGracePeriodSeconds };
  for (const key in given) Reflect.deleteProperty(metadata, key);
  Object.assign(metadata, readMetadata(given, true));
  try {
    readMetadata(given, false);
    return undefined;
  } catch (error) {
    if (error instanceof MetadataError) return error.message;
    throw error;
  }
}

/** In the storage version, without what that does not know. Its defaults are added when it is read, as they are then. */
function toStored(
  object: KubeObject,
  form: CompiledVersion | undefined,
  groupVersion: string,
  { conversion, signal }: ServeOptions,
): KubeObject | Promise<KubeObject> {
  if (object.apiVersion === groupVersion) return object;
  const pruned = (converted: KubeObject): KubeObject => {
    if (form?.preserveUnknownFields === false) form.schema.prune(converted, false);
    // What was known of the object is not known of its conversion.
    delete converted[FACTS];
    if (form !== undefined && lacksDefaults(converted, form)) addFacts(converted, { incomplete: true });
    return converted;
  };
  if (!conversion.remote) return pruned(deepCopy(conversion.convert(object, groupVersion)));
  return conversion.convertAll([object], groupVersion).then(([converted]) => {
    if (signal.aborted) throw definitionChanged();
    return pruned(converted ?? object);
  });
}

function lacksDefaults(object: KubeObject, { schema }: CompiledVersion): boolean {
  const { once, perItem } = schema.defaultsBound;
  if (once + perItem === 0) return false;
  const shown = deepCopy(object);
  schema.applyDefaults(shown);
  return !deepEqual(object, shown);
}

/** Requests under an earlier definition are given this long to end before stored objects are looked at. */
const SETTLE_MILLIS = 1000;

async function verifyLater(view: CustomView, options: ServeOptions): Promise<void> {
  const { store, signal, clock } = options;
  if (store.cache.size() > 0 || options.epoch > 1) await sleep(clock, SETTLE_MILLIS, signal);
  if (signal.aborted) return;
  await store.cache.ready();
  await view.verify(store.cache.peekAll(''), signal, clock);
}

/** A write that was prepared under a definition that has changed meanwhile would escape the new one's rules. */
export function definitionChanged(): ApiError {
  const text = 'the definition of the resource has changed while the request was processed, please try again';
  return new ApiError(503, 'ServiceUnavailable', text, { retryAfterSeconds: 1 });
}

function servedScale(definition: Definition, version: DefinitionVersion, clock: Clock): ScalePaths | undefined {
  const scale = readScale(version);
  if (scale === undefined) return undefined;
  const byVersion: Record<string, readonly string[] | null> = {};
  for (const other of definition.versions) {
    const paths = readScale(other);
    byVersion[`${definition.group}/${other.name}`] = paths === undefined ? null : simplePath(paths.specReplicasPath);
  }
  return {
    byVersion,
    specReplicas: simplePath(scale.specReplicasPath),
    statusReplicas: simplePath(scale.statusReplicasPath),
    labelSelector: scale.labelSelectorPath === undefined ? undefined : simplePath(scale.labelSelectorPath),
    specReplicasPath: scale.specReplicasPath,
    fieldManager: createScaleFieldManager(clock),
  };
}
