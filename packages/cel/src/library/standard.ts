import * as arithmetic from '../evaluator/operators.js';
import * as convert from './conversions.js';
import { fn, type FunctionDecl, method, overload, type OverloadDecl, type VariableDecl } from '../declarations.js';
import type { Type } from '../types.js';
import {
  DURATION,
  INT,
  STRING,
  TIMESTAMP,
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  NULL,
  TYPE,
  UINT,
  listOf,
  mapOf,
  paramType,
  typeOf,
} from '../types.js';
import { chargeWork, chargeOnce, chargeText } from '../work.js';
import { inZone, cycleYearOffset } from '../values/time.js';
import type { Value } from '../values/value.js';
import { CelError, Duration, NO_SUCH_OVERLOAD, Timestamp, CelList, CelMap, TypeValue } from '../values/value.js';
import { compare, contains, equal } from '../evaluator/operators.js';
import { find, codePointLength } from '../values/text.js';
import { onStrings } from './helpers.js';
import { matches } from './regex.js';

const DAY = 86400000;
/** Units of work to create a formatter for a time zone, and to use one. */
const NEW_ZONE = 4000;
const IN_ZONE = 300;

function accessor(at: Value, zone: Value, read: (date: Date, at: Timestamp) => number): Value {
  if (!(at instanceof Timestamp) || typeof zone !== 'string') return NO_SUCH_OVERLOAD;
  if (zone !== '' && zone !== 'UTC') {
    chargeOnce(zone, NEW_ZONE);
    chargeWork(IN_ZONE);
  }
  const date = inZone(at, zone);
  return date instanceof CelError ? date : read(date, at);
}

function dayOfYear(date: Date): number {
  const start = new Date(date);
  start.setUTCMonth(0, 1);
  start.setUTCHours(0, 0, 0, 0);
  return Math.floor((date.getTime() - start.getTime()) / DAY);
}

function timeFunction(
  name: string,
  id: string,
  read: (date: Date, at: Timestamp) => number,
  perUnit?: [string, bigint],
): FunctionDecl {
  const overloads = [
    method(id, [TIMESTAMP], INT, (at) => accessor(at, 'UTC', read)),
    method(`${id}_with_tz`, [TIMESTAMP, STRING], INT, (at, zone) => accessor(at, zone, read)),
  ];
  if (perUnit !== undefined) {
    const [durationId, nanos] = perUnit;
    overloads.push(
      method(durationId, [DURATION], INT, (value) =>
        value instanceof Duration ? Number(value.nanos / nanos) : NO_SUCH_OVERLOAD,
      ),
    );
  }
  return fn(name, ...overloads);
}

const TIME_FUNCTIONS: readonly FunctionDecl[] = [
  timeFunction('getFullYear', 'timestamp_to_year', (d, at) => d.getUTCFullYear() + cycleYearOffset(at)),
  timeFunction('getMonth', 'timestamp_to_month', (d) => d.getUTCMonth()),
  timeFunction('getDayOfYear', 'timestamp_to_day_of_year', dayOfYear),
  timeFunction('getDayOfMonth', 'timestamp_to_day_of_month', (d) => d.getUTCDate() - 1),
  timeFunction('getDate', 'timestamp_to_day_of_month_1_based', (d) => d.getUTCDate()),
  timeFunction('getDayOfWeek', 'timestamp_to_day_of_week', (d) => d.getUTCDay()),
  timeFunction('getHours', 'timestamp_to_hours', (d) => d.getUTCHours(), ['duration_to_hours', 3600000000000n]),
  timeFunction('getMinutes', 'timestamp_to_minutes', (d) => d.getUTCMinutes(), ['duration_to_minutes', 60000000000n]),
  timeFunction('getSeconds', 'timestamp_to_seconds', (d) => d.getUTCSeconds(), ['duration_to_seconds', 1000000000n]),
  timeFunction('getMilliseconds', 'timestamp_to_milliseconds', (d) => d.getUTCMilliseconds(), [
    'duration_to_milliseconds',
    1000000n,
  ]),
];

const A = paramType('A');
const B = paramType('B');
const LIST_A = listOf(A);
const MAP_AB = mapOf(A, B);

/** The implementation of operators that the evaluator handles itself. They are declared only for the checker. */
const none = (): Value => NO_SUCH_OVERLOAD;

type Binary = (a: Value, b: Value) => Value;
const binary = (id: string, a: Type, b: Type, result: Type, run: Binary): OverloadDecl =>
  overload(id, [a, b], result, (x, y) => run(x, y));
const unary = (id: string, arg: Type, result: Type, run: (value: Value) => Value): OverloadDecl =>
  overload(id, [arg], result, (x) => run(x));

