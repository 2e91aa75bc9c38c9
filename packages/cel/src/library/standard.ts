import * as convert from '../values/conversions.js';
import {
  fn,
  type FunctionDecl,
  type Implementation,
  method,
  overload,
  type OverloadDecl,
  type VariableDecl,
} from '../declarations.js';
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
  type Type,
  UINT,
  listOf,
  mapOf,
  paramType,
  typeOf,
} from '../types.js';
import { chargeWork, chargeOnce, chargeText } from '../work.js';
import { inZone, cycleYearOffset } from '../values/time.js';
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  NO_SUCH_OVERLOAD,
  Timestamp,
  TypeValue,
  type Value,
} from '../values/value.js';
import { add, contains, divide, modulo, multiply, negate, subtract } from '../values/operators.js';
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

/** Declares a function that reads a part of a timestamp, or if `nanosPerUnit` is given, the length of a duration in that unit. */
function timeFunction(
  name: string,
  id: string,
  read: (date: Date, at: Timestamp) => number,
  nanosPerUnit?: bigint,
): FunctionDecl {
  const overloads = [
    method(id, [TIMESTAMP], INT, (at) => accessor(at, 'UTC', read)),
    method(`${id}_with_tz`, [TIMESTAMP, STRING], INT, (at, zone) => accessor(at, zone, read)),
  ];
  if (nanosPerUnit !== undefined) {
    overloads.push(
      method(id.replace('timestamp', 'duration'), [DURATION], INT, (value) =>
        value instanceof Duration ? Number(value.nanos / nanosPerUnit) : NO_SUCH_OVERLOAD,
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
  timeFunction('getHours', 'timestamp_to_hours', (d) => d.getUTCHours(), 3600000000000n),
  timeFunction('getMinutes', 'timestamp_to_minutes', (d) => d.getUTCMinutes(), 60000000000n),
  timeFunction('getSeconds', 'timestamp_to_seconds', (d) => d.getUTCSeconds(), 1000000000n),
  timeFunction('getMilliseconds', 'timestamp_to_milliseconds', (d) => d.getUTCMilliseconds(), 1000000n),
];

const A = paramType('A');
const B = paramType('B');
const LIST_A = listOf(A);
const MAP_AB = mapOf(A, B);

/** The implementation of operators that the evaluator handles itself. They are declared only for the checker. */
const none = (): Value => NO_SUCH_OVERLOAD;
const not = (value: Value): Value => (typeof value === 'boolean' ? !value : NO_SUCH_OVERLOAD);
const isIn = (item: Value, container: Value): Value => contains(container, item);
const identity = (value: Value): Value => value;

function comparison(name: string, id: string): FunctionDecl {
  const make = (suffix: string, a: Type, b: Type): OverloadDecl => overload(`${id}_${suffix}`, [a, b], BOOL, none);
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
    overload(`size_${id}`, [type], INT, size),
    method(`${id}_size`, [type], INT, size),
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
  run: Implementation,
  sources: readonly (readonly [string, Type])[],
): FunctionDecl {
  return fn(name, ...sources.map(([id, type]) => overload(id, [type], result, run)));
}

const OPERATORS: readonly FunctionDecl[] = [
  fn('_?_:_', overload('conditional', [BOOL, A, A], A, none)),
  fn('_&&_', overload('logical_and', [BOOL, BOOL], BOOL, none)),
  fn('_||_', overload('logical_or', [BOOL, BOOL], BOOL, none)),
  fn('!_', overload('logical_not', [BOOL], BOOL, not)),
  fn('@not_strictly_false', overload('not_strictly_false', [BOOL], BOOL, none)),
  fn('_==_', overload('equals', [A, A], BOOL, none)),
  fn('_!=_', overload('not_equals', [A, A], BOOL, none)),
  fn(
    '_+_',
    overload('add_bytes', [BYTES, BYTES], BYTES, add),
    overload('add_double', [DOUBLE, DOUBLE], DOUBLE, add),
    overload('add_duration_duration', [DURATION, DURATION], DURATION, add),
    overload('add_duration_timestamp', [DURATION, TIMESTAMP], TIMESTAMP, add),
    overload('add_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP, add),
    overload('add_int64', [INT, INT], INT, add),
    overload('add_list', [LIST_A, LIST_A], LIST_A, add),
    overload('add_string', [STRING, STRING], STRING, add),
    overload('add_uint64', [UINT, UINT], UINT, add),
  ),
  fn(
    '_/_',
    overload('divide_double', [DOUBLE, DOUBLE], DOUBLE, divide),
    overload('divide_int64', [INT, INT], INT, divide),
    overload('divide_uint64', [UINT, UINT], UINT, divide),
  ),
  fn('_%_', overload('modulo_int64', [INT, INT], INT, modulo), overload('modulo_uint64', [UINT, UINT], UINT, modulo)),
  fn(
    '_*_',
    overload('multiply_double', [DOUBLE, DOUBLE], DOUBLE, multiply),
    overload('multiply_int64', [INT, INT], INT, multiply),
    overload('multiply_uint64', [UINT, UINT], UINT, multiply),
  ),
  fn('-_', overload('negate_double', [DOUBLE], DOUBLE, negate), overload('negate_int64', [INT], INT, negate)),
  fn(
    '_-_',
    overload('subtract_double', [DOUBLE, DOUBLE], DOUBLE, subtract),
    overload('subtract_duration_duration', [DURATION, DURATION], DURATION, subtract),
    overload('subtract_int64', [INT, INT], INT, subtract),
    overload('subtract_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP, subtract),
    overload('subtract_timestamp_timestamp', [TIMESTAMP, TIMESTAMP], DURATION, subtract),
    overload('subtract_uint64', [UINT, UINT], UINT, subtract),
  ),
  comparison('_<_', 'less'),
  comparison('_<=_', 'less_equals'),
  comparison('_>_', 'greater'),
  comparison('_>=_', 'greater_equals'),
  fn('_[_]', overload('index_list', [LIST_A, INT], A, none), overload('index_map', [MAP_AB, A], B, none)),
  fn('@in', overload('in_list', [A, LIST_A], BOOL, isIn), overload('in_map', [A, MAP_AB], BOOL, isIn)),
];

const CONVERSIONS: readonly FunctionDecl[] = [
  fn('type', overload('type', [A], typeOf(A), convert.toType)),
  fn('dyn', overload('to_dyn', [A], DYN, identity)),
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

const includes = (text: string, part: string): boolean => find(text, part, 0) >= 0;
const startsWith = (text: string, part: string): boolean => text.startsWith(part);
const endsWith = (text: string, part: string): boolean => text.endsWith(part);

const STRING_TESTS: readonly FunctionDecl[] = [
  fn('contains', method('contains_string', [STRING, STRING], BOOL, onStrings(includes))),
  fn('endsWith', method('ends_with_string', [STRING, STRING], BOOL, onStrings(endsWith))),
  fn('startsWith', method('starts_with_string', [STRING, STRING], BOOL, onStrings(startsWith))),
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

/** The name of a type as a value. */
export const typeConstant = (type: Type): VariableDecl => ({
  name: type.name,
  type: typeOf(type),
  value: new TypeValue(type.name),
});

export const STANDARD_TYPES: readonly VariableDecl[] = [
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  LIST_A,
  MAP_AB,
  NULL,
  STRING,
  TIMESTAMP,
  TYPE,
  UINT,
].map(typeConstant);
