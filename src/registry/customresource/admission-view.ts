import type { VersionedResource } from '../../admission/interfaces.js';
import { ApiError, newInternalError } from '../../apimachinery/meta/errors.js';
import { noteFloats } from '../../apimachinery/json/float.js';
import { type JsonObject, type JsonValue, textAt } from '../../apimachinery/json/json.js';
import {
  formatGroupVersion,
  formatGroupVersionKind,
  goJson,
  type GroupVersionKind,
  type KubeObject,
  parseGroupVersion,
  quote,
} from '../../apimachinery/meta/meta.js';
import { MetadataError, readMetadata, type WrongTypePolicy } from '../../schema/metadata.js';
import { retryOnPendingConversion } from '../generic/conversion-retry.js';
import type { AdmissionView } from '../rest/served.js';
import { readFaultyMetadata } from './applied-metadata.js';
import { type FormOf, readScale } from './compiled.js';
import type { Conversion } from './conversion/conversion.js';
import type { Definition, DefinitionVersion } from './definition.js';
import { SCALE_GVK } from './scale.js';

/**
 * Returns a custom type as webhooks and policies see it: they may use any version that its definition lists, served or not.
 * `exchanged` is called with objects that a mutation changed, which may have fields that the schema does not know.
 */
export function customAdmissionView(
  definition: Definition,
  conversion: Conversion,
  formOf: FormOf,
  exchanged: AdmissionView['exchanged'],
): AdmissionView {
  const cached = new Map<string, readonly VersionedResource[]>();
  return {
    equivalents(subresource) {
      let known = cached.get(subresource);
      if (known === undefined) cached.set(subresource, (known = equivalents(definition, subresource)));
      return known;
    },
    convert: (object, kind) => retryOnPendingConversion(() => conversion.convert(object, formatGroupVersion(kind))),
    complete: (changed, kind, { floats, dropsInvalidMetadata = false } = {}) => {
      checkKind(changed, kind);
      const object = withMetadata(changed, dropsInvalidMetadata ? 'drop' : 'throw');
      if (floats !== undefined) noteFloats(object, floats);
      formOf(formatGroupVersion(kind))?.schema.applyDefaults(object);
      return object;
    },
    exchanged,
    mergeType: (kind) => formOf(formatGroupVersion(kind))?.mergeType,
    schemaOf: (kind) => formOf(formatGroupVersion(kind))?.version.schema,
  };
}

/** Throws an internal error if a mutation changed the object's type, which is not the client's fault. */
function checkKind(changed: JsonObject, wanted: GroupVersionKind): void {
  const kind = textAt(changed, 'kind');
  if (kind === '') throw newInternalError(`Object 'Kind' is missing in '${goJson(changed)}'`);
  const given = parseGroupVersion(textAt(changed, 'apiVersion')) ?? { group: '', version: '' };
  if (given.group === wanted.group && given.version === wanted.version) return;
  const shown = formatGroupVersionKind({ ...given, kind });
  const to = quote(formatGroupVersion(wanted));
  throw new ApiError(500, '', `${shown} is unstructured and is not suitable for converting to ${to}`);
}

/** Reads the result of a mutation. Unlike for a body, only metadata is checked here; the schema validates the rest later. */
function withMetadata(changed: JsonObject, wrong: WrongTypePolicy): KubeObject {
  const { metadata } = changed;
  try {
    const read = wrong === 'drop' ? readFaultyMetadata : (value: JsonValue): JsonObject => readMetadata(value, wrong);
    return { ...changed, metadata: metadata === undefined ? {} : read(metadata) };
  } catch (error) {
    if (error instanceof MetadataError)
      throw newInternalError(wrong === 'drop' ? 'system metadata was not initialized' : error.message);
    throw error;
  }
}

function equivalents(definition: Definition, subresource: string): readonly VersionedResource[] {
  const { group, names } = definition;
  return definition.versions
    .filter((version) => hasSubresource(version, subresource))
    .map(({ name }) => ({
      resource: { group, version: name, resource: names.plural },
      kind: subresource === 'scale' ? SCALE_GVK : { group, version: name, kind: names.kind },
    }));
}

function hasSubresource(version: DefinitionVersion, subresource: string): boolean {
  if (subresource === 'status') return version.hasStatus;
  if (subresource === 'scale') return readScale(version) !== undefined;
  return subresource === '';
}
