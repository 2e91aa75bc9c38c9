import { type JsonObject, type JsonValue, deepCopy } from '../../apimachinery/json/json.js';
import { coerceEmbedded } from '../embedded.js';
import type { DefaultsBound } from '../interfaces.js';
import type { SchemaNode } from '../node.js';
import { pruneUnknown } from '../prune.js';

/**
 * Sets defaults in place, for fields that are missing, or null without being nullable. Parts of the schema without defaults are
 * skipped. `pruned` holds the defaults that are set, which may be less than those in the schema.
 */
export function applyDefaults(value: JsonValue | undefined, node: SchemaNode, pruned: DefaultValues): void {
  if (!node.hasDefaults || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return;
    for (let i = 0; i < value.length; i++) {
      if (value[i] === null && !items.nullable && items.defaultValue !== undefined) value[i] = pruned.copy(items);
      if (items.hasDefaults) applyDefaults(value[i], items, pruned);
    }
    return;
  }
  for (const { key, node: child } of node.defaulted) {
    const member = value[key];
    if (member === undefined || typeof member === 'function' || (member === null && !child.nullable)) {
      value[key] = pruned.copy(child);
    }
  }
  for (const { key, node: child } of node.defaultsBelow) applyDefaults(value[key], child, pruned);
  if (typeof node.additional === 'object') defaultAdditional(value, node, node.additional, pruned);
}

function defaultAdditional(value: JsonObject, node: SchemaNode, child: SchemaNode, pruned: DefaultValues): void {
  for (const key in value) {
    if (node.properties?.has(key) === true) continue;
    if (value[key] === null && !child.nullable && child.defaultValue !== undefined) value[key] = pruned.copy(child);
    if (child.hasDefaults) applyDefaults(value[key], child, pruned);
  }
}

const NO_DEFAULTS: DefaultsBound = { once: 0, perItem: 0 };

/** Returns how many values defaults can add to an object, found by one walk over the parts of the schema that have defaults. */
export function boundOfDefaults(node: SchemaNode): DefaultsBound {
  if (!node.hasDefaults) return NO_DEFAULTS;
  let once = 0;
  let perItem = 0;
  const bounds = new Map<SchemaNode, DefaultsBound>();
  for (const { node: child } of node.defaultsBelow) {
    const below = boundOfDefaults(child);
    bounds.set(child, below);
    once += below.once;
    perItem = Math.max(perItem, below.perItem);
  }
  for (const { node: child } of node.defaulted) once += grownDefault(child, bounds.get(child) ?? NO_DEFAULTS);
  for (const item of [node.items, node.additional]) {
    if (typeof item !== 'object') continue;
    const below = boundOfDefaults(item);
    perItem = Math.max(perItem, below.perItem, below.once + grownDefault(item, below));
  }
  return { once, perItem };
}

/** Returns the number of parts of a node's default, including those that its items get in turn. */
function grownDefault({ defaultValue }: SchemaNode, { perItem }: DefaultsBound): number {
  if (defaultValue === undefined) return 0;
  let parts = 0;
  let objects = 0;
  const count = (value: JsonValue): void => {
    parts++;
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) objects++;
    for (const member of Object.values(value)) if (member !== undefined) count(member);
  };
  count(defaultValue);
  return parts + objects * perItem;
}

/** Removes from a default, in place, the fields that are unknown to its own schema and to the metadata of embedded objects. */
export function pruneDefault(value: JsonValue, node: SchemaNode): void {
  pruneUnknown(value, node, node.embedded ? 'resource' : 'part');
  coerceEmbedded(value, node, 'part', { onWrongType: 'drop' });
}

/** The defaults of a schema as they are set, after pruning. Computed on first use. */
export class DefaultValues {
  private readonly values = new Map<SchemaNode, JsonValue>();

  /** `settled`: nodes whose defaults are used unchanged. */
  constructor(settled: Iterable<SchemaNode>) {
    for (const node of settled) this.values.set(node, node.defaultValue as JsonValue);
  }

  copy(node: SchemaNode): JsonValue {
    const known = node.defaultValue as JsonValue;
    if (typeof known !== 'object' || known === null) return known;
    let value = this.values.get(node);
    if (value === undefined) {
      value = deepCopy(known);
      pruneDefault(value, node);
      this.values.set(node, value);
    }
    return deepCopy(value);
  }
}
