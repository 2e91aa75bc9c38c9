import {
  type JsonObject,
  type JsonValue,
  deepEqual,
  isObject,
  objectAt,
  stringAt,
} from '../../../apimachinery/json.js';
import { textsOf } from '../../../apimachinery/json-values.js';
import type { JsonSchemaProps } from '../../../schema/interfaces.js';

/**
 * A definition in the form in which it is validated. What all versions have in common is moved to the top, as kube-apiserver
 * does before it validates: therefore most errors about schemas name `spec.validation` and not a version.
 */
export interface InternalSpec {
  readonly group: string;
  /** The first version's name. */
  readonly version: string;
  readonly names: InternalNames;
  readonly scope: string;
  readonly validation: InternalValidation | undefined;
  readonly subresources: JsonObject | undefined;
  readonly versions: readonly InternalVersion[];
  /** Whether there is a list of versions, be it an empty one. */
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

/** The objects of a list. */
export function objectsAt(parent: JsonObject | undefined, key: string): readonly JsonObject[] {
  const value = parent?.[key];
  return Array.isArray(value) ? value.map((item) => (isObject(item) ? item : {})) : [];
}

export function stringsAt(parent: JsonObject | undefined, key: string): readonly string[] {
  return textsOf(parent?.[key]);
}

export function namesOf(names: JsonObject | undefined): InternalNames {
  return {
    plural: stringAt(names, 'plural') ?? '',
    singular: stringAt(names, 'singular') ?? '',
    shortNames: stringsAt(names, 'shortNames'),
    kind: stringAt(names, 'kind') ?? '',
    listKind: stringAt(names, 'listKind') ?? '',
    categories: stringsAt(names, 'categories'),
  };
}

function versionOf(version: JsonObject): InternalVersion {
  const wrapper = objectAt(version, 'schema');
  return {
    name: stringAt(version, 'name') ?? '',
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
    first !== undefined && versions.every((version) => sameValue(asJson(version[key]), asJson(first[key])));
  const sharedSchema = shared('validation');
  const sharedSubresources = shared('subresources');
  const sharedColumns = shared('additionalPrinterColumns');
  const sharedFields = shared('selectableFields');
  return {
    group: stringAt(spec, 'group') ?? '',
    version: first?.name ?? '',
    names: namesOf(objectAt(spec, 'names')),
    scope: stringAt(spec, 'scope') ?? '',
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

/** Members that count as set even when they are empty objects. */
const PRESENCE = new Set(['status', 'validation', 'schema', 'items', 'not']);

/** Equality in which missing and empty texts, lists and maps are the same at every level. */
export function sameValue(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (isObject(a) && isObject(b)) {
    return Object.keys({ ...a, ...b }).every((key) => {
      if (PRESENCE.has(key) && (a[key] === undefined) !== (b[key] === undefined)) return false;
      return sameValue(a[key], b[key]);
    });
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameValue(item, b[i]));
  }
  if (isEmpty(a) && isEmpty(b)) return true;
  return a !== undefined && b !== undefined && deepEqual(a, b);
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export const isStatusEnabled = (subresources: JsonObject | undefined): boolean =>
  objectAt(subresources, 'status') !== undefined;

/** All schemas of a definition with the paths at which they are validated. */
export function schemasOf(spec: InternalSpec): JsonSchemaProps[] {
  return [spec.validation, ...spec.versions.map((version) => version.validation)].flatMap((validation) =>
    validation?.schema === undefined ? [] : [validation.schema],
  );
}
