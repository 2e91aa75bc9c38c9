import { isObject, type JsonObject, objectAt, stringAt } from '../../apimachinery/json.js';
import type { KubeObject } from '../../apimachinery/meta.js';

/** What serving needs to know of a CustomResourceDefinition or ResourceDefinition that has been validated. */
export interface Definition {
  readonly name: string;
  readonly uid: string;
  readonly group: string;
  readonly namespaced: boolean;
  readonly names: DefinitionNames;
  readonly versions: readonly DefinitionVersion[];
  readonly storageVersion: string;
  readonly preserveUnknownFields: boolean;
  /** `None` or `Webhook`, with the webhook's own settings. */
  readonly conversion: JsonObject | undefined;
}

export interface DefinitionNames {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly hasStatus: boolean;
  readonly scale: JsonObject | undefined;
  readonly columns: readonly JsonObject[];
  /** JSON paths as written, with the leading dot. */
  readonly selectableFields: readonly string[];
}

/** Reads a definition's spec, and of its status the names that were accepted. */
export function readDefinition(crd: KubeObject): Definition {
  const spec = objectAt(crd, 'spec') ?? {};
  const names = objectAt(objectAt(crd, 'status'), 'acceptedNames') ?? objectAt(spec, 'names') ?? {};
  const versions = objects(spec['versions']).map(readVersion);
  const kind = stringAt(names, 'kind') ?? '';
  return {
    name: crd.metadata.name ?? '',
    uid: crd.metadata.uid ?? '',
    group: stringAt(spec, 'group') ?? '',
    namespaced: stringAt(spec, 'scope') === 'Namespaced',
    names: {
      plural: stringAt(objectAt(spec, 'names'), 'plural') ?? '',
      singular: stringAt(names, 'singular') ?? kind.toLowerCase(),
      kind,
      listKind: stringAt(names, 'listKind') ?? `${kind}List`,
      shortNames: strings(names['shortNames']),
      categories: strings(names['categories']),
    },
    versions,
    storageVersion:
      stringAt(
        objects(spec['versions']).find((v) => v['storage'] === true),
        'name',
      ) ?? '',
    preserveUnknownFields: spec['preserveUnknownFields'] === true,
    conversion: objectAt(spec, 'conversion'),
  };
}

function readVersion(version: JsonObject): DefinitionVersion {
  const subresources = objectAt(version, 'subresources');
  return {
    name: stringAt(version, 'name') ?? '',
    served: version['served'] === true,
    deprecated: version['deprecated'] === true,
    deprecationWarning: stringAt(version, 'deprecationWarning'),
    schema: objectAt(objectAt(version, 'schema'), 'openAPIV3Schema'),
    hasStatus: objectAt(subresources, 'status') !== undefined,
    scale: objectAt(subresources, 'scale'),
    columns: objects(version['additionalPrinterColumns']),
    selectableFields: objects(version['selectableFields']).map((field) => stringAt(field, 'jsonPath') ?? ''),
  };
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime: string | undefined;
}

/** Whether a condition of a definition has the status True. */
export function isConditionTrue(crd: KubeObject, type: string): boolean {
  const conditions = objects(objectAt(crd, 'status')?.['conditions']);
  return conditions.some((condition) => condition['type'] === type && condition['status'] === 'True');
}

function objects(value: JsonObject[string]): JsonObject[] {
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isObject(item)) : [];
}

function strings(value: JsonObject[string]): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}
