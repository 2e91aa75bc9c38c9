import type { StructDecl, VariableDecl } from '../declarations.js';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  STRING,
  TIMESTAMP,
  Type,
  UINT,
  listOf,
  mapOf,
  nullable,
  typeOf,
} from '../types.js';
import { type Integer, isInteger, MAX_INT, MIN_INT } from '../values/integer.js';
import {
  ArrayList,
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  EntryMap,
  Timestamp,
  Uint,
  type Value,
  typeName,
} from '../values/value.js';
import { chargeWork } from '../work.js';
import { unpacked } from './any.js';
import { toText } from '../values/conversions.js';

/**
 * A message that CEL represents as a value of its own. Literals such as `google.protobuf.Int64Value{value: 1}` create
 * such values. The names of these messages are not values themselves.
 */
interface Message {
  readonly name: string;
  readonly type: Type;
  readonly fields: Readonly<Record<string, Type>>;
  readonly create: (fields: ReadonlyMap<string, Value>) => Value;
}

const PREFIX = 'google.protobuf.';
const BILLION = 1000000000n;
/** The seconds from the year 1 to the Unix epoch. */
const YEAR_1 = 62135596800n;
const MAX_INT32 = 2147483647;
const MAX_UINT32 = 4294967295n;

/** Thrown if a field does not accept a value. */
class WrongField extends Error {}

const wrong = (field: string, reason: string): WrongField =>
  new WrongField(`field type conversion error for ${PREFIX}${field} value type: ${reason}`);

function refusal(value: Value, wanted: string): string {
  switch (typeName(value)) {
    case 'string':
      return `unsupported native conversion from string to '${wanted}'`;
    case 'int':
    case 'uint':
      return `unsupported type conversion from '${typeName(value)}' to ${wanted}`;
    case 'double':
      return `type conversion error from Double to '${wanted}'`;
    case 'bytes':
      return `type conversion error from Bytes to '${wanted}'`;
    case 'null_type':
      return `type conversion error from 'null_type' to '${wanted}'`;
    case TIMESTAMP.name:
      return `type conversion error from 'Timestamp' to '${wanted}'`;
    case DURATION.name:
      return `type conversion error from 'Duration' to '${wanted}'`;
    default:
      return `type conversion error from ${typeName(value)} to '${wanted}'`;
  }
}

/** Converts the value of a field in a literal, whose static type may be dyn, to the type of the field, such as `Duration.seconds`. */
type Read = (value: Value, field: string) => Value;

const int =
  (wanted: 'int32' | 'int64'): Read =>
  (value, field) => {
    if (!isInteger(value)) throw wrong(field, refusal(value, wanted));
    if (wanted === 'int32' && (value > MAX_INT32 || value < -MAX_INT32 - 1)) throw wrong(field, 'integer overflow');
    return value;
  };

const uint =
  (wanted: 'uint32' | 'uint64'): Read =>
  (value, field) => {
    if (!(value instanceof Uint)) throw wrong(field, refusal(value, wanted));
    if (wanted === 'uint32' && value.value > MAX_UINT32) throw wrong(field, 'unsigned integer overflow');
    return value;
  };

const double =
  (wanted: 'float32' | 'float64'): Read =>
  (value, field) => {
    if (!(value instanceof Double)) throw wrong(field, refusal(value, wanted));
    return wanted === 'float32' ? new Double(Math.fround(value.value)) : value;
  };

const bool: Read = (value, field) => {
  if (typeof value !== 'boolean') throw wrong(field, refusal(value, 'bool'));
  return value;
};
const text: Read = (value, field) => {
  if (typeof value !== 'string') throw wrong(field, refusal(value, 'string'));
  return value;
};
const bytes: Read = (value, field) => {
  if (!(value instanceof Uint8Array)) throw wrong(field, refusal(value, '[]uint8'));
  return value;
};

function wrapper(name: string, type: Type, zero: Value, read: Read): Message {
  return {
    name,
    type: nullable(type),
    fields: { value: type },
    create: (fields) => {
      const value = fields.get('value');
      return value === undefined ? zero : read(value, `${name}.value`);
    },
  };
}

/** Returns the total of `seconds` and `nanos` in nanoseconds. */
function totalNanos(fields: ReadonlyMap<string, Value>, message: 'Timestamp' | 'Duration'): bigint {
  const seconds = int('int64')(fields.get('seconds') ?? 0, `${message}.seconds`) as Integer;
  const nanos = int('int32')(fields.get('nanos') ?? 0, `${message}.nanos`) as Integer;
  return BigInt(seconds) * BILLION + BigInt(nanos);
}

