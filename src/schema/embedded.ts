import { type FieldError, FieldPath, invalid, required } from '../apimachinery/meta/field-error.js';
import { Float, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import { type ObjectMeta, parseGroupVersion } from '../apimachinery/meta/meta.js';
import { isDns1035Label, nameIsPathSegment } from '../apimachinery/validation/names.js';
import { validateObjectMeta } from '../apimachinery/validation/object-meta.js';
import { inOrderOfKeys, MetadataError, readMetadata, type WrongTypePolicy } from './metadata.js';
import type { Role, SchemaNode } from './node.js';

/** How coercion treats wrong and unknown fields. */
export interface CoerceOptions {
  readonly onWrongType: WrongTypePolicy;
  /** Collects the paths of dropped unknown fields. */
  readonly unknown?: string[] | undefined;
}

/**
 * Coerces the metadata of embedded objects in place: unknown and empty fields are dropped. Parts of the schema without embedded
 * objects are skipped. Returns the first error. A value with the role `resource` counts as embedded itself.
 */
export function coerceEmbedded(
  value: JsonValue | undefined,
  node: SchemaNode,
  role: Role,
  options: CoerceOptions,
  path: FieldPath = FieldPath.empty,
): FieldError | undefined {
  const isEmbedded = node.embedded || role === 'resource';
  if (!(node.hasEmbedded || role === 'resource') || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return undefined;
    for (const [i, item] of value.entries()) {
      const error = coerceEmbedded(item, items, 'part', options, path.index(i));
      if (error !== undefined) return error;
    }
    return undefined;
  }
  if (isEmbedded) {
    const error = coerceResource(value, options, path);
    if (error !== undefined) return error;
  }
  for (const { key, node: child } of node.embeddedBelow) {
    const error = coerceEmbedded(value[key], child, 'part', options, path.child(key));
    if (error !== undefined) return error;
  }
  if (typeof node.additional !== 'object' || !node.additional.hasEmbedded) return undefined;
  for (const key in value) {
    const error = coerceEmbedded(value[key], node.additional, 'part', options, path.key(key));
    if (error !== undefined) return error;
  }
  return undefined;
}

function coerceResource(value: JsonObject, options: CoerceOptions, path: FieldPath): FieldError | undefined {
  for (const key of ['apiVersion', 'kind']) {
    const member = value[key];
    if (member === undefined || typeof member === 'string') continue;
    if (options.onWrongType === 'throw') return invalid(path.child(key), member, 'must be a string');
    delete value[key];
  }
  const { metadata } = value;
  if (metadata === undefined) return undefined;
  const at = path.child('metadata');
  try {
    const unknown: string[] = [];
    value['metadata'] = readMetadata(metadata, options.onWrongType, (tail) => unknown.push(`${at.toString()}.${tail}`));
    options.unknown?.push(...inOrderOfKeys(unknown));
    return undefined;
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    return options.onWrongType === 'drop' ? undefined : invalid(at, metadata, error.message);
  }
}

/** Validates apiVersion, kind and metadata of embedded objects, and those of a resource itself. */
export function validateEmbedded(
  value: JsonValue | undefined,
  node: SchemaNode,
  role: Role,
  path: FieldPath = FieldPath.empty,
): FieldError[] {
  const isEmbedded = node.embedded || role === 'resource';
  if (!(node.hasEmbedded || role === 'resource') || typeof value !== 'object' || value === null) return [];
  if (value instanceof Float) return [];
  if (Array.isArray(value)) {
    const { items } = node;
    return items === undefined ? [] : value.flatMap((item, i) => validateEmbedded(item, items, 'part', path.index(i)));
  }
  const errors = isEmbedded ? validateResource(value, path) : [];
  for (const { key, node: child } of node.embeddedBelow) {
    errors.push(...validateEmbedded(value[key], child, 'part', path.child(key)));
  }
  if (typeof node.additional === 'object' && node.additional.hasEmbedded) {
    for (const key in value) errors.push(...validateEmbedded(value[key], node.additional, 'part', path.key(key)));
  }
  return errors;
}

function validateResource(value: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion, kind, metadata } = value;
  if (apiVersion === undefined) errors.push(required(path.child('apiVersion')));
  if (kind === undefined) errors.push(required(path.child('kind')));
  if (apiVersion !== undefined) errors.push(...validateApiVersion(apiVersion, path.child('apiVersion')));
  if (kind !== undefined) errors.push(...validateKind(kind, path.child('kind')));
  if (metadata !== undefined) errors.push(...validateMetadata(metadata, path.child('metadata')));
  return errors;
}

function validateApiVersion(value: JsonValue, path: FieldPath): FieldError[] {
  if (typeof value !== 'string') return [invalid(path, value, 'must be a string')];
  if (value === '') return [invalid(path, value, 'must not be empty')];
  if (parseGroupVersion(value) !== undefined) return [];
  return [invalid(path, value, `unexpected GroupVersion string: ${value}`)];
}

function validateKind(value: JsonValue, path: FieldPath): FieldError[] {
  if (typeof value !== 'string') return [invalid(path, value, 'must be a string')];
  if (value === '') return [invalid(path, value, 'must not be empty')];
  const faults = isDns1035Label(value.toLowerCase());
  if (faults.length === 0) return [];
  return [invalid(path, value, `may have mixed case, but should otherwise match: ${faults.join(',')}`)];
}

function validateMetadata(value: JsonValue, path: FieldPath): FieldError[] {
  try {
    const meta: ObjectMeta = readMetadata(value, 'throw');
    const named = meta.name === undefined ? { ...meta, name: 'fakename' } : meta;
    return validateObjectMeta(named, meta.namespace === undefined ? 'Cluster' : 'Namespaced', nameIsPathSegment, path);
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    return [invalid(path, value, error.message)];
  }
}
