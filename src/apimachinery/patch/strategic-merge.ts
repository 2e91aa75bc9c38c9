import { decodeDetailed, duplicateFieldErrors, goKind, JsonError } from '../json/decode.js';
import { type ApiError, newBadRequest } from '../meta/errors.js';
import { goFormat, goTypeName } from '../json/go-format.js';
import { deepCopy, Float, isObject, type JsonObject, type JsonValue } from '../json/json.js';
import type { FloatLiterals } from '../json/parser.js';
import { quote } from '../meta/meta.js';
import { dereference, type GoType } from '../scheme/types.js';
import { DELETE_PREFIX, DIRECTIVE, ORDER_PREFIX, RETAIN_KEYS } from './directives.js';
import { badArgument, internal, NO_TYPE, noMergeKey, unprocessable } from './errors.js';
import type { DecodedPatch } from './json-patch.js';
import { inOrder, keyValue, validateOrder } from './list-order.js';

const badPrimitiveList = (): ApiError => newBadRequest('invalid patch format of primitive list');
const badRetainKeys = (): ApiError => newBadRequest('invalid patch format of retainKeys');
const badElementOrder = (): ApiError => newBadRequest('invalid patch format of setElementOrder list');

/** Decodes a strategic merge patch. Throws ApiError. */
export function decodeStrategicMergePatch(body: Uint8Array | string, strict: boolean): DecodedPatch<JsonObject> {
  let decoded;
  try {
    decoded = decodeDetailed(body, { strict });
  } catch (error) {
    if (error instanceof JsonError) throw newBadRequest(error.message);
    throw error;
  }
  const { value } = decoded;
  if (value === null) return { patch: {}, strictErrors: [] };
  if (!isObject(value)) {
    throw newBadRequest(`json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`);
  }
  if (decoded.floats !== undefined) markFloats(decoded.floats);
  return { patch: value, strictErrors: duplicateFieldErrors(decoded.duplicates) };
}

/** Replaces whole floats with Float objects, one per value, so that they equal each other but no integer. */
function markFloats(literals: FloatLiterals): void {
  const floats = new Map<number, Float>();
  for (const [holder, members] of literals) {
    for (const key of members.keys()) {
      const value = (holder as JsonObject)[key];
      if (typeof value !== 'number' || !Number.isSafeInteger(value)) continue;
      const float = floats.get(value) ?? new Float(value);
      floats.set(value, float);
      // For the type checker it is a number, which trees may contain.
      (holder as JsonObject)[key] = float as unknown as number;
    }
  }
}

/** The patch strategy of a field, and the type of its value (for lists, of their elements). */
interface FieldMeta {
  readonly strategy: string;
  readonly mergeKey: string;
  readonly type: GoType;
}

function lookup(type: GoType, key: string): FieldMeta {
  const struct = type.kind === 'ptr' && type.elem !== undefined ? type.elem : type;
  if (struct.kind !== 'struct') {
    throw internal(`merging an object in json but data type is not struct, instead is: ${reflectKind(struct)}`);
  }
  let field = struct.fields.get(key);
  if (field === undefined) {
    const folded = key.toLowerCase();
    for (const candidate of struct.fields.values()) if (candidate.name.toLowerCase() === folded) field ??= candidate;
  }
  if (field === undefined) {
    throw internal(`unable to find api field in struct ${struct.name} for the json field ${quote(key)}`);
  }
  const strategy = field.patchStrategies.find((name) => name !== 'retainKeys') ?? '';
  return { strategy, mergeKey: field.patchMergeKey, type: field.type };
}

function lookupList(type: GoType, key: string): FieldMeta {
  const meta = lookup(type, key);
  const list = meta.type.kind === 'ptr' ? dereference(meta.type) : meta.type;
  if (list.kind === 'slice' && list.elem !== undefined) {
    if (list.elem.kind === 'slice') throw internal('unexpected slice of slice');
    return { ...meta, type: list.elem };
  }
  if (meta.type.kind === 'ptr') return { ...meta, type: list };
  throw internal(`expected slice or array type, but got: ${reflectKind(type)}`);
}

