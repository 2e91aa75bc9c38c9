import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import type { Content, FieldPlan, Plan, Scalar, UnionKind } from './plan.js';
import {
  ProtobufError,
  type ReverseWriter,
  WireReader,
  wireBytes,
  wireFixed64,
  wireVarint,
  wrongWireType,
} from './wire.js';

/** Messages nested deeper than this are rejected. */
const maxDepth = 1000;

/** Writes the fields of a message, the last one first. */
export function encodeInto(writer: ReverseWriter, plan: Plan, object: JsonObject): void {
  for (const field of plan.fields) {
    if (field.name === '') writeInner(writer, field, object);
    else writeField(writer, field, object[field.name]);
  }
}

function writeField(writer: ReverseWriter, field: FieldPlan, value: JsonValue | undefined): void {
  if (field.map) {
    if (isObject(value)) writeMap(writer, field, value);
  } else if (field.repeated) {
    if (!Array.isArray(value)) return;
    for (let i = value.length - 1; i >= 0; i--) writeInner(writer, field, value[i] ?? null);
  } else if (value !== undefined && value !== null) {
    writeInner(writer, field, value);
  } else if (field.value) {
    writeInner(writer, field, null);
  }
}

/** Writes a value with its tag. Null stands for the zero value. */
function writeInner(writer: ReverseWriter, field: Pick<FieldPlan, 'id' | 'content'>, value: JsonValue): void {
  const { content } = field;
  if ('scalar' in content) {
    writeScalar(writer, field.id, content.scalar, value);
    return;
  }
  const before = writer.length;
  writeContent(writer, content, value);
  writer.head(field.id, before);
}

function writeContent(writer: ReverseWriter, content: Exclude<Content, { scalar: Scalar }>, value: JsonValue): void {
  if ('special' in content) content.special.write(writer, value);
  else if ('union' in content) writeUnion(writer, content.union, content.plan(), value);
  else encodeInto(writer, content.plan(), isObject(value) ? value : {});
}

function writeScalar(writer: ReverseWriter, id: number, scalar: Scalar, value: JsonValue): void {
  switch (scalar) {
    case 'string':
      writer.textField(id, typeof value === 'string' ? value : '');
      return;
    case 'bytes': {
      const before = writer.length;
      writer.bytes(Buffer.from(typeof value === 'string' ? value : '', 'base64'));
      writer.head(id, before);
      return;
    }
    case 'bool':
      writer.varint(value === true ? 1 : 0);
      break;
    case 'double':
      writer.double(Number(value ?? 0));
      writer.tag(id, wireFixed64);
      return;
    case 'int32':
    case 'int64':
      if (typeof value === 'bigint') writer.bigVarint(value);
      else writer.varint(typeof value === 'number' ? Math.trunc(value) : 0);
      break;
  }
  writer.tag(id, wireVarint);
}

/** Writes the entries in the order of their keys, as Go's generated code does. */
function writeMap(writer: ReverseWriter, field: FieldPlan, map: JsonObject): void {
  const keys = Object.keys(map).sort();
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] as string;
    const before = writer.length;
    writeInner(writer, { id: 2, content: field.content }, map[key] ?? null);
    writer.textField(1, key);
    writer.head(field.id, before);
  }
}

function writeUnion(writer: ReverseWriter, kind: UnionKind, props: Plan, value: JsonValue): void {
  const schema = { id: 1, content: { plan: () => props } };
  if (kind === 'JSONSchemaPropsOrBool') {
    if (isObject(value)) writeInner(writer, { ...schema, id: 2 }, value);
    writeScalar(writer, 1, 'bool', value === true || isObject(value));
    return;
  }
  if (Array.isArray(value)) {
    for (let i = value.length - 1; i >= 0; i--) {
      if (kind === 'JSONSchemaPropsOrArray') writeInner(writer, { ...schema, id: 2 }, value[i] ?? null);
      else writeScalar(writer, 2, 'string', value[i] ?? null);
    }
  } else if (isObject(value)) {
    writeInner(writer, schema, value);
  }
}

/** Reads a message into a JSON tree. Skips unknown fields, and empty ones that JSON omits. */
export function decodeMessage(plan: Plan, bytes: Uint8Array, depth: number): JsonObject {
  const object: JsonObject = {};
  readInto(object, plan, bytes, depth);
  return object;
}

function readInto(object: JsonObject, plan: Plan, bytes: Uint8Array, depth: number): void {
  if (depth > maxDepth) throw new ProtobufError('proto: message is nested too deeply');
  const reader = new WireReader(bytes);
  while (!reader.done) {
    const field = plan.byId.get(reader.field(plan.message));
    if (field === undefined) reader.skip(reader.wireType);
    else if (field.repeated) readRepeated(object, field, reader, depth);
    else if (field.name === '') readInto(object, planOf(field.content), expectBytes(reader, field), depth + 1);
    else if (field.map) readEntry(object, field, expectBytes(reader, field), depth);
    else readSingle(object, field, reader, depth);
  }
}