function comparison(name: string, id: string, accept: (order: number) => boolean): FunctionDecl {
  const run: Binary = (a, b) => {
    const order = compare(a, b);
    return order instanceof CelError ? order : accept(order);
  };
  const make = (suffix: string, a: Type, b: Type): OverloadDecl => binary(`${id}_${suffix}`, a, b, BOOL, run);
  return fn(
    name,
    make('bool', BOOL, BOOL),
    make('int64', INT, INT),
    make('int64_double', INT, DOUBLE),
    make('int64_uint64', INT, UINT),
    make('uint64', UINT, UINT),
    make('uint64_double', UINT, DOUBLE),
    make('uint64_int64', UINT, INT),
    make('double', DOUBLE, DOUBLE),
    make('double_int64', DOUBLE, INT),
    make('double_uint64', DOUBLE, UINT),
    make('string', STRING, STRING),
    make('bytes', BYTES, BYTES),
    make('timestamp', TIMESTAMP, TIMESTAMP),
    make('duration', DURATION, DURATION),
  );
}

export function textSize(text: string): number {
  chargeText(text.length);
  return codePointLength(text);
}

function size(value: Value): Value {
  if (typeof value === 'string') return textSize(value);
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  return value instanceof Uint8Array ? value.length : WITHOUT_SIZE;
}

const WITHOUT_SIZE = new CelError('no such overload: size');

function sizeFunction(): FunctionDecl {
  const make = (id: string, type: Type): OverloadDecl[] => [
    unary(`size_${id}`, type, INT, size),
    method(`${id}_size`, [type], INT, (value) => size(value)),
  ];
  return fn(
    'size',
    ...make('bytes', BYTES),
    ...make('list', LIST_A),
    ...make('map', MAP_AB),
    ...make('string', STRING),
  );
}

/** Declares the conversion function `name(x)` for each source type. */
function conversion(
  name: string,
  result: Type,
  run: (value: Value) => Value,
  sources: readonly (readonly [string, Type])[],
): FunctionDecl {
  return fn(name, ...sources.map(([id, type]) => unary(id, type, result, run)));
}

const OPERATORS: readonly FunctionDecl[] = [
  fn('_?_:_', overload('conditional', [BOOL, A, A], A, none)),
  fn('_&&_', overload('logical_and', [BOOL, BOOL], BOOL, none)),
  fn('_||_', overload('logical_or', [BOOL, BOOL], BOOL, none)),
  fn(
    '!_',
    unary('logical_not', BOOL, BOOL, (value) => (typeof value === 'boolean' ? !value : NO_SUCH_OVERLOAD)),
  ),
  fn(
    '@not_strictly_false',
    unary('not_strictly_false', BOOL, BOOL, (value) => value !== false),
  ),
  fn('_==_', binary('equals', A, A, BOOL, equal)),
  fn(
    '_!=_',
    binary('not_equals', A, A, BOOL, (a, b) => equal(a, b) !== true),
  ),
  fn(
    '_+_',
    binary('add_bytes', BYTES, BYTES, BYTES, arithmetic.add),
    binary('add_double', DOUBLE, DOUBLE, DOUBLE, arithmetic.add),
    binary('add_duration_duration', DURATION, DURATION, DURATION, arithmetic.add),
    binary('add_duration_timestamp', DURATION, TIMESTAMP, TIMESTAMP, arithmetic.add),
    binary('add_timestamp_duration', TIMESTAMP, DURATION, TIMESTAMP, arithmetic.add),
    binary('add_int64', INT, INT, INT, arithmetic.add),
    binary('add_list', LIST_A, LIST_A, LIST_A, arithmetic.add),
    binary('add_string', STRING, STRING, STRING, arithmetic.add),
    binary('add_uint64', UINT, UINT, UINT, arithmetic.add),
  ),
  fn(
    '_/_',
    binary('divide_double', DOUBLE, DOUBLE, DOUBLE, arithmetic.divide),
    binary('divide_int64', INT, INT, INT, arithmetic.divide),
    binary('divide_uint64', UINT, UINT, UINT, arithmetic.divide),
  ),
  fn(
    '_%_',
    binary('modulo_int64', INT, INT, INT, arithmetic.modulo),
    binary('modulo_uint64', UINT, UINT, UINT, arithmetic.modulo),
  ),
  fn(
    '_*_',
    binary('multiply_double', DOUBLE, DOUBLE, DOUBLE, arithmetic.multiply),
    binary('multiply_int64', INT, INT, INT, arithmetic.multiply),
    binary('multiply_uint64', UINT, UINT, UINT, arithmetic.multiply),
  ),
  fn(
    '-_',
    unary('negate_double', DOUBLE, DOUBLE, arithmetic.negate),
    unary('negate_int64', INT, INT, arithmetic.negate),
  ),
  fn(
    '_-_',
    binary('subtract_double', DOUBLE, DOUBLE, DOUBLE, arithmetic.subtract),
    binary('subtract_duration_duration', DURATION, DURATION, DURATION, arithmetic.subtract),
    binary('subtract_int64', INT, INT, INT, arithmetic.subtract),
    binary('subtract_timestamp_duration', TIMESTAMP, DURATION, TIMESTAMP, arithmetic.subtract),
    binary('subtract_timestamp_timestamp', TIMESTAMP, TIMESTAMP, DURATION, arithmetic.subtract),
    binary('subtract_uint64', UINT, UINT, UINT, arithmetic.subtract),
  ),
  comparison('_<_', 'less', (order) => order < 0),
  comparison('_<=_', 'less_equals', (order) => order <= 0),
  comparison('_>_', 'greater', (order) => order > 0),
  comparison('_>=_', 'greater_equals', (order) => order >= 0),
  fn('_[_]', binary('index_list', LIST_A, INT, A, none), binary('index_map', MAP_AB, A, B, none)),
  fn(
    '@in',
    binary('in_list', A, LIST_A, BOOL, (item, list) => contains(list, item)),
    binary('in_map', A, MAP_AB, BOOL, (item, map) => contains(map, item)),
  ),
];

