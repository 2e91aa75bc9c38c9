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

type Visit<Context> = (object: JsonObject, path: FieldPath, context: Context) => FieldError | undefined;

/**
 * Visits the embedded objects in a value, outer ones first, until `visit` returns an error. Parts of the schema without embedded objects
 * are skipped. A value with the role `resource` counts as embedded itself.
 */
function visitEmbedded<Context>(
  value: JsonValue | undefined,
  node: SchemaNode,
  role: Role,
  path: FieldPath,
  visit: Visit<Context>,
  context: Context,
): FieldError | undefined {
  const isResource = role === 'resource';
  if (!(node.hasEmbedded || isResource) || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    if (node.items === undefined) return undefined;
    for (const [i, item] of value.entries()) {
      const error = visitEmbedded(item, node.items, 'part', path.index(i), visit, context);
      if (error !== undefined) return error;
    }
    return undefined;
  }
  if (value instanceof Float) return undefined;
  if (node.embedded || isResource) {
    const error = visit(value, path, context);
    if (error !== undefined) return error;
  }
  for (const { key, node: child } of node.embeddedBelow) {
    const error = visitEmbedded(value[key], child, 'part', path.child(key), visit, context);
    if (error !== undefined) return error;
  }
  if (typeof node.additional !== 'object' || !node.additional.hasEmbedded) return undefined;
  for (const key in value) {
    const error = visitEmbedded(value[key], node.additional, 'part', path.key(key), visit, context);
    if (error !== undefined) return error;
  }
  return undefined;
}

/** Coerces the metadata of embedded objects in place: unknown and empty fields are dropped. Returns the first error. */
export function coerceEmbedded(
  value: JsonValue | undefined,
  node: SchemaNode,
  role: Role,
  options: CoerceOptions,
  path: FieldPath = FieldPath.empty,
): FieldError | undefined {
  return visitEmbedded(value, node, role, path, coerceResource, options);
}

function coerceResource(value: JsonObject, path: FieldPath, options: CoerceOptions): FieldError | undefined {
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
  const errors: FieldError[] = [];
  visitEmbedded(value, node, role, path, validateResource, errors);
  return errors;
}

function validateResource(value: JsonObject, path: FieldPath, errors: FieldError[]): undefined {
  const { apiVersion, kind, metadata } = value;
  if (apiVersion === undefined) errors.push(required(path.child('apiVersion')));
  if (kind === undefined) errors.push(required(path.child('kind')));
  if (apiVersion !== undefined) errors.push(...validateApiVersion(apiVersion, path.child('apiVersion')));
  if (kind !== undefined) errors.push(...validateKind(kind, path.child('kind')));
  if (metadata !== undefined) errors.push(...validateMetadata(metadata, path.child('metadata')));
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
