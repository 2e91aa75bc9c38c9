import {
  deepCopy,
  deepEqual,
  isObject,
  type JsonObject,
  type JsonValue,
  stringAt,
} from '../../../apimachinery/json/json.js';
import { CompiledSchema } from '../../../schema/compile.js';
import { type Notes, Refusal } from '../conversion.js';
import type { CustomType, DefinedVersion } from './definitions.js';

const compiled = new WeakMap<JsonObject, CompiledSchema>();

function schemaOf(version: DefinedVersion | undefined): CompiledSchema | undefined {
  const schema = version?.schema;
  if (schema === undefined) return undefined;
  let known = compiled.get(schema);
  if (known === undefined) compiled.set(schema, (known = new CompiledSchema(schema)));
  return known;
}

/** Converts a custom resource in place by its definition, as a server would. Throws a Refusal. */
export function convertCustomResource(
  object: JsonObject,
  type: CustomType,
  target: DefinedVersion,
  notes: Notes,
): void {
  const { group } = type;
  const to = `${group}/${target.name}`;
  if (type.webhook)
    throw new Refusal(
      `the definition of ${type.kind}.${group} uses a conversion webhook, which only a server can call`,
    );
  const current = (stringAt(object, 'apiVersion') ?? '').slice(group.length + 1);
  const before = type.versions.find(({ name }) => name === current);
  if (before === undefined)
    notes.warn(`the definition no longer has version ${current}: the defaults of that version are not made explicit`);
  const after = schemaOf(target);
  const old = schemaOf(before);
  const added = old === undefined || after === undefined ? undefined : withDefaults(object, old, after);
  object['apiVersion'] = to;
  if (after === undefined) return;
  const lost = type.preserves ? [] : after.prune(object, 'collect');
  if (lost.length > 0) notes.lose(`${lost.join(', ')} ${lost.length === 1 ? 'has' : 'have'} no equivalent in ${to}`);
  if (added !== undefined) {
    takeOver(object, added);
    if (!type.preserves) after.pruneUnknown(object);
  }
  checkValid(object, after, to);
}

/** Returns the defaults of the old version that the new one does not add. */
function withDefaults(object: JsonObject, old: CompiledSchema, after: CompiledSchema): JsonObject {
  const before = deepCopy(object);
  old.applyDefaults(before);
  const later = deepCopy(object);
  after.applyDefaults(later);
  return difference(object, before, later);
}

function difference(object: JsonObject, before: JsonObject, later: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(before)) {
    const mine = object[key];
    const other = later[key];
    if (mine === undefined) {
      if (!deepEqual(value, other)) out[key] = value;
    } else if (isObject(mine) && isObject(value) && isObject(other)) {
      const inner = difference(mine, value, other);
      if (Object.keys(inner).length > 0) out[key] = inner;
    } else if (Array.isArray(mine) && Array.isArray(value) && Array.isArray(other)) {
      const items = mine.map((item, i) => differenceOfItem(item, value[i], other[i]));
      // Empty objects add nothing.
      if (items.some((item) => Object.keys(item).length > 0)) out[key] = items;
    }
  }
  return out;
}

const differenceOfItem = (item: JsonValue, before: JsonValue | undefined, later: JsonValue | undefined): JsonObject =>
  isObject(item) && isObject(before) && isObject(later) ? difference(item, before, later) : {};

function takeOver(object: JsonObject, added: JsonObject): void {
  for (const [key, value] of Object.entries(added)) {
    const mine = object[key];
    if (mine === undefined) object[key] = value;
    else if (isObject(mine) && isObject(value)) takeOver(mine, value);
    else if (Array.isArray(mine) && Array.isArray(value)) {
      mine.forEach((item, i) => {
        const more = value[i];
        if (isObject(item) && isObject(more)) takeOver(item, more);
      });
    }
  }
}

function checkValid(object: JsonObject, schema: CompiledSchema, to: string): void {
  const filled = deepCopy(object);
  schema.applyDefaults(filled);
  const [error, ...more] = schema.validate(filled, {});
  if (error === undefined) return;
  const rest = more.length === 0 ? '' : ` (and ${String(more.length)} more)`;
  throw new Refusal(`${to} does not accept it: ${error.toString()}${rest}`);
}