function createTimestamp(fields: ReadonlyMap<string, Value>): Value {
  const total = totalNanos(fields, 'Timestamp');
  const nanos = ((total % BILLION) + BILLION) % BILLION;
  // Only a literal may have any year. Go counts the seconds from the year 1 in 64 bits, so they wrap around.
  const seconds = BigInt.asIntN(64, (total - nanos) / BILLION + YEAR_1) - YEAR_1;
  return new Timestamp(Number(seconds), Number(nanos));
}

/** Creates a Duration. Values out of range are clamped to the shortest or longest duration. */
function createDuration(fields: ReadonlyMap<string, Value>): Value {
  const total = totalNanos(fields, 'Duration');
  return new Duration(total > MAX_INT ? MAX_INT : total < MIN_INT ? MIN_INT : total);
}

/** Converts a value to JSON. Numbers become doubles; those that a double cannot represent become strings. */
function asJson(value: Value): Value {
  if (typeof value === 'number') return new Double(value);
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint) {
    return value.value <= BigInt(Number.MAX_SAFE_INTEGER) ? new Double(Number(value.value)) : value.value.toString();
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp || value instanceof Duration) return toText(value);
  if (value instanceof CelList) return jsonList(value);
  return value instanceof CelMap ? jsonMap(value) : value;
}

function jsonList(list: CelList): Value {
  chargeWork(list.size);
  return new ArrayList([...list].map(asJson));
}

function jsonMap(map: CelMap): Value {
  chargeWork(map.size * 2);
  const result = new EntryMap();
  for (const key of map.keys()) {
    const name = typeof key === 'string' ? key : toText(key);
    result.set(name, asJson(map.find(key) ?? null));
  }
  return result;
}

const DYNAMIC_MAP = mapOf(STRING, DYN);
const DYNAMIC_LIST = listOf(DYN);

/** Declares a message with a field that holds JSON. */
function json(name: string, type: Type, fields: Readonly<Record<string, Type>>, none: Value): Message {
  return {
    name,
    type,
    fields,
    create: (given) => {
      let result = none;
      for (const [field, value] of given) result = field === 'null_value' ? null : asJson(value);
      return result;
    },
  };
}

const MESSAGES: readonly Message[] = [
  wrapper('BoolValue', BOOL, false, bool),
  wrapper('BytesValue', BYTES, new Uint8Array(0), bytes),
  wrapper('DoubleValue', DOUBLE, new Double(0), double('float64')),
  wrapper('FloatValue', DOUBLE, new Double(0), double('float32')),
  wrapper('Int32Value', INT, 0, int('int32')),
  wrapper('Int64Value', INT, 0, int('int64')),
  wrapper('StringValue', STRING, '', text),
  wrapper('UInt32Value', UINT, new Uint(0n), uint('uint32')),
  wrapper('UInt64Value', UINT, new Uint(0n), uint('uint64')),
  { name: 'Timestamp', type: TIMESTAMP, fields: { seconds: INT, nanos: INT }, create: createTimestamp },
  { name: 'Duration', type: DURATION, fields: { seconds: INT, nanos: INT }, create: createDuration },
  json('Struct', DYNAMIC_MAP, { fields: DYNAMIC_MAP }, new EntryMap()),
  json('ListValue', DYNAMIC_LIST, { values: DYNAMIC_LIST }, new ArrayList([])),
  json(
    'Value',
    DYN,
    {
      null_value: INT,
      number_value: DOUBLE,
      string_value: STRING,
      bool_value: BOOL,
      struct_value: DYNAMIC_MAP,
      list_value: DYNAMIC_LIST,
    },
    null,
  ),
  {
    name: 'Any',
    type: new Type('any', 'any', []),
    fields: { type_url: STRING, value: BYTES },
    create: (fields) => unpacked(fields, (name) => MESSAGES.find((message) => message.name === name)?.create),
  },
];

function declaration({ type, fields, create }: Message): StructDecl {
  return {
    type,
    field: (name) => (Object.hasOwn(fields, name) ? fields[name] : undefined),
    create: (values) => {
      try {
        return create(values);
      } catch (error) {
        if (error instanceof WrongField) return new CelError(error.message);
        throw error;
      }
    },
  };
}

const DECLARATIONS = new Map(MESSAGES.map((message) => [PREFIX + message.name, declaration(message)]));

export const wellKnownStruct = (name: string): StructDecl | undefined => DECLARATIONS.get(name);

const NAMES: readonly VariableDecl[] = MESSAGES.filter(({ type }) => type !== TIMESTAMP && type !== DURATION).map(
  ({ name, type }) => ({
    name: PREFIX + name,
    type: typeOf(type),
    value: new CelError(`reference to undefined type: ${PREFIX}${name}`),
  }),
);

/** The names of the messages, except those that are also names of types, and the only enum value that they use. */
export const WELL_KNOWN_NAMES: readonly VariableDecl[] = [
  ...NAMES,
  { name: `${PREFIX}NullValue.NULL_VALUE`, type: INT, value: 0 },
];