/** Returns Go's kind of a type. Types with a decoder of their own are structs. */
function reflectKind(type: GoType): string {
  if (type.kind === 'custom') return 'struct';
  if (type.kind === 'bytes') return 'slice';
  return type.kind;
}

/** Drops nulls from a value that has nothing to be merged with. Modifies it in place. */
function discardNulls(value: JsonValue): void {
  if (Array.isArray(value)) value.forEach(discardNulls);
  else if (isObject(value)) {
    for (const key in value) {
      const member = value[key];
      if (member === null) delete value[key];
      else if (member !== undefined) discardNulls(member);
    }
  }
}

/** Returns the value without the maps that carry a directive; undefined if it is such a map itself. */
function removeDirectives(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) return value.map(removeDirectives).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, DIRECTIVE)) return undefined;
  for (const key in value) {
    const kept = removeDirectives(value[key] ?? null);
    if (kept === undefined) delete value[key];
    else value[key] = kept;
  }
  return value;
}

/** Returns the rest of a directive's key after its prefix and a slash. */
function listName(key: string, prefix: string, error: () => ApiError): string {
  const slash = key.indexOf('/');
  if (slash < 0 || key.slice(0, slash) !== prefix) throw error();
  return key.slice(slash + 1);
}

function mergeMap(original: JsonObject, patch: JsonObject, type: GoType): JsonObject {
  if (Object.hasOwn(patch, DIRECTIVE)) return replaceMap(patch);
  retainKeys(original, patch);
  mergeOrderedLists(original, patch, type);
  // Deletions come first, so that what a patch both deletes and adds is present afterwards.
  const keys = Object.keys(patch).sort(
    (a, b) => Number(b.startsWith(DELETE_PREFIX)) - Number(a.startsWith(DELETE_PREFIX)),
  );
  for (const patchKey of keys) {
    const isDeleteList = patchKey.startsWith(DELETE_PREFIX);
    const key = isDeleteList ? listName(patchKey, DELETE_PREFIX, badPrimitiveList) : patchKey;
    mergeField(original, key, patch[patchKey] ?? null, isDeleteList, type);
  }
  return original;
}

function replaceMap(patch: JsonObject): JsonObject {
  const directive = patch[DIRECTIVE];
  if (directive === 'replace') {
    delete patch[DIRECTIVE];
    return patch;
  }
  if (directive === 'delete') return {};
  throw internal(`unknown patch type: ${formatVerbS(directive)} in map: ${goFormat(patch)}`);
}

/** Formats a value that should have been a string as Go's `%s` does. */
function formatVerbS(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return NO_TYPE;
  return `%!s(${goTypeName(value)}=${goFormat(value)})`;
}

function mergeField(original: JsonObject, key: string, value: JsonValue, isDeleteList: boolean, type: GoType): void {
  if (value === null) {
    delete original[key];
    return;
  }
  const current = Object.hasOwn(original, key) ? original[key] : undefined;
  if (current === undefined || goTypeName(current) !== goTypeName(value)) {
    if (isDeleteList) return;
    discardNulls(value);
    setOrDelete(original, key, removeDirectives(value));
  } else if (isObject(current) && isObject(value)) {
    const meta = lookup(type, key);
    original[key] = meta.strategy === 'replace' ? value : mergeMap(current, value, meta.type);
  } else if (Array.isArray(current) && Array.isArray(value)) {
    original[key] = mergeList(current, value, lookupList(type, key), isDeleteList);
  } else setOrDelete(original, key, removeDirectives(value));
}

function setOrDelete(object: JsonObject, key: string, value: JsonValue | undefined): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}

