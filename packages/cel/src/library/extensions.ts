import { fn, overload } from '../declarations.js';
import type { Library } from './library.js';
import { contains } from '../values/operators.js';
import { BOOL, listOf, paramType, mapOf, STRING } from '../types.js';
import { type CelError, type CelList, NO_SUCH_OVERLOAD } from '../values/value.js';
import { TWO_VARIABLE_MACROS } from '../parser/macros.js';
import { onLists, onString } from './helpers.js';

const LIST = listOf(paramType('T'));

function holdsAll(list: CelList, part: CelList): boolean {
  for (const item of part) if (contains(list, item) !== true) return false;
  return true;
}

function intersects(a: CelList, b: CelList): boolean {
  for (const item of a) if (contains(b, item) === true) return true;
  return false;
}

const areEquivalent = (a: CelList, b: CelList): boolean => holdsAll(a, b) && holdsAll(b, a);

export const SETS_LIBRARY: Library = {
  functions: [
    fn('sets.contains', overload('list_sets_contains_list', [LIST, LIST], BOOL, onLists(holdsAll))),
    fn('sets.equivalent', overload('list_sets_equivalent_list', [LIST, LIST], BOOL, onLists(areEquivalent))),
    fn('sets.intersects', overload('list_sets_intersects_list', [LIST, LIST], BOOL, onLists(intersects))),
  ],
};

const K = paramType('K');
const V = paramType('V');
const MAP = mapOf(K, V);
const none = (): CelError => NO_SUCH_OVERLOAD;

/** Comprehensions over indices and elements, or keys and values. The evaluator's loops do the inserting, not these functions. */
export const TWO_VARIABLE_LIBRARY: Library = {
  macros: TWO_VARIABLE_MACROS,
  functions: [
    fn(
      'cel.@mapInsert',
      overload('@mapInsert_map_key_value', [MAP, K, V], MAP, none),
      overload('@mapInsert_map_map', [MAP, MAP], MAP, none),
    ),
  ],
};

const escape = (key: string): string => key.replace(/[~/]/g, (char) => (char === '/' ? '~1' : '~0'));

/** Functions for mutating admission policies: escaping keys of JSON Pointers. */
export const JSON_PATCH_LIBRARY: Library = {
  functions: [
    fn('jsonpatch.escapeKey', overload('string_jsonpatch_escapeKey_string', [STRING], STRING, onString(escape))),
  ],
};
