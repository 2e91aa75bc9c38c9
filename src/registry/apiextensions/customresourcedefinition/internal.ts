import {
  isObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  stringAt,
  stringsOf,
  textAt,
} from '../../../apimachinery/json/json.js';
import type { JsonSchemaProps } from '../../../schema/interfaces.js';
import { sameValue } from './same.js';

/**
 * A definition in the form in which it is validated. What all versions have in common is moved to the top, as in kube-apiserver
 * before validation. Therefore most errors about schemas name `spec.validation` and not a version.
 */
export interface InternalSpec {
  readonly group: string;
  /** The name of the first version. */
  readonly version: string;
  readonly names: InternalNames;
  readonly scope: string;
  readonly validation: InternalValidation | undefined;
  readonly subresources: JsonObject | undefined;
  readonly versions: readonly InternalVersion[];
  /** True if there is a list of versions, even an empty one. */
  readonly hasVersions: boolean;
  readonly additionalPrinterColumns: readonly JsonObject[];
  readonly selectableFields: readonly JsonObject[];
  readonly conversion: JsonObject | undefined;
  readonly preserveUnknownFields: boolean;
}

/** The wrapper of a schema, which may be empty. */
export interface InternalValidation {
  readonly schema: JsonSchemaProps | undefined;
}

export interface InternalNames {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly kind: string;
  readonly listKind: string;
  readonly categories: readonly string[];
}

export interface InternalVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly validation: InternalValidation | undefined;
  readonly subresources: JsonObject | undefined;
  readonly additionalPrinterColumns: readonly JsonObject[];
  readonly selectableFields: readonly JsonObject[];
}

/** Returns the items of a list as objects. */
export function objectsAt(parent: JsonObject | undefined, key: string): readonly JsonObject[] {
  const value = parent?.[key];
  return Array.isArray(value) ? value.map((item) => (isObject(item) ? item : {})) : [];
}

export function stringsAt(parent: JsonObject | undefined, key: string): readonly string[] {
  return stringsOf(parent?.[key]);
}

export function namesOf(names: JsonObject | undefined): InternalNames {
  return {
    plural: textAt(names, 'plural'),
    singular: textAt(names, 'singular'),
    shortNames: stringsAt(names, 'shortNames'),
    kind: textAt(names, 'kind'),
    listKind: textAt(names, 'listKind'),
    categories: stringsAt(names, 'categories'),
  };
}

function versionOf(version: JsonObject): InternalVersion {
  const wrapper = objectAt(version, 'schema');
  return {
    name: textAt(version, 'name'),
    served: version['served'] === true,
    storage: version['storage'] === true,
    deprecated: version['deprecated'] === true,
    deprecationWarning: stringAt(version, 'deprecationWarning'),
    validation: wrapper === undefined ? undefined : { schema: objectAt(wrapper, 'openAPIV3Schema') },
    subresources: objectAt(version, 'subresources'),
    additionalPrinterColumns: objectsAt(version, 'additionalPrinterColumns'),
    selectableFields: objectsAt(version, 'selectableFields'),
  };
}

export function toInternalSpec(crd: JsonObject): InternalSpec {
  const spec = objectAt(crd, 'spec');
  const versions = objectsAt(spec, 'versions').map(versionOf);
  const [first] = versions;
  const shared = (key: keyof InternalVersion): boolean =>
    first !== undefined &&
    versions.every((version) => {
      const [own, other] = [asJson(version[key]), asJson(first[key])];
      return (own === undefined) === (other === undefined) && sameValue(own, other);
    });
  const sharedSchema = shared('validation');
  const sharedSubresources = shared('subresources');
  const sharedColumns = shared('additionalPrinterColumns');
  const sharedFields = shared('selectableFields');
  return {
    group: textAt(spec, 'group'),
    version: first?.name ?? '',
    names: namesOf(objectAt(spec, 'names')),
    scope: textAt(spec, 'scope'),
    validation: sharedSchema ? first?.validation : undefined,
    subresources: sharedSubresources ? first?.subresources : undefined,
    additionalPrinterColumns: sharedColumns ? (first?.additionalPrinterColumns ?? []) : [],
    selectableFields: sharedFields ? (first?.selectableFields ?? []) : [],
    conversion: objectAt(spec, 'conversion'),
    preserveUnknownFields: spec?.['preserveUnknownFields'] === true,
    hasVersions: Array.isArray(spec?.['versions']),
    versions: versions.map((version) => ({
      ...version,
      validation: sharedSchema ? undefined : version.validation,
      subresources: sharedSubresources ? undefined : version.subresources,
      additionalPrinterColumns: sharedColumns ? [] : version.additionalPrinterColumns,
      selectableFields: sharedFields ? [] : version.selectableFields,
    })),
  };
}

const asJson = (value: InternalVersion[keyof InternalVersion]): JsonValue | undefined => value as JsonValue | undefined;

export const isStatusEnabled = (subresources: JsonObject | undefined): boolean =>
  objectAt(subresources, 'status') !== undefined;

/** Returns all schemas of a definition: the common one, and those of the versions. */
export function schemasOf(spec: InternalSpec): JsonSchemaProps[] {
  return [spec.validation, ...spec.versions.map((version) => version.validation)].flatMap((validation) =>
    validation?.schema === undefined ? [] : [validation.schema],
  );
}
