import { equal } from '../values/operators.js';
import { keysOf, chargeWork } from '../work.js';
import {
  CelError,
  CelList,
  CelMap,
  Double,
  Duration,
  type FieldSite,
  Opaque,
  Timestamp,
  type Value,
  mapKey,
} from '../values/value.js';
import { MAX_INT, integer } from '../values/integer.js';
import { parseDate, parseDuration, readTimestamp } from '../values/time.js';
import { illegalBase64At } from '../formats/base64.js';
import { timeParseError } from '../formats/time.js';

/** Any JSON value. Integral numbers are ints; other numbers and instances of Number are doubles. */
export type Json = unknown;

/** Converts stored JSON into a value. */
export type Adapter = (json: Json) => Value;

export type JsonMap = Record<string, Json>;

export const isJsonMap = (value: Json): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Compares plain JSON, ignoring the order of keys. */
export function equalJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  chargeWork(1);
  if (a instanceof Number && b instanceof Number) return Number(a) === Number(b);
  if (a instanceof Number || b instanceof Number) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!equalJson(a[i], b[i])) return false;
    return true;
  }
  if (!isJsonMap(a) || !isJsonMap(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]))
  );
}

class JsonList extends CelList {
  constructor(readonly items: readonly Json[]) {
    super();
  }

  get size(): number {
    return this.items.length;
  }

  get(index: number): Value {
    return fromJson(this.items[index]);
  }

  override next(index: number, spent: Value | undefined): Value {
    const json = this.items[index];
    const isObject = isJsonMap(json) && !isValue(json) && !(json instanceof Number);
    return spent instanceof JsonObject && isObject ? spent.rebind(json) : fromJson(json);
  }
}

class JsonObject extends CelMap {
  private count = -1;

  constructor(private members: JsonMap) {
    super();
  }

  /** Reuses this value for another object. */
  rebind(members: JsonMap): this {
    this.members = members;
    this.count = -1;
    return this;
  }

  get size(): number {
    if (this.count < 0) this.count = keysOf(this.members).length;
    return this.count;
  }

  find(key: Value): Value | undefined {
    const slot = mapKey(key);
    return typeof slot === 'string' ? this.field(slot) : undefined;
  }

  field(name: string): Value | undefined {
    return Object.hasOwn(this.members, name) ? fromJson(this.members[name]) : undefined;
  }

  override select(site: FieldSite): Value | undefined {
    const json = site.inherited ? undefined : this.members[site.name];
    if (typeof json === 'string') return json;
    if (typeof json === 'number' && Number.isSafeInteger(json)) return json + 0;
    return json === undefined ? this.field(site.name) : fromJson(json);
  }

  keys(): readonly Value[] {
    return keysOf(this.members);
  }
}

const isValue = (json: object): json is CelMap | CelList | Opaque | CelError =>
  json instanceof CelMap || json instanceof CelList || json instanceof Opaque || json instanceof CelError;

/** Converts JSON into a value. The parts are converted on access. Values of the engine are returned unchanged. */
export function fromJson(json: Json): Value {
  switch (typeof json) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return json;
    case 'number':
      return Number.isSafeInteger(json) ? json + 0 : new Double(json);
    case 'undefined':
      return null;
    default:
  }
  if (json === null) return null;
  if (Array.isArray(json)) return new JsonList(json);
  if (typeof json === 'object' && isValue(json)) return json;
  if (json instanceof Number) return new Double(Number(json));
  return isJsonMap(json) ? new JsonObject(json) : new CelError(`unsupported conversion to ref.Val: (${typeof json})`);
}

/** A value of unknown type that the schema preserves. It supports only comparison. */
export class Preserved extends Opaque {
  readonly typeName = 'unknown';

  constructor(readonly json: Json) {
    super();
  }

  equals(other: Value): boolean {
    return other instanceof Preserved ? equalJson(this.json, other.json) : equal(fromJson(this.json), other) === true;
  }
}

/** The Go type of a JSON value, as Go prints it. */
function goType(json: Json): string {
  if (json === null || json === undefined) return '<nil>';
  if (typeof json === 'string') return 'string';
  if (typeof json === 'boolean') return 'bool';
  if (typeof json === 'bigint') return 'int64';
  if (typeof json === 'number') return Number.isInteger(json) ? 'int64' : 'float64';
  if (json instanceof Number) return 'float64';
  return Array.isArray(json) ? '[]interface {}' : 'map[string]interface {}';
}

