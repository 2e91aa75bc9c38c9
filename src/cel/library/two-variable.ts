import { fn, overload } from '../declarations.js';
import type { Library } from './library.js';
import { TWO_VARIABLE_MACROS } from '../parser/macros.js';
import { mapOf, paramType } from '../types.js';
import { NO_SUCH_OVERLOAD } from '../values/value.js';

const K = paramType('K');
const V = paramType('V');
const MAP = mapOf(K, V);

/** Comprehensions over indices and elements, or keys and values. The loops insert by themselves. */
export const TWO_VARIABLE_LIBRARY: Library = {
  macros: TWO_VARIABLE_MACROS,
  functions: [
    fn(
      'cel.@mapInsert',
      overload('@mapInsert_map_key_value', [MAP, K, V], MAP, () => NO_SUCH_OVERLOAD),
      overload('@mapInsert_map_map', [MAP, MAP], MAP, () => NO_SUCH_OVERLOAD),
    ),
  ],
};