/** Applies `$retainKeys`, which names all keys that the map may have after the patch. */
function retainKeys(original: JsonObject, patch: JsonObject): void {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return;
  const list = patch[RETAIN_KEYS];
  delete patch[RETAIN_KEYS];
  if (!Array.isArray(list)) throw badRetainKeys();
  const retained = new Set(list);
  for (const key in patch) {
    if (patch[key] === null || key.startsWith(DELETE_PREFIX) || key.startsWith(ORDER_PREFIX)) continue;
    if (!retained.has(key)) throw badRetainKeys();
  }
  for (const key of Object.keys(original)) if (!retained.has(key)) delete original[key];
}

/** Merges the lists for which the patch has a `$setElementOrder`, in that order. */
function mergeOrderedLists(original: JsonObject, patch: JsonObject, type: GoType): void {
  for (const orderKey of Object.keys(patch)) {
    if (!orderKey.startsWith(ORDER_PREFIX)) continue;
    const order = patch[orderKey];
    delete patch[orderKey];
    if (!Array.isArray(order)) throw badArgument('[]interface {}', order);
    const key = listName(orderKey, ORDER_PREFIX, badElementOrder);
    const current = listAt(original, key);
    const wanted = listAt(patch, key);
    const meta = lookupList(type, key);
    if (wanted === undefined) {
      // Go passes on a nil list, against which no order is checked.
      if (current === undefined) continue;
    } else validateOrder(wanted, order, meta.mergeKey);
    const merged = mergeWanted(current, wanted, meta);
    // Throws: maps cannot be ordered without a merge key.
    if (elementsAreMaps([current ?? [], wanted ?? []]) && meta.mergeKey === '')
      for (const item of [...merged, ...order, ...(current ?? [])]) keyValue(item, '');
    original[key] = inOrder(merged, order, current ?? [], meta.mergeKey);
    delete patch[key];
  }
}

function listAt(object: JsonObject, key: string): JsonValue[] | undefined {
  if (!Object.hasOwn(object, key)) return undefined;
  const value = object[key];
  if (!Array.isArray(value)) throw badArgument('[]interface {}', value);
  return value;
}

function mergeWanted(current: JsonValue[] | undefined, wanted: JsonValue[] | undefined, meta: FieldMeta): JsonValue[] {
  if (wanted === undefined) return current ?? [];
  if (current !== undefined) return mergeList([...current], wanted, meta);
  const added = removeDirectives(wanted);
  return Array.isArray(added) ? added : [];
}

/** Reports whether the elements are maps. Throws if they are not all of one type. */
function elementsAreMaps(lists: readonly JsonValue[][]): boolean {
  let first: string | undefined;
  for (const item of lists.flat()) {
    const name = goTypeName(item);
    if (first === undefined && Array.isArray(item)) throw unprocessable();
    if (first !== undefined && name !== first) {
      throw internal(`list element types are not identical: ${goFormat(lists as JsonValue[][])}`);
    }
    first = name;
  }
  if (first === undefined) throw internal('no elements in any of the given slices');
  return first.startsWith('map');
}

function mergeList(original: JsonValue[], patch: JsonValue[], meta: FieldMeta, isDeleteList = false): JsonValue[] {
  if (meta.strategy !== 'merge' && !isDeleteList) return patch;
  if (original.length === 0 && patch.length === 0) return original;
  if (!elementsAreMaps([original, patch])) {
    if (isDeleteList) {
      const unwanted = new Set(patch);
      return original.filter((item) => !unwanted.has(item));
    }
    return inOrder(deduplicate([...original, ...patch]), patch, original, meta.mergeKey);
  }
  if (meta.mergeKey === '') throw internal(`cannot merge lists without merge key for ${reflectKind(meta.type)}`);
  const { current, wanted } = applyListDirectives(original, patch, meta.mergeKey);
  const merged = mergeElements(current, wanted, meta);
  return inOrder(merged, wanted, current, meta.mergeKey);
}

