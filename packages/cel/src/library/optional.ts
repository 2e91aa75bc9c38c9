import { fn, type Implementation, method, overload } from '../declarations.js';
import type { Library } from './library.js';
import { OPTIONAL_MACROS } from '../parser/macros.js';
import { BOOL, DYN, INT, STRING, listOf, mapOf, optionalOf, paramType } from '../types.js';
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
  type Value,
} from '../values/value.js';
import { formatKey } from '../values/access.js';
import { onList } from './helpers.js';
import { typeConstant } from './standard.js';

const K = paramType('K');
const V = paramType('V');
const OPT = optionalOf(V);
const LIST = listOf(V);
const MAP = mapOf(K, V);
/** The implementation of functions that the evaluator handles itself. They are declared only for the checker. */
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

const of = (value: Value): Value => new Optional(value);
const empty = (): Value => Optional.none;
const ofNonZero = (value: Value): Value => (isZero(value) ? Optional.none : new Optional(value));

function unwrap(list: CelList): Value {
  const items: Value[] = [];
  for (const item of list) {
    if (!(item instanceof Optional)) return new CelError(`value ${formatKey(item)} is not optional`);
    if (item.value !== undefined) items.push(item.value);
  }
  return new ArrayList(items);
}

const first = (list: CelList): Value => (list.size === 0 ? Optional.none : new Optional(list.get(0)));
const last = (list: CelList): Value => (list.size === 0 ? Optional.none : new Optional(list.get(list.size - 1)));

const onOptional =
  (run: (value: Optional) => Value): Implementation =>
  (value) =>
    value instanceof Optional ? run(value) : NO_SUCH_OVERLOAD;

const contentOf = ({ value }: Optional): Value => value ?? new CelError('optional.none() dereference');
const hasValue = ({ value }: Optional): boolean => value !== undefined;

export const OPTIONAL_LIBRARY: Library = {
  macros: OPTIONAL_MACROS,
  types: [typeConstant(OPT)],
  functions: [
    fn('optional.of', overload('optional_of', [V], OPT, of)),
    fn('optional.ofNonZeroValue', overload('optional_ofNonZeroValue', [V], OPT, ofNonZero)),
    fn('optional.none', overload('optional_none', [], OPT, empty)),
    fn('value', method('optional_value', [OPT], V, onOptional(contentOf))),
    fn('hasValue', method('optional_hasValue', [OPT], BOOL, onOptional(hasValue))),
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
    fn('last', method('list_last', [LIST], OPT, onList(last))),
    fn('first', method('list_first', [LIST], OPT, onList(first))),
    fn('optional.unwrap', overload('optional_unwrap', [listOf(OPT)], LIST, onList(unwrap))),
    fn('unwrapOpt', method('optional_unwrapOpt', [listOf(OPT)], LIST, onList(unwrap))),
  ],
};
