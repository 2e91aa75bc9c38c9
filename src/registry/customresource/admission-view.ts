import type { VersionedResource } from '../../admission/interfaces.js';
import { deepCopy, type JsonObject } from '../../apimachinery/json.js';
import { formatGroupVersion, type GroupVersionKind, type KubeObject } from '../../apimachinery/meta.js';
import { MetadataError, readMetadata } from '../../schema/metadata.js';
import { settled } from '../generic/settled.js';
import { type AdmissionView, DecodeError } from '../rest/served.js';
import { type CompiledVersion, readScale } from './compiled.js';
import type { Conversion } from './conversion.js';
import type { Definition, DefinitionVersion } from './definition.js';
import { SCALE_GVK } from './scale.js';

/** A custom type for webhooks and policies: they may speak any version that its definition lists, served or not. */
export function customAdmissionView(
  definition: Definition,
  conversion: Conversion,
  formOf: (groupVersion: string) => CompiledVersion | undefined,
): AdmissionView {
  const cached = new Map<string, readonly VersionedResource[]>();
  const completeOwn = (object: KubeObject, kind: GroupVersionKind): KubeObject => {
    formOf(formatGroupVersion(kind))?.schema.applyDefaults(object);
    return object;
  };
  return {
    equivalents(subresource) {
      let known = cached.get(subresource);
      if (known === undefined) cached.set(subresource, (known = equivalents(definition, subresource)));
      return known;
    },
    convert: (object, kind) => settled(() => conversion.convert(object, formatGroupVersion(kind))),
    complete: (changed, kind) => completeOwn(withMetadata(changed), kind),
    mergeType: (kind) => formOf(formatGroupVersion(kind))?.mergeType,
  };
}

/** Unlike a body, what a webhook made is read with its metadata alone checked; the schema validates the rest later. */
function withMetadata(changed: JsonObject): KubeObject {
  const given = changed['metadata'];
  try {
    const metadata = given === undefined ? {} : readMetadata(deepCopy(given), false);
    return { ...changed, metadata } as KubeObject;
  } catch (error) {
    if (error instanceof MetadataError) throw new DecodeError(error.message);
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
