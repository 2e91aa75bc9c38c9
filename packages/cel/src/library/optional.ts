import { fn, method, overload } from '../declarations.js';
import type { Library } from './library.js';
import { OPTIONAL_MACROS } from '../parser/macros.js';
import { BOOL, DYN, INT, STRING, listOf, mapOf, optionalOf, paramType } from '../types.js';
import type { Value } from '../values/value.js';
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  NO_SUCH_OVERLOAD,
  Opaque,
  Optional,
  Timestamp,
  Uint,
} from '../values/value.js';
import { formatKey } from '../evaluator/access.js';
import { typeConstant } from './standard.js';

const K = paramType('K');
const V = paramType('V');
const OPT = optionalOf(V);
const LIST = listOf(V);
const MAP = mapOf(K, V);
const none = (): Value => NO_SUCH_OVERLOAD;

function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === '') return true;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Double) return value.value === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Timestamp) return value.seconds === -62135596800 && value.nanos === 0;
  return value instanceof Opaque && value.isZero;
}

function unwrap(value: Value): Value {
  if (!(value instanceof CelList)) return NO_SUCH_OVERLOAD;
  const items: Value[] = [];
  for (const item of value) {
    if (!(item instanceof Optional)) return new CelError(`value ${formatKey(item)} is not optional`);
    if (item.value !== undefined) items.push(item.value);
  }
  return new ArrayList(items);
}

const edge =
  (index: (size: number) => number) =>
  (value: Value | undefined): Value => {
    if (!(value instanceof CelList)) return NO_SUCH_OVERLOAD;
    return value.size === 0 ? Optional.none : new Optional(value.get(index(value.size)));
  };

const onOptional =
  (run: (value: Optional) => Value) =>
  (value: Value | undefined): Value =>
    value instanceof Optional ? run(value) : NO_SUCH_OVERLOAD;

export const OPTIONAL_LIBRARY: Library = {
  macros: OPTIONAL_MACROS,
  types: [typeConstant('optional_type', OPT)],
  functions: [
    fn(
      'optional.of',
      overload('optional_of', [V], OPT, (value) => new Optional(value)),
    ),
    fn(
      'optional.ofNonZeroValue',
      overload('optional_ofNonZeroValue', [V], OPT, (value) => (isZero(value) ? Optional.none : new Optional(value))),
    ),
    fn(
      'optional.none',
      overload('optional_none', [], OPT, () => Optional.none),
    ),
    fn(
      'value',
      method(
        'optional_value',
        [OPT],
        V,
        onOptional((value) => value.value ?? new CelError('optional.none() dereference')),
      ),
    ),
    fn(
      'hasValue',
      method(
        'optional_hasValue',
        [OPT],
        BOOL,
        onOptional((value) => value.value !== undefined),
      ),
    ),
    fn('or', method('optional_or_optional', [OPT, OPT], OPT, none)),
    fn('orValue', method('optional_orValue_value', [OPT, V], V, none)),
    fn('_?._', overload('select_optional_field', [DYN, STRING], OPT, none)),
    fn(
      '_[?_]',
      overload('list_optindex_optional_int', [LIST, INT], OPT, none),
      overload('optional_list_optindex_optional_int', [optionalOf(LIST), INT], OPT, none),
      overload('map_optindex_optional_value', [MAP, K], OPT, none),
      overload('optional_map_optindex_optional_value', [optionalOf(MAP), K], OPT, none),
    ),
    fn(
      '_[_]',
      overload('optional_list_index_int', [optionalOf(LIST), INT], OPT, none),
      overload('optional_map_index_value', [optionalOf(MAP), K], OPT, none),
    ),
    fn(
      'last',
      method(
        'list_last',
        [LIST],
        OPT,
        edge((size) => size - 1),
      ),
    ),
    fn(
      'first',
      method(
        'list_first',
        [LIST],
        OPT,
        edge(() => 0),
      ),
    ),
    fn(
      'optional.unwrap',
      overload('optional_unwrap', [listOf(OPT)], LIST, (value) => unwrap(value)),
    ),
    fn(
      'unwrapOpt',
      method('optional_unwrapOpt', [listOf(OPT)], LIST, (value) => unwrap(value)),
    ),
  ],
};
