import { type JsonValue, stringifyJson } from '../json/json.js';
import { parseJson } from '../json/decode.js';
import { ProtobufError, type ReverseWriter, WireReader, wireBytes, wireVarint, wrongWireType } from './wire.js';

/** Converts between JSON and messages that are not ordinary ones. */
export interface SpecialValue {
  write(writer: ReverseWriter, value: JsonValue): void;
  read(bytes: Uint8Array): JsonValue;
}

const rfc3339 = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)$/;

/** Parses a time in JSON to seconds since the epoch and nanoseconds; undefined for null, '', and Go's zero time. */
function parseTime(value: JsonValue): { seconds: bigint; nanos: number } | undefined {
  if (value === null || value === '') return undefined;
  const match = typeof value === 'string' ? rfc3339.exec(value) : null;
  const millis = match === null ? NaN : Date.parse(`${match[1] ?? ''}${match[3] ?? ''}`.toUpperCase());
  if (match === null || Number.isNaN(millis))
    throw new ProtobufError(`cannot encode ${stringifyJson(value)} as a time`);
  const seconds = BigInt(Math.floor(millis / 1000));
  return seconds === zeroTimeSeconds ? undefined : { seconds, nanos: Number((match[2] ?? '').padEnd(9, '0')) };
}

/** Unix seconds of 0001-01-01T00:00:00Z. */
const zeroTimeSeconds = -62135596800n;

function timeValue(digits: 0 | 6): SpecialValue {
  return {
    write(writer, value) {
      const time = parseTime(value);
      if (time === undefined) return;
      writer.varint(digits === 0 ? 0 : Math.floor(time.nanos / 1000) * 1000);
      writer.tag(2, wireVarint);
      writer.bigVarint(time.seconds);
      writer.tag(1, wireVarint);
    },
    read(bytes) {
      const fields = readTimestamp(bytes);
      const seconds = fields.get(1) ?? 0n;
      const nanos = Number(fields.get(2) ?? 0n);
      if (seconds === 0n && nanos === 0) return null;
      const millis = Number(seconds) * 1000;
      if (!(Math.abs(millis) <= 8.64e15)) throw new ProtobufError('proto: time out of range');
      const text = new Date(millis).toISOString().slice(0, -5);
      return digits === 0 ? `${text}Z` : `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
    },
  };
}

function readTimestamp(bytes: Uint8Array): Map<number, bigint> {
  const reader = new WireReader(bytes);
  const fields = new Map<number, bigint>();
  while (!reader.done) {
    const id = reader.field('Timestamp');
    if (id > 2) reader.skip(reader.wireType);
    else if (reader.wireType === wireVarint) fields.set(id, reader.varint());
    else throw wrongWireType(reader.wireType, id === 1 ? 'Seconds' : 'Nanos');
  }
  return fields;
}

function readIntegers(bytes: Uint8Array): Map<number, bigint> {
  const reader = new WireReader(bytes);
  const fields = new Map<number, bigint>();
  while (!reader.done) {
    const tag = reader.size();
    if (tag % 8 === wireVarint) fields.set(Math.floor(tag / 8), reader.varint());
    else reader.skip(tag % 8);
  }
  return fields;
}

/** A message with one bytes field that contains JSON. */
const rawJson: SpecialValue = {
  write(writer, value) {
    writer.textField(1, stringifyJson(value));
  },
  read(bytes) {
    const raw = readBytes(bytes, 1);
    if (raw === undefined || raw.length === 0) return null;
    return parseJson(raw);
  },
};

/** Returns the last occurrence of a bytes field. */
function readBytes(bytes: Uint8Array, id: number): Buffer | undefined {
  const reader = new WireReader(bytes);
  let found: Buffer | undefined;
  while (!reader.done) {
    const tag = reader.size();
    if (tag === id * 8 + wireBytes) found = reader.bytes();
    else reader.skip(tag % 8);
  }
  return found;
}

const quantity: SpecialValue = {
  write(writer, value) {
    writer.textField(1, typeof value === 'string' ? value : value === null ? '0' : stringifyJson(value));
  },
  read: (bytes) => readBytes(bytes, 1)?.toString() ?? '0',
};

const intOrString: SpecialValue = {
  write(writer, value) {
    const isText = typeof value === 'string';
    writer.textField(3, isText ? value : '');
    if (typeof value === 'bigint') writer.bigVarint(value);
    else writer.varint(typeof value === 'number' ? Math.trunc(value) : 0);
    writer.tag(2, wireVarint);
    writer.varint(isText ? 1 : 0);
    writer.tag(1, wireVarint);
  },
  read(bytes) {
    const fields = readIntegers(bytes);
    if ((fields.get(1) ?? 0n) === 1n) return readBytes(bytes, 3)?.toString() ?? '';
    return Number(BigInt.asIntN(32, fields.get(2) ?? 0n));
  },
};

/** A list of strings in a message of its own. */
const stringItems: SpecialValue = {
  write(writer, value) {
    const items = Array.isArray(value) ? value : [];
    for (let i = items.length - 1; i >= 0; i--) {
      const item = items[i];
      writer.textField(1, typeof item === 'string' ? item : stringifyJson(item ?? null));
    }
  },
  read(bytes) {
    const reader = new WireReader(bytes);
    const items: string[] = [];
    while (!reader.done) {
      const tag = reader.size();
      if (tag === 8 + wireBytes) items.push(reader.text());
      else reader.skip(tag % 8);
    }
    return items;
  },
};

const meta = '.k8s.io.apimachinery.pkg.apis.meta.v1';
const runtime = '.k8s.io.apimachinery.pkg.runtime';

/** Special values by the full name of the message. */
export const specialValues: ReadonlyMap<string, SpecialValue> = new Map([
  [`${meta}.Time`, timeValue(0)],
  [`${meta}.MicroTime`, timeValue(6)],
  [`${meta}.FieldsV1`, rawJson],
  [`${meta}.Verbs`, stringItems],
  [`${runtime}.RawExtension`, rawJson],
  ['.k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON', rawJson],
  ['.k8s.io.apimachinery.pkg.api.resource.Quantity', quantity],
  ['.k8s.io.apimachinery.pkg.util.intstr.IntOrString', intOrString],
  ['.k8s.io.api.authentication.v1.ExtraValue', stringItems],
  ['.k8s.io.api.authorization.v1.ExtraValue', stringItems],
  ['.k8s.io.api.certificates.v1.ExtraValue', stringItems],
]);