const wrong = (expected: string, json: Json): CelError =>
  new CelError(`invalid data, expected ${expected}, got ${goType(json)}`);

export const adaptInt: Adapter = (json) => {
  if (typeof json === 'number' && Number.isSafeInteger(json)) return json + 0;
  if (typeof json === 'bigint') return integer(json) ?? wrong('int', 0.5);
  return wrong('int', json);
};

export const adaptDouble: Adapter = (json) =>
  typeof json === 'number' || typeof json === 'bigint' || json instanceof Number
    ? new Double(Number(json))
    : wrong('float', json);

export const adaptBool: Adapter = (json) => (typeof json === 'boolean' ? json : wrong('bool', json));

export const adaptIntOrString: Adapter = (json) => {
  if (typeof json === 'string') return json;
  if (typeof json === 'number' && Number.isSafeInteger(json)) return json + 0;
  if (typeof json === 'bigint') return json;
  return new CelError('invalid data, expected XIntOrString value to be either a string or integer');
};

const UNIT_NAMES: readonly (readonly [bigint, readonly string[]])[] = [
  [1n, ['ns', 'nano']],
  [1000n, ['us', 'µs', 'micro']],
  [1000000n, ['ms', 'milli']],
  [1000000000n, ['s', 'sec']],
  [60000000000n, ['m', 'min']],
  [3600000000000n, ['h', 'hr', 'hour']],
  [86400000000000n, ['d', 'day']],
  [604800000000000n, ['w', 'wk', 'week']],
];

/** A number begins where no other digit precedes it, and spaces belong to one number: so the search is linear in any text. */
const AMOUNT = /(?<!\d)(\d+)\s*([A-Za-zµ]+)/g;

/** Parses a duration in the OpenAPI format: a Go duration, or amounts with longer unit names. */
function parseFormatDuration(text: string): bigint | undefined {
  const go = parseDuration(text);
  if (go !== undefined) return go;
  let total: bigint | undefined;
  for (const [, amount = '', name = ''] of text.matchAll(AMOUNT)) {
    const count = BigInt(amount);
    if (count > MAX_INT) return undefined;
    const unit = name.toLowerCase();
    for (const [nanos, names] of UNIT_NAMES) {
      names.forEach((known, i) => {
        if (unit === known || (i === names.length - 1 && unit.startsWith(known))) total = (total ?? 0n) + count * nanos;
      });
    }
  }
  return total === undefined ? undefined : BigInt.asIntN(64, total);
}

function dateTime(text: string): Value {
  if (text === '') return new Timestamp(0, 0);
  const local = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(text) ? `${text}Z` : text;
  return (
    readTimestamp(local) ?? new CelError(`Invalid date-time formatted string ${text}: ${timeParseError(text, 'local')}`)
  );
}

/** The URL-safe alphabet. Go decodes with it too, although the format also accepts values with `+` and `/`. */
const BASE64 = /^(?:[\w-]{4})*(?:[\w-]{2}==|[\w-]{3}=)?$/;

function base64(text: string): Value {
  const clean = text.replaceAll('\n', '').replaceAll('\r', '');
  if (BASE64.test(clean)) return new Uint8Array(Buffer.from(clean, 'base64url'));
  const why = `illegal base64 data at input byte ${String(illegalBase64At(Buffer.from(text), 'url'))}`;
  return new CelError(`Invalid byte formatted string ${text}: ${why}`);
}

function text(read: (text: string) => Value): Adapter {
  return (json) => (typeof json === 'string' ? read(json) : wrong('string', json));
}

/** Returns the adapter of strings with the given format. */
export function stringAdapter(format: string): Adapter {
  switch (format) {
    case 'duration':
      return text((value) => {
        const nanos = parseFormatDuration(value);
        if (nanos !== undefined) return new Duration(nanos);
        return new CelError(`Invalid duration ${value}: unable to parse ${value} as duration`);
      });
    case 'date':
      return text(
        (value) =>
          parseDate(value) ?? new CelError(`Invalid date formatted string ${value}: ${timeParseError(value, 'date')}`),
      );
    case 'date-time':
      return text(dateTime);
    case 'byte':
      return text(base64);
    default:
      return (json) => (typeof json === 'string' ? json : wrong('string', json));
  }
}
