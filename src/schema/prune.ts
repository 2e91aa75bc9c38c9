import { type JsonObject, type JsonValue, isObject } from '../apimachinery/json/json.js';
import { compareUtf8 } from '../apimachinery/meta/meta.js';
import type { Role, SchemaNode } from './node.js';

/** The maximum number of unknown fields, and of their characters, that are listed for one object; a last entry counts the rest. */
const MAX_PATHS = 10_000;
const MAX_PATH_CHARACTERS = 1 << 20;

/** The position of a walk, and the unknown fields it has found. */
class Trail {
  readonly path: (string | number)[] = [];
  readonly found: string[] = [];
  /** True if a null was removed. */
  removedNulls = false;
  private characters = 0;
  private omitted = 0;

  readonly collect: boolean;
  /** True if nulls are removed, too. */
  readonly nulls: boolean;

  constructor({ collect, nulls }: Pick<Trail, 'collect' | 'nulls'>) {
    this.collect = collect;
    this.nulls = nulls;
  }

  record(key: string): void {
    if (this.found.length >= MAX_PATHS || this.characters > MAX_PATH_CHARACTERS) {
      this.omitted++;
      return;
    }
    let text = '';
    for (const segment of this.path) {
      if (typeof segment === 'number') text += `[${String(segment)}]`;
      else text += text === '' ? segment : `.${segment}`;
    }
    text += text === '' ? key : `.${key}`;
    this.characters += text.length;
    this.found.push(text);
  }

  sorted(): readonly string[] {
    this.found.sort(compareUtf8);
    if (this.omitted > 0) this.found.push(`… and ${String(this.omitted)} more`);
    return this.found;
  }
}

export const isMetaField = (key: string): boolean => key === 'metadata' || key === 'kind' || key === 'apiVersion';

/**
 * Removes, in place and in one walk, unknown fields, and nulls of fields that are neither nullable nor have a default. Leaves
 * apiVersion, kind and metadata of a resource alone. Returns the sorted paths of the unknown fields.
 */
export function pruneObject(object: JsonValue, node: SchemaNode, collect: boolean): readonly string[] {
  const trail = new Trail({ collect, nulls: true });
  if (isObject(object)) pruneResource(object, node, trail);
  else prune(object, node, trail);
  return trail.sorted();
}

/** Like pruneObject, without the list of paths. Returns whether nulls were removed. */
export function pruneStored(object: JsonObject, node: SchemaNode): boolean {
  const trail = new Trail({ collect: false, nulls: true });
  pruneResource(object, node, trail);
  return trail.removedNulls;
}

/** Removes only unknown fields. */
export function pruneUnknown(value: JsonValue, node: SchemaNode, role: Role): void {
  const trail = new Trail({ collect: false, nulls: false });
  if (role === 'resource' && isObject(value)) pruneResource(value, node, trail);
  else prune(value, node, trail);
}

function prune(value: JsonValue | undefined, node: SchemaNode | undefined, trail: Trail): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    // Items of a field that preserves unknown fields preserve theirs, too.
    const items = node?.items;
    const depth = trail.path.length;
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      if (typeof item !== 'object' || item === null) continue;
      trail.path[depth] = i;
      if (node?.preserve === true) keep(item, items, trail);
      else prune(item, items, trail);
    }
    trail.path.length = depth;
  } else if (node === undefined) {
    for (const key in value) {
      if (trail.collect && value[key] !== undefined) trail.record(key);
      delete value[key];
    }
  } else members(value, node, node.embedded, node.preserve, trail);
}

/** Prunes below a field that preserves unknown fields, where only specified fields are pruned further. */
function keep(value: JsonValue, node: SchemaNode | undefined, trail: Trail): void {
  if (node === undefined || typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) {
    members(value, node, node.embedded, true, trail);
    return;
  }
  const depth = trail.path.length;
  for (let i = 0; i < value.length; i++) {
    trail.path[depth] = i;
    keep(value[i] as JsonValue, node.items, trail);
  }
  trail.path.length = depth;
}

/** Prunes a whole object, which has apiVersion, kind and metadata. */
function pruneResource(object: JsonObject, node: SchemaNode, trail: Trail): void {
  members(object, node, true, node.preserve, trail);
}

function members(value: JsonObject, node: SchemaNode, isResource: boolean, preserve: boolean, trail: Trail): void {
  const { properties, additional } = node;
  const depth = trail.path.length;
  for (const key in value) {
    const child = properties?.get(key) ?? (typeof additional === 'object' ? additional : undefined);
    const member = value[key];
    if (trail.nulls && member === null && child !== undefined && !child.nullable && child.defaultValue === undefined) {
      trail.removedNulls = true;
      delete value[key];
      continue;
    }
    if (isResource && isMetaField(key)) {
      if (trail.nulls && child !== undefined) pruneNulls(member, child);
      continue;
    }
    if (child !== undefined || additional !== undefined) {
      if (typeof member !== 'object' || member === null) continue;
      trail.path[depth] = key;
      prune(member, child, trail);
      trail.path.length = depth;
    } else if (!preserve) {
      if (trail.collect && member !== undefined) trail.record(key);
      delete value[key];
    }
  }
}

/** Removes only nulls. Used for metadata, whose unknown fields another layer handles. */
function pruneNulls(value: JsonValue | undefined, node: SchemaNode | undefined): void {
  if (node === undefined || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) pruneNulls(item, node.items);
    return;
  }
  for (const key in value) {
    const { additional } = node;
    const child = node.properties?.get(key) ?? (typeof additional === 'object' ? additional : undefined);
    if (value[key] === null && child !== undefined && !child.nullable && child.defaultValue === undefined)
      delete value[key];
    else pruneNulls(value[key], child);
  }
}
