import { supportedFieldNames } from '../../apimachinery/selectors/field-selectors.js';
import { addFacts, isObject } from '../../apimachinery/json/json.js';
import { FieldManager } from '../../managedfields/field-manager.js';
import { createScaleFieldManager } from '../../managedfields/scale.js';
import { simplePath } from '../../schema/scale.js';
import type { Clock } from '../../util/clock.js';
import type { Strategy, ApiResourceEntry } from '../rest/interfaces.js';
import type { ScalePaths, ServedSubresources, ServedVersion } from '../rest/served.js';
import { customAdmissionView } from './admission-view.js';
import { dropEmptyMetadata, readDeletion } from './applied-metadata.js';
import { readScale } from './compiled.js';
import type { Definition, DefinitionVersion } from './definition.js';
import { gvkOf, strategyOptions } from './resource-type.js';
import type { ServeOptions, VersionParts } from './serve-options.js';
import { storageCodec } from './storage-codec.js';
import { customResourceStrategy, customStatusStrategy, STATUS_RESETS } from './strategy.js';
import { storageVersionHash } from '../generic/store/storage-version-hash.js';

const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const SUBRESOURCE_VERBS = ['get', 'patch', 'update'];

/** Returns the discovery entries of a version: the resource and its subresources. */
function discoveryEntries(definition: Definition, version: DefinitionVersion): ApiResourceEntry[] {
  const { names, namespaced, group } = definition;
  const entry: ApiResourceEntry = {
    name: names.plural,
    singularName: names.singular,
    namespaced,
    kind: names.kind,
    verbs: VERBS,
    shortNames: names.shortNames,
    categories: names.categories,
    storageVersionHash: storageVersionHash(group, definition.storageVersion, names.kind),
  };
  const entries = [entry];
  const base = { singularName: '', namespaced, verbs: SUBRESOURCE_VERBS };
  if (version.hasStatus) entries.push({ ...base, name: `${names.plural}/status`, kind: names.kind });
  if (version.scale !== undefined) {
    entries.push({ ...base, name: `${names.plural}/scale`, kind: 'Scale', group: 'autoscaling', version: 'v1' });
  }
  return entries;
}

const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];

/** Returns one version of a definition with everything that handlers need to serve it. */
export function servedVersion(options: ServeOptions, parts: VersionParts): ServedVersion {
  const { type, compiled, view, formOf, offloadable } = parts;
  const { definition } = options.compiled;
  const { version } = compiled;
  const gvk = gvkOf(definition, version);
  const described = type.versions.find((candidate) => candidate.name === version.name);
  if (described === undefined) throw new Error(`version ${version.name} is not described`);
  const strategy = customResourceStrategy(strategyOptions(definition, compiled));
  return {
    type,
    version: described,
    groupVersion: `${gvk.group}/${gvk.version}`,
    id: view.json.id,
    json: view.json,
    listItem: view.json,
    itemTree: (object) => view.toObject(object),
    toObject: (object) => view.toObject(object),
    ...storageCodec(options, parts),
    gvk,
    groupResource: options.store.groupResource,
    strategy,
    fieldManager: fieldManager(options, parts, '', strategy.resetFields),
    ...subresources(options, parts),
    patchTypes: options.cbor ? [...PATCH_TYPES, 'application/apply-patch+cbor'] : PATCH_TYPES,
    verbs: VERBS,
    discovery: discoveryEntries(definition, version),
    admission: customAdmissionView(definition, options.conversion, formOf, (object) => {
      // A mutated object is pruned later than an applied one.
      if (!compiled.preserveUnknownFields) addFacts(object, { mutated: true, unpruned: false });
    }),
    fieldNames: supportedFieldNames([
      'metadata.name',
      ...(definition.namespaced ? ['metadata.namespace'] : []),
      ...described.selectableFields,
    ]),
    openApiSchema: version.schema,
    definition: { offloadable, watchCancellation: options.watchCancellation },
  };
}

function subresources(options: ServeOptions, parts: VersionParts): ServedSubresources {
  const { definition } = options.compiled;
  const { version } = parts.compiled;
  const scale = servedScale(definition, version, options.clock);
  if (!version.hasStatus) return { subresources: {}, createOnlySubresources: {}, scale };
  const strategy = customStatusStrategy(strategyOptions(definition, parts.compiled));
  const manager = fieldManager(options, parts, 'status', statusResetFields(definition));
  return { subresources: { status: { strategy, fieldManager: manager } }, createOnlySubresources: {}, scale };
}

function fieldManager(
  { clock, compiled: { definition }, conversion }: ServeOptions,
  { compiled, formOf }: VersionParts,
  subresource: string,
  resetFields: Strategy['resetFields'],
): FieldManager {
  const { schema, preserveUnknownFields } = compiled;
  /** Throws for entries of versions that no longer exist: kube-apiserver fails, and all entries are lost. */
  const known = (wanted: string): string => {
    if (formOf(wanted) !== undefined) return wanted;
    throw new Error(`request to convert CR to an invalid group/version: ${wanted}`);
  };
  return new FieldManager({
    kind: gvkOf(definition, compiled.version),
    subresource,
    typeOf: (groupVersion) => formOf(groupVersion)?.mergeType,
    converter: { convert: (object, wanted) => conversion.convert(object, known(wanted)) },
    resetFields,
    applyDefaults: (object, isNew) => {
      // Where the schema preserves unknown fields, an apply also accepts fields that it does not specify.
      if (!preserveUnknownFields) addFacts(object, { unpruned: true });
      schema.applyDefaults(object);
      schema.coerce(object);
      if (!isObject(object.metadata)) return;
      dropEmptyMetadata(object, subresource === '', isNew);
      readDeletion(object.metadata);
    },
    clock,
  });
}

/** Returns the fields that a status write leaves unchanged, also for managers that use other served or stored versions. */
function statusResetFields(definition: Definition): Record<string, readonly (readonly string[])[]> {
  const { group, versions, storageVersion } = definition;
  const fields: Record<string, readonly (readonly string[])[]> = {};
  for (const { name, hasStatus, served } of versions) {
    if (hasStatus && (served || name === storageVersion)) fields[`${group}/${name}`] = STATUS_RESETS;
  }
  return fields;
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