/** Removes later duplicates. The last element takes their place, as in Go; here in linear time, because clients choose the lists. */
function deduplicate(list: JsonValue[]): JsonValue[] {
  const places = new Map<JsonValue, Set<number>>();
  list.forEach((item, i) => {
    const known = places.get(item);
    if (known === undefined) places.set(item, new Set([i]));
    else known.add(i);
  });
  let end = list.length;
  for (let i = 0; i < end; i++) {
    const item = list[i] ?? null;
    const repeats = places.get(item);
    if (repeats === undefined || repeats.size < 2) continue;
    for (const at of [...repeats].sort((x, y) => x - y)) {
      if (at === i) continue;
      while (end > at && list[end - 1] === item) end--;
      if (at >= end) break;
      const moved = list[--end] ?? null;
      list[at] = moved;
      places.get(moved)?.delete(end);
      places.get(moved)?.add(at);
    }
    places.set(item, new Set([i]));
  }
  list.length = end;
  return list;
}

/** Applies the directives of list elements: `$patch: delete` deletes the matching element, and `$patch: replace` makes the patch the whole list. */
function applyListDirectives(
  original: JsonValue[],
  patch: JsonValue[],
  mergeKey: string,
): { current: JsonValue[]; wanted: JsonValue[] } {
  const wanted: JsonValue[] = [];
  const deleted = new Set<JsonValue | undefined>();
  let replace = false;
  for (const item of patch) {
    if (!isObject(item)) continue;
    if (!Object.hasOwn(item, DIRECTIVE)) {
      wanted.push(item);
      continue;
    }
    const directive = item[DIRECTIVE];
    if (directive === 'delete') {
      if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
      deleted.add(item[mergeKey]);
    } else if (directive === 'replace') replace = true;
    else if (directive === 'merge') throw internal('merging lists cannot yet be specified in the patch');
    else throw internal(`unknown patch type: ${formatVerbS(directive)} in map: ${goFormat(item)}`);
  }
  if (replace) return { current: wanted, wanted: [] };
  const kept = (element: JsonValue): boolean =>
    !(isObject(element) && Object.hasOwn(element, mergeKey) && deleted.has(element[mergeKey]));
  return { current: deleted.size === 0 ? original : original.filter(kept), wanted };
}

function mergeElements(current: JsonValue[], wanted: JsonValue[], meta: FieldMeta): JsonValue[] {
  const { mergeKey } = meta;
  const merged = [...current];
  // The places of elements by their key, the first one last. A merge may take an element's key away.
  const places = new Map<JsonValue | undefined, number[]>();
  for (let i = merged.length - 1; i >= 0; i--) {
    const element = merged[i];
    if (!isObject(element) || !Object.hasOwn(element, mergeKey)) continue;
    const known = places.get(element[mergeKey]);
    if (known === undefined) places.set(element[mergeKey], [i]);
    else known.push(i);
  }
  for (const item of wanted) {
    const value = keyValue(item, mergeKey);
    const known = places.get(value);
    let at = known?.at(-1);
    while (at !== undefined && !hasKey(merged[at], mergeKey, value)) {
      known?.pop();
      at = known?.at(-1);
    }
    const found = at === undefined ? undefined : merged[at];
    if (at !== undefined && isObject(found) && isObject(item)) merged[at] = mergeMap(found, item, meta.type);
    else places.set(value, [merged.push(item) - 1]);
  }
  return merged;
}

const hasKey = (element: JsonValue | undefined, mergeKey: string, value: JsonValue | undefined): boolean =>
  isObject(element) && Object.hasOwn(element, mergeKey) && element[mergeKey] === value;

/**
 * Returns the object patched by the rules of its built-in type. The object is not modified. As in kube-apiserver, the patch loses
 * what has been applied, and the result shares parts with it. Throws ApiError.
 */
export function applyStrategicMergePatch(object: JsonObject, patch: JsonObject, type: GoType): JsonObject {
  return mergeMap(deepCopy(object), patch, type);
}
