import { type JsonObject, type JsonValue, deepCopy, deepEqual, isObject } from '../../apimachinery/json/json.js';
import { coerceEmbedded } from '../embedded.js';
import type { JsonSchemaProps } from '../interfaces.js';
import type { SchemaNode } from '../node.js';
import { isMetaField, pruneUnknown } from '../prune.js';

/** The path from the root to a default: property names, and ITEM for the item of a list. */
type Path = readonly (string | typeof ITEM)[];

const ITEM = Symbol('item');

/** The name that stands for additional properties in the object. */
const ADDITIONAL = '*';

/**
 * Returns the schema with the defaults in metadata, apiVersion and kind as objects get them: fields that these cannot hold are
 * not set. The schema alone does not determine this, because metadata has more fields than the schema names, but none beyond
 * those of ObjectMeta. Therefore each such default is placed in an otherwise empty object, and what remains of it there is used.
 * Without such defaults, the same schema is returned.
 */
export function normalizeMetadataDefaults(schema: JsonSchemaProps, root: SchemaNode): JsonSchemaProps {
  return new MetadataDefaultsNormalizer(root).below(schema, root, [], { isResource: true, insideMeta: false });
}

/** Yields the nodes that have a default in metadata, apiVersion and kind, of the object itself and of embedded ones. */
export function* defaultsInMetadata(
  node: SchemaNode,
  isResource = true,
  insideMeta = false,
): Generator<SchemaNode, void, undefined> {
  if (insideMeta && node.defaultValue !== undefined) yield node;
  if (!node.hasDefaults || !(isResource || insideMeta || node.hasEmbedded)) return;
  for (const [key, child] of node.properties ?? []) {
    yield* defaultsInMetadata(child, child.embedded, insideMeta || (isResource && isMetaField(key)));
  }
  for (const child of [node.items, node.additional]) {
    if (typeof child === 'object') yield* defaultsInMetadata(child, child.embedded, insideMeta);
  }
}

/**
 * The position of a schema: whether it is a whole object, the outermost or an embedded one, and whether it belongs to the
 * metadata, apiVersion or kind of one.
 */
interface Where {
  readonly isResource: boolean;
  readonly insideMeta: boolean;
}

class MetadataDefaultsNormalizer {
  constructor(private readonly root: SchemaNode) {}

  below(schema: JsonObject, node: SchemaNode, path: Path, where: Where): JsonObject {
    const { isResource, insideMeta } = where;
    if (!node.hasDefaults || !(isResource || insideMeta || node.hasEmbedded)) return schema;
    const changed: JsonObject = {};
    const { items, additionalProperties, properties } = schema;
    if (isObject(items) && node.items !== undefined) {
      const settled = this.child(items, node.items, [...path, ITEM], insideMeta);
      if (settled !== items) changed['items'] = settled;
    }
    if (isObject(additionalProperties) && typeof node.additional === 'object') {
      const settled = this.child(additionalProperties, node.additional, [...path, ADDITIONAL], insideMeta);
      if (settled !== additionalProperties) changed['additionalProperties'] = settled;
    }
    if (isObject(properties)) {
      const settled = this.members(properties, node, path, where);
      if (settled !== properties) changed['properties'] = settled;
    }
    return Object.keys(changed).length === 0 ? schema : { ...schema, ...changed };
  }

  private members(properties: JsonObject, node: SchemaNode, path: Path, { isResource, insideMeta }: Where): JsonObject {
    let settled = properties;
    for (const [key, child] of node.properties ?? []) {
      const property = properties[key];
      if (!isObject(property)) continue;
      const after = this.child(property, child, [...path, key], insideMeta || (isResource && isMetaField(key)));
      if (after !== property) settled = { ...settled, [key]: after };
    }
    return settled;
  }

  private child(schema: JsonObject, node: SchemaNode, path: Path, insideMeta: boolean): JsonObject {
    const settled = insideMeta ? this.normalizeDefault(schema, node, path) : schema;
    return this.below(settled, node, path, { isResource: node.embedded, insideMeta });
  }

  private normalizeDefault(schema: JsonObject, { defaultValue }: SchemaNode, path: Path): JsonObject {
    if (defaultValue === undefined) return schema;
    const object = wrapAtPath(deepCopy(defaultValue), path);
    coerceEmbedded(object, this.root, 'resource', { onWrongType: 'drop' });
    pruneUnknown(object, this.root, 'resource');
    const left = follow(object, path);
    if (deepEqual(left, defaultValue)) return schema;
    const { default: _, ...rest } = schema;
    return left === undefined ? rest : { ...rest, default: left };
  }
}

function wrapAtPath(value: JsonValue, path: Path): JsonValue {
  return path.reduceRight<JsonValue>((inner, step) => (step === ITEM ? [inner] : { [step]: inner }), value);
}

function follow(object: JsonValue, path: Path): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const step of path) {
    if (step === ITEM) value = Array.isArray(value) ? value[0] : undefined;
    else value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}