function planOf(content: Content): Plan {
  if (!('plan' in content)) throw new ProtobufError('proto: not a message');
  return content.plan();
}

function readSingle(object: JsonObject, field: FieldPlan, reader: WireReader, depth: number): void {
  const { content, name } = field;
  const known = object[name];
  // A message in several parts is merged.
  if (isObject(known) && 'plan' in content && !('union' in content)) {
    readInto(known, content.plan(), expectBytes(reader, field), depth + 1);
    return;
  }
  const value = readValue(field, reader, depth);
  if (value === null) return;
  if (!(field.value && isZero(value))) object[name] = value;
  else if (known !== undefined) Reflect.deleteProperty(object, name);
}

function isZero(value: JsonValue): boolean {
  if (typeof value !== 'object') return value === '' || value === 0 || value === 0n || value === false;
  if (value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}

function expectBytes(reader: WireReader, field: FieldPlan): Uint8Array {
  if (reader.wireType !== wireBytes) throw wrongWireType(reader.wireType, field.goName);
  return reader.bytes();
}

function readRepeated(object: JsonObject, field: FieldPlan, reader: WireReader, depth: number): void {
  let list = object[field.name];
  if (!Array.isArray(list)) {
    list = [];
    object[field.name] = list;
  }
  const packed = 'scalar' in field.content && (field.content.scalar === 'int32' || field.content.scalar === 'int64');
  if (packed && reader.wireType === wireBytes) {
    const inner = new WireReader(reader.bytes());
    while (!inner.done) list.push(integer(inner.varint()));
    return;
  }
  list.push(readValue(field, reader, depth) ?? {});
}

/** Reads a map entry. Go's generated code does not check the wire types of a map's keys and values. */
function readEntry(object: JsonObject, field: FieldPlan, bytes: Uint8Array, depth: number): void {
  const reader = new WireReader(bytes);
  let key = '';
  let value: JsonValue | undefined;
  while (!reader.done) {
    const tag = reader.size();
    const id = Math.floor(tag / 8) | 0;
    if (id === 1) key = reader.text();
    else if (id === 2) value = readContent(field, reader, wireTypeOf(field.content), depth);
    else reader.skip(tag % 8);
  }
  let map = object[field.name];
  if (!isObject(map)) {
    map = {};
    object[field.name] = map;
  }
  map[key] = value ?? ('scalar' in field.content ? '' : {});
}

function wireTypeOf(content: Content): number {
  if (!('scalar' in content)) return wireBytes;
  const { scalar } = content;
  return scalar === 'string' || scalar === 'bytes' ? wireBytes : scalar === 'double' ? wireFixed64 : wireVarint;
}

function readValue(field: FieldPlan, reader: WireReader, depth: number): JsonValue {
  return readContent(field, reader, reader.wireType, depth);
}

function readContent(field: FieldPlan, reader: WireReader, wireType: number, depth: number): JsonValue {
  const { content } = field;
  if (wireType !== wireTypeOf(content)) throw wrongWireType(wireType, field.goName);
  if ('scalar' in content) return readScalar(content.scalar, reader);
  const bytes = reader.bytes();
  if ('special' in content) return content.special.read(bytes);
  if ('union' in content) return readUnion(content.union, content.plan(), bytes, depth + 1);
  return decodeMessage(content.plan(), bytes, depth + 1);
}

function readScalar(scalar: Scalar, reader: WireReader): JsonValue {
  switch (scalar) {
    case 'string':
      return reader.text();
    case 'bytes':
      return reader.bytes().toString('base64');
    case 'double':
      return reader.double();
    case 'bool':
      return reader.varint() !== 0n;
    case 'int32':
      return Number(BigInt.asIntN(32, reader.varint()));
    case 'int64':
      return integer(reader.varint());
  }
}

/** Returns a number if it represents the value exactly, else the bigint. */
function integer(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function readUnion(kind: UnionKind, props: Plan, bytes: Uint8Array, depth: number): JsonValue {
  const reader = new WireReader(bytes);
  const items: JsonValue[] = [];
  let schema: JsonValue = null;
  let allows = false;
  while (!reader.done) {
    const tag = reader.size();
    const id = Math.floor(tag / 8);
    const isSchema = kind === 'JSONSchemaPropsOrBool' ? id === 2 : id === 1;
    if (kind === 'JSONSchemaPropsOrBool' && id === 1) allows = reader.varint() !== 0n;
    else if (tag % 8 === wireBytes && isSchema) schema = decodeMessage(props, reader.bytes(), depth);
    else if (tag % 8 === wireBytes && kind === 'JSONSchemaPropsOrArray' && id === 2)
      items.push(decodeMessage(props, reader.bytes(), depth));
    else if (kind === 'JSONSchemaPropsOrStringArray' && id === 2) items.push(reader.text());
    else reader.skip(tag % 8);
  }
  if (schema !== null) return schema;
  if (kind === 'JSONSchemaPropsOrBool') return allows;
  return items.length > 0 ? items : null;
}
