import { ArrayList, Double, EntryMap, Type, types, TypeValue, Uint, type Value } from '../../packages/cel/src/index.js';
import { integer } from '../../packages/cel/src/values/integer.js';
import type { WireValue } from './vectors.js';

type Wire = Readonly<Record<string, unknown>>;
const entriesOf = (value: unknown, key: string): readonly Wire[] =>
  ((value as Record<string, unknown>)[key] ?? []) as readonly Wire[];

/** Converts a value of the suite to the engine's; undefined if it is a protobuf message. */
export function fromWire(wire: WireValue): Value | undefined {
  const [kind, value] = Object.entries(wire)[0] ?? [];
  switch (kind) {
    case 'int64Value':
      return integer(BigInt(String(value)));
    case 'uint64Value':
      return new Uint(BigInt(String(value)));
    case 'doubleValue':
      return new Double(Number(value));
    case 'stringValue':
    case 'boolValue':
    case 'nullValue':
      return value === 'NULL_VALUE' ? null : (value as Value);
    case 'bytesValue':
      return new Uint8Array(Buffer.from(String(value), 'base64'));
    case 'typeValue':
      return new TypeValue(String(value));
    case 'listValue': {
      const items = entriesOf(value, 'values').map(fromWire);
      return items.includes(undefined) ? undefined : new ArrayList(items as Value[]);
    }
    case 'mapValue': {
      const map = new EntryMap();
      for (const entry of entriesOf(value, 'entries')) {
        const [key, item] = [fromWire(entry['key'] as WireValue), fromWire(entry['value'] as WireValue)];
        if (key === undefined || item === undefined) return undefined;
        map.insert(key, item);
      }
      return map;
    }
    default:
      return undefined;
  }
}

const PRIMITIVES: Record<string, Type> = {
  BOOL: types.BOOL,
  INT64: types.INT,
  UINT64: types.UINT,
  DOUBLE: types.DOUBLE,
  STRING: types.STRING,
  BYTES: types.BYTES,
};
const WELL_KNOWN: Record<string, Type> = {
  ANY: new Type('any', 'google.protobuf.Any'),
  TIMESTAMP: types.TIMESTAMP,
  DURATION: types.DURATION,
};

/** Converts a type of the suite; undefined if it is a protobuf message. */
export function typeFromWire(wire: Wire): Type | undefined {
  const [kind, value] = Object.entries(wire)[0] ?? [];
  const inner = (key: string): Type | undefined => {
    const part = (value as Wire)[key];
    return part === undefined ? undefined : typeFromWire(part as Wire);
  };
  switch (kind) {
    case 'primitive':
      return PRIMITIVES[String(value)];
    case 'wellKnown':
      return WELL_KNOWN[String(value)];
    case 'wrapper': {
      const type = PRIMITIVES[String(value)];
      return type && new Type(type.kind, type.name, [], true);
    }
    case 'dyn':
      return types.DYN;
    case 'null':
      return types.NULL;
    case 'typeParam':
      return types.paramType(String(value));
    case 'listType': {
      const elem = inner('elemType');
      return elem && types.listOf(elem);
    }
    case 'mapType': {
      const [key, item] = [inner('keyType'), inner('valueType')];
      return key && item && types.mapOf(key, item);
    }
    case 'type': {
      const param = Object.keys(value as Wire).length === 0 ? types.DYN : typeFromWire(value as Wire);
      return param && types.typeOf(param);
    }
    case 'abstractType': {
      const { name, parameterTypes = [] } = value as { name: string; parameterTypes?: readonly Wire[] };
      const params = parameterTypes.map(typeFromWire);
      return params.includes(undefined) ? undefined : types.opaqueType(name, ...(params as Type[]));
    }
    default:
      return undefined;
  }
}
