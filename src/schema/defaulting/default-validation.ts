import { type FieldError, type FieldPath, aggregate, invalid } from '../../apimachinery/meta/field-error.js';
import { type JsonObject, type JsonValue, deepCopy, deepEqual, isObject } from '../../apimachinery/json/json.js';
import { pruneDefault } from './defaults.js';
import { coerceEmbedded, validateEmbedded } from '../embedded.js';
import type { JsonSchemaProps } from '../interfaces.js';
import { normalizeMetadataDefaults } from './metadata-defaults.js';
import { type Role, SchemaNode } from '../node.js';
import { isMetaField, pruneUnknown } from '../prune.js';
import { validateValue } from '../validate.js';

export interface DefaultValidationOptions {
  /** True if defaults must not have unknown fields. */
  readonly requirePruned: boolean;
  /** Runs the rules of the schema at a path on its default. */
  readonly validateRules?:
    ((schema: JsonSchemaProps, value: JsonValue, path: FieldPath) => readonly FieldError[]) | undefined;
}

const UNKNOWN = 'must not have unknown fields';

/** Wraps a value in the object in which a default of metadata can be validated. */
type Wrapper = (value: JsonValue) => JsonValue;

const asResource: Wrapper = (value) =>
  isObject(value) ? { kind: 'Validation', apiVersion: 'validation/v1', ...value } : value;

interface Place {
  readonly root: SchemaNode;
  readonly wrap: Wrapper;
  /** True if the schema is apiVersion, kind or metadata, or below one of them. */
  readonly insideMeta: boolean;
}

/** Checks that the defaults of a schema are valid against the schema itself. */
export function validateDefaults(
  schema: JsonSchemaProps,
  path: FieldPath,
  options: DefaultValidationOptions,
): FieldError[] {
  const root = new SchemaNode(schema, { bare: true });
  const errors: FieldError[] = [];
  const place = { root, wrap: asResource, insideMeta: false };
  new Defaults(options, errors).walk(schema, root, path, place, 'resource');
  return errors;
}

class Defaults {
  constructor(
    private readonly options: DefaultValidationOptions,
    private readonly errors: FieldError[],
  ) {}

  walk(schema: JsonObject, node: SchemaNode, path: FieldPath, outer: Place, outerRole: Role): void {
    const role = node.embedded ? 'resource' : outerRole;
    const isResource = role === 'resource';
    const place = isResource ? { root: node, wrap: asResource, insideMeta: false } : outer;
    if (node.defaultValue !== undefined)
      this.check(schema, node, node.defaultValue, path.child('default'), place, role);
    const { items } = schema;
    const itemPlace = { ...place, wrap: (value: JsonValue) => place.wrap([value]) };
    if (isObject(items) && node.items !== undefined)
      this.walk(items, node.items, path.child('items'), itemPlace, 'part');
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    for (const [key, child] of node.properties ?? []) {
      const below = {
        root: place.root,
        wrap: (value: JsonValue) => place.wrap({ [key]: value }),
        insideMeta: place.insideMeta || (isResource && isMetaField(key)),
      };
      const property = properties[key];
      if (isObject(property)) this.walk(property, child, path.child('properties').key(key), below, 'part');
    }
  }

  private check(
    schema: JsonObject,
    node: SchemaNode,
    value: JsonValue,
    path: FieldPath,
    place: Place,
    role: Role,
  ): void {
    const before = this.errors.length;
    // Outside metadata, the default is validated, and quoted in errors, with its embedded metadata coerced.
    const read = place.insideMeta ? value : deepCopy(value);
    if (place.insideMeta) this.checkMetadata(value, path, place);
    else this.checkStructure(node, value, read, path, role);
    if (this.errors.some((error, i) => i >= before && error.detail !== UNKNOWN)) return;
    const count = this.errors.length;
    this.errors.push(...validateValue(node, read, path.toString()));
    if (this.errors.length > count) return;
    this.errors.push(...(this.options.validateRules?.(schema, read, path) ?? []));
  }

  /** Checks that a default inside metadata results in valid metadata. */
  private checkMetadata(value: JsonValue, path: FieldPath, place: Place): void {
    const object = deepCopy(place.wrap(value));
    const failure = coerceEmbedded(object, place.root, 'resource', { onWrongType: 'throw' });
    const faults = failure === undefined ? validateEmbedded(object, place.root, 'resource') : [failure];
    if (faults.length > 0) {
      this.errors.push(invalid(path, value, `must result in valid metadata: ${aggregate(faults)}`));
    }
  }

  /** Reports unknown fields, and of other errors the first kind found. Coerces `read` in place. */
  private checkStructure(node: SchemaNode, value: JsonValue, read: JsonValue, path: FieldPath, role: Role): void {
    const failure = coerceEmbedded(read, node, role, { onWrongType: 'throw' }, path);
    if (this.options.requirePruned) {
      const pruned = deepCopy(value);
      pruneUnknown(pruned, node, role);
      if (!deepEqual(pruned, value)) this.errors.push(invalid(path, read, UNKNOWN));
    }
    if (failure !== undefined) this.errors.push(failure);
    else this.errors.push(...validateEmbedded(read, node, role, path));
  }
}

/** Reports whether a schema has defaults with fields that are unknown to the schema itself, or that metadata cannot have. */
export function hasUnprunedDefaults(schema: JsonSchemaProps): boolean {
  const check = (node: SchemaNode, isResource: boolean): boolean => {
    if (node.defaultValue !== undefined) {
      const pruned = deepCopy(node.defaultValue);
      pruneDefault(pruned, node);
      if (!deepEqual(pruned, node.defaultValue)) return true;
    }
    for (const [key, child] of node.properties ?? []) {
      if (!(isResource && isMetaField(key)) && check(child, child.embedded)) return true;
    }
    return [node.items, node.additional].some((child) => typeof child === 'object' && check(child, child.embedded));
  };
  const root = new SchemaNode(schema);
  return check(root, true) || normalizeMetadataDefaults(schema, root) !== schema;
}