const CONVERSIONS: readonly FunctionDecl[] = [
  fn('type', unary('type', A, typeOf(A), convert.toType)),
  fn(
    'dyn',
    unary('to_dyn', A, DYN, (value) => value),
  ),
  conversion('bool', BOOL, convert.toBool, [
    ['bool_to_bool', BOOL],
    ['string_to_bool', STRING],
  ]),
  conversion('bytes', BYTES, convert.toBytes, [
    ['bytes_to_bytes', BYTES],
    ['string_to_bytes', STRING],
  ]),
  conversion('double', DOUBLE, convert.toDouble, [
    ['double_to_double', DOUBLE],
    ['int64_to_double', INT],
    ['string_to_double', STRING],
    ['uint64_to_double', UINT],
  ]),
  conversion('duration', DURATION, convert.toDuration, [
    ['duration_to_duration', DURATION],
    ['int64_to_duration', INT],
    ['string_to_duration', STRING],
  ]),
  conversion('int', INT, convert.toInt, [
    ['int64_to_int64', INT],
    ['double_to_int64', DOUBLE],
    ['duration_to_int64', DURATION],
    ['string_to_int64', STRING],
    ['timestamp_to_int64', TIMESTAMP],
    ['uint64_to_int64', UINT],
  ]),
  conversion('string', STRING, convert.toText, [
    ['string_to_string', STRING],
    ['bool_to_string', BOOL],
    ['bytes_to_string', BYTES],
    ['double_to_string', DOUBLE],
    ['duration_to_string', DURATION],
    ['int64_to_string', INT],
    ['timestamp_to_string', TIMESTAMP],
    ['uint64_to_string', UINT],
  ]),
  conversion('timestamp', TIMESTAMP, convert.toTimestamp, [
    ['timestamp_to_timestamp', TIMESTAMP],
    ['int64_to_timestamp', INT],
    ['string_to_timestamp', STRING],
  ]),
  conversion('uint', UINT, convert.toUint, [
    ['uint64_to_uint64', UINT],
    ['double_to_uint64', DOUBLE],
    ['int64_to_uint64', INT],
    ['string_to_uint64', STRING],
  ]),
];

/** Functions that the planner evaluates in advance if their argument is constant. */
export const CONVERSION_NAMES: ReadonlySet<string> = new Set(CONVERSIONS.map((decl) => decl.name));

const STRING_TESTS: readonly FunctionDecl[] = [
  fn(
    'contains',
    method(
      'contains_string',
      [STRING, STRING],
      BOOL,
      onStrings((a, b) => find(a, b, 0) >= 0),
    ),
  ),
  fn(
    'endsWith',
    method(
      'ends_with_string',
      [STRING, STRING],
      BOOL,
      onStrings((a, b) => a.endsWith(b)),
    ),
  ),
  fn(
    'startsWith',
    method(
      'starts_with_string',
      [STRING, STRING],
      BOOL,
      onStrings((a, b) => a.startsWith(b)),
    ),
  ),
  fn(
    'matches',
    overload('matches', [STRING, STRING], BOOL, onStrings(matches)),
    method('matches_string', [STRING, STRING], BOOL, onStrings(matches)),
  ),
];

export const STANDARD_FUNCTIONS: readonly FunctionDecl[] = [
  ...OPERATORS,
  sizeFunction(),
  ...CONVERSIONS,
  ...STRING_TESTS,
  ...TIME_FUNCTIONS,
];

/** Functions whose overloads share one implementation. */
export const SINGLETONS: ReadonlySet<string> = new Set([
  ...OPERATORS.map((decl) => decl.name),
  'size',
  'type',
  'dyn',
  'matches',
]);

export const typeConstant = (name: string, type: Type): VariableDecl => ({
  name,
  type: typeOf(type),
  value: new TypeValue(type.name),
});

export const STANDARD_TYPES: readonly VariableDecl[] = [
  typeConstant('bool', BOOL),
  typeConstant('bytes', BYTES),
  typeConstant('double', DOUBLE),
  typeConstant('google.protobuf.Duration', DURATION),
  typeConstant('int', INT),
  typeConstant('list', LIST_A),
  typeConstant('map', MAP_AB),
  typeConstant('null_type', NULL),
  typeConstant('string', STRING),
  typeConstant('google.protobuf.Timestamp', TIMESTAMP),
  typeConstant('type', TYPE),
  typeConstant('uint', UINT),
];
