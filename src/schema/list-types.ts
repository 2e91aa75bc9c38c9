import { type FieldError, duplicate, invalid } from '../apimachinery/meta/field-error.js';
import { isObject, type JsonObject, type JsonValue } from '../apimachinery/json/json.js';
import type { SchemaNode } from './node.js';
import { keyOf } from './ratchet.js';

/** Returns the duplicates in lists that are sets or maps. Paths are strings, built only on the way to such lists. */
export function validateListTypes(object: JsonObject, node: SchemaNode): FieldError[] {
  const errors: FieldError[] = [];
  if (node.hasListTypes) walkObject(object, node, '', errors);
  return errors;
}

function walk(value: JsonValue | undefined, node: SchemaNode, path: string, errors: FieldError[]): void {
  if (!node.hasListTypes || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) walkArray(value, node, path, errors);
  else walkObject(value, node, path, errors);
}

function walkObject(value: JsonObject, node: SchemaNode, path: string, errors: FieldError[]): void {
  const { additional } = node;
  if (typeof additional === 'object' && additional.hasListTypes) {
    for (const key in value) walk(value[key], additional, `${path}[${key}]`, errors);
  }
  for (const { key, node: child } of node.listTypesBelow) {
    const member = value[key];
    if (member !== undefined) walk(member, child, path === '' ? key : `${path}.${key}`, errors);
  }
}

function walkArray(value: JsonValue[], node: SchemaNode, path: string, errors: FieldError[]): void {
  if (node.listType === 'set') {
    for (const index of repeated(value.map(identity))) errors.push(duplicate(at(path, index), value[index]));
  } else if (node.listType === 'map') checkMap(value, node.listMapKeys, path, errors);
  if (node.items?.hasListTypes !== true) return;
  for (let i = 0; i < value.length; i++) walk(value[i], node.items, at(path, i), errors);
}

function checkMap(value: readonly JsonValue[], keys: readonly string[], path: string, errors: FieldError[]): void {
  const wrong = value.findIndex((item) => item !== null && !isObject(item));
  if (wrong >= 0) {
    errors.push(invalid(at(path, wrong), value[wrong], 'must be an object for an array of list-type map'));
    return;
  }
  if (value.length < 2) return;
  const identities = value.map((item) => keyOf(keys, isObject(item) ? item : {}));
  for (const index of repeated(identities)) {
    const item = value[index];
    const key: JsonObject = {};
    for (const name of keys) if (isObject(item) && Object.hasOwn(item, name)) key[name] = item[name];
    errors.push(duplicate(at(path, index), key));
  }
}

const at = (path: string, index: number): string => `${path}[${String(index)}]`;

const identity = (value: JsonValue): string => keyOf(['value'], { value });

/** Returns the index of the second occurrence of each text that occurs more than once. */
function repeated(texts: readonly string[]): number[] {
  const seen = new Map<string, boolean>();
  const found: number[] = [];
  for (const [index, text] of texts.entries()) {
    const reported = seen.get(text);
    if (reported === undefined) seen.set(text, false);
    else if (!reported) {
      seen.set(text, true);
      found.push(index);
    }
  }
  return found;
}
