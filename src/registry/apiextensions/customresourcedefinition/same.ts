import { type JsonObject, type JsonValue, deepEqual, isObject } from '../../../apimachinery/json/json.js';

/** Members that are pointers in Go: present and absent ones differ, whatever they contain. */
const POINTERS = new Set([
  'status',
  'scale',
  'labelSelectorPath',
  'schema',
  '$ref',
  'items',
  'not',
  'additionalProperties',
  'additionalItems',
  'externalDocs',
  'default',
  'example',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'reason',
  'optionalOldSelf',
]);
/** Maps of schemas, whose keys must be equal. */
const MAPS = new Set(['properties', 'patternProperties', 'definitions', 'dependencies']);
/** Values of users, which are compared without normalization. */
const RAW = new Set(['default', 'example']);

/** Reports whether parts of definitions are equal. Missing and empty strings, lists and maps are equal at every level. */
export function sameValue(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (isObject(a) && isObject(b)) {
    return Object.keys({ ...a, ...b }).every((key) => sameMember(key, a[key], b[key]));
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameValue(item, b[i]));
  }
  if (isEmpty(a) && isEmpty(b)) return true;
  return a !== undefined && b !== undefined && deepEqual(a, b);
}

function sameMember(key: string, a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (POINTERS.has(key) && isAbsent(a) !== isAbsent(b)) return false;
  if (MAPS.has(key)) return sameMap(isObject(a) ? a : {}, isObject(b) ? b : {});
  if (key === 'enum') return deepEqual(Array.isArray(a) ? a : [], Array.isArray(b) ? b : []);
  if (key === 'priority') return (a ?? 0) === (b ?? 0);
  return RAW.has(key) ? deepEqual(a ?? null, b ?? null) : sameValue(a, b);
}

function sameMap(a: JsonObject, b: JsonObject): boolean {
  return Object.keys({ ...a, ...b }).every(
    (key) => Object.hasOwn(a, key) && Object.hasOwn(b, key) && sameValue(a[key], b[key]),
  );
}

const isAbsent = (value: JsonValue | undefined): boolean => value === undefined || value === null;

function isEmpty(value: JsonValue | undefined): boolean {
  if (isAbsent(value) || value === '' || value === false) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
