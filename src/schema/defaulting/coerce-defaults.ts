import { deepCopy, isObject } from '../../apimachinery/json/json.js';
import { coerceEmbedded } from '../embedded.js';
import type { JsonSchemaProps } from '../interfaces.js';
import { type Role, SchemaNode } from '../node.js';
import { isMetaField } from '../prune.js';

/** Coerces the metadata in defaults of embedded objects in place, so that unknown metadata fields are not stored. */
export function coerceDefaults(schema: JsonSchemaProps): void {
  coerce(schema, new SchemaNode(schema, { bare: true }), 'resource');
}

function coerce(schema: JsonSchemaProps, node: SchemaNode, role: Role, insideOuterMeta = false): void {
  const isResource = node.embedded || role === 'resource';
  const insideMeta = insideOuterMeta && !isResource;
  if (node.defaultValue !== undefined && !insideMeta) {
    const value = deepCopy(node.defaultValue);
    if (coerceEmbedded(value, node, isResource ? 'resource' : 'part', { onWrongType: 'throw' }) === undefined)
      schema['default'] = value;
  }
  const { items } = schema;
  if (isObject(items) && node.items !== undefined) coerce(items, node.items, 'part', insideMeta);
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  for (const [key, child] of node.properties ?? []) {
    const property = properties[key];
    if (isObject(property)) coerce(property, child, 'part', insideMeta || (isResource && isMetaField(key)));
  }
}
