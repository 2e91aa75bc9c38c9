import { isObject, type JsonObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { messageOf } from '../../../util/error-message.js';
import { isUnset, objectIn, objectsIn, textIn } from '../fields.js';
import { conversionOf } from '../table.js';

export interface DefinedVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly warning: string | undefined;
  /** Undefined if the version has no schema. */
  readonly schema: JsonObject | undefined;
}

/** The part of a custom resource's definition that conversion needs. */
export interface CustomType {
  readonly group: string;
  readonly kind: string;
  readonly versions: readonly DefinedVersion[];
  readonly webhook: boolean;
  readonly preserves: boolean;
}

const KINDS = new Set([
  'apiextensions.k8s.io/v1 CustomResourceDefinition',
  'apiextensions.k8s.io/v1beta1 CustomResourceDefinition',
  'kubeannex.io/v1 ResourceDefinition',
]);

/** The given definitions by group and kind. */
export class Definitions {
  private readonly types = new Map<string, CustomType>();

  /** Adds an object if it is a definition; other objects are ignored. Returns why a definition cannot be read. */
  add(object: JsonObject): string | undefined {
    const { apiVersion, kind } = object;
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') return undefined;
    if (!KINDS.has(`${apiVersion} ${kind}`)) return undefined;
    try {
      const current = structuredClone(object);
      const silent = { warn: () => undefined, lose: () => undefined };
      conversionOf(apiVersion, kind)?.convert?.(current, silent, apiVersion);
      const type = readType(current);
      this.types.set(`${type.group} ${type.kind}`, type);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  get(group: string, kind: string): CustomType | undefined {
    return this.types.get(`${group} ${kind}`);
  }

  /** Reports whether a definition serves a version. */
  serves(apiVersion: string): boolean {
    const [group, name] = apiVersion.split('/');
    return [...this.types.values()].some(
      (type) => type.group === group && type.versions.some((version) => version.name === name && version.served),
    );
  }
}

function readType(definition: JsonObject): CustomType {
  const spec = objectIn(definition, 'spec', '') ?? {};
  const names = objectIn(spec, 'names', 'spec') ?? {};
  const conversion = objectIn(spec, 'conversion', 'spec') ?? {};
  return {
    group: textIn(spec, 'group', 'spec') ?? '',
    kind: textIn(names, 'kind', 'spec.names') ?? '',
    versions: objectsIn(spec, 'versions', 'spec').map(([version, path]) => ({
      name: textIn(version, 'name', path) ?? '',
      served: version['served'] === true,
      storage: version['storage'] === true,
      deprecated: version['deprecated'] === true,
      warning: textIn(version, 'deprecationWarning', path),
      schema: objectIn(objectIn(version, 'schema', path) ?? {}, 'openAPIV3Schema', `${path}.schema`),
    })),
    webhook: conversion['strategy'] === 'Webhook',
    preserves: spec['preserveUnknownFields'] === true,
  };
}

/** Returns the version to convert to if none is requested: the storage version if clients may use it, or else the first usable one. */
export function preferredVersion(type: CustomType): DefinedVersion | undefined {
  const usable = type.versions.filter(({ served, deprecated }) => served && !deprecated);
  return usable.find(({ storage }) => storage) ?? usable[0];
}

/** Returns the objects of a document: the items of a list, or the object itself. */
export function objectsOfDocument(value: JsonValue): readonly JsonObject[] {
  if (!isObject(value)) return [];
  const { items, kind } = value;
  if (!Array.isArray(items) || typeof kind !== 'string' || !kind.endsWith('List') || !isUnset(value['spec']))
    return [value];
  return items.filter((item) => isObject(item));
}
