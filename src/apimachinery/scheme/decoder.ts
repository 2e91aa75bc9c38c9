import { goKind } from '../json/decode.js';
import type { FloatLiterals, Parts, Replaced } from '../json/parser.js';
import { JsonError } from '../json/syntax.js';
import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import { canonicalQuantity, QuantityError } from '../meta/quantity.js';
import { canonicalMicroTime, canonicalTime, TimeError } from '../meta/time.js';
import { illegalBase64At } from '@annex/cel/formats/base64';
import { noteEmpty } from './empty-members.js';
import type { GoType } from './types.js';
import { inTypeOrder, withSortedKeys, ZERO_TIME, zeroValue } from './written-form.js';

/** The maximum number of unknown fields to report. */
const MAX_UNKNOWN = 100;

const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

interface DecoderOptions {
  /** Records unknown fields. */
  readonly strict?: boolean;
  readonly floats?: FloatLiterals | undefined;
  /** The values that a later null replaced. */
  readonly nulled?: Replaced | undefined;
  /** All members of objects with duplicate keys. The tree is then read for its errors, not for the result. */
  readonly parts?: Parts | undefined;
}

/**
 * Reads a JSON tree into a built-in type, and returns what the type's encoder would write: fields in the type's order, zero
 * values omitted or filled in as their tags say, times and quantities canonical, unknown fields dropped. The first type mismatch
 * is recorded and reported at the end; an error from a type's own decoder ends the work at once, as in Go.
 */
export class TypedDecoder {
  readonly unknown: string[] = [];
  private firstError: string | undefined;
  /** The name of the struct and the path of fields that errors name. */
  private struct = '';
  private readonly fieldStack: string[] = [];
  /** The path with indices and keys, kept only if unknown fields are recorded. */
  private path = '';

  private strict: boolean;
  private readonly floats: FloatLiterals | undefined;
  private readonly nulled: Replaced | undefined;
  private readonly parts: Parts | undefined;

  constructor({ strict = false, floats, nulled, parts }: DecoderOptions = {}) {
    this.strict = strict;
    this.floats = floats;
    this.nulled = nulled;
    this.parts = parts;
  }

  /** Decodes a value. Throws JsonError. */
  run(type: GoType, value: JsonValue): JsonValue {
    const result = this.value(type, value, undefined, '');
    if (this.firstError !== undefined) throw new JsonError(this.firstError);
    return result;
  }

  private mismatchText(what: string, type: string): string {
    const where = this.fieldStack.length === 0 ? `value` : `struct field ${this.struct}.${this.fieldStack.join('.')}`;
    return `json: cannot unmarshal ${what} into Go ${where} of type ${type}`;
  }

  /** Records a type mismatch. The value then counts as absent. */
  private mismatch(what: string, type: GoType): JsonValue {
    this.firstError ??= this.mismatchText(what, type.text);
    return zeroValue(type);
  }

  private literal(value: number | bigint, holder: JsonObject | JsonValue[] | undefined, key: string): string {
    return (holder === undefined ? undefined : this.floats?.get(holder)?.get(key)) ?? String(value);
  }

  private value(type: GoType, value: JsonValue, holder: JsonObject | JsonValue[] | undefined, key: string): JsonValue {
    switch (type.kind) {
      case 'ptr':
        return value === null || type.elem === undefined ? null : this.value(type.elem, value, holder, key);
      case 'custom':
        return this.custom(type, value, holder, key);
      case 'interface':
        return value;
      default:
        if (value === null) return zeroValue(type);
    }
    switch (type.kind) {
      case 'struct':
        return isObject(value) ? this.structValue(type, value) : this.mismatch(goKind(value), type);
      case 'map':
        return isObject(value) ? this.map(type, value) : this.mismatch(goKind(value), type);
      case 'slice':
        return Array.isArray(value) ? this.slice(type, value) : this.mismatch(goKind(value), type);
      case 'bytes':
        return this.bytes(type, value);
      case 'string':
        return typeof value === 'string' ? value : this.mismatch(goKind(value), type);
      case 'bool':
        return typeof value === 'boolean' ? value : this.mismatch(goKind(value), type);
      default:
        return this.number(type, value, holder, key);
    }
  }

  private number(type: GoType, value: JsonValue, holder: JsonObject | JsonValue[] | undefined, key: string): JsonValue {
    if (typeof value !== 'number' && typeof value !== 'bigint') return this.mismatch(goKind(value), type);
    if (type.kind === 'float64') return Number(value);
    const literal = this.literal(value, holder, key);
    const whole = /^-?[0-9]+$/.test(literal);
    const fits =
      typeof value === 'bigint'
        ? type.kind === 'int64'
        : type.kind === 'int32'
          ? value >= INT32.min && value <= INT32.max
          : Number.isSafeInteger(value);
    return whole && fits ? value : this.mismatch(`number ${literal}`, type);
  }

  private structValue(type: GoType, value: JsonObject): JsonObject {
    const given: JsonObject = {};
    const outerPath = this.path;
    const outerStruct = this.struct;
    for (const part of this.parts?.get(value) ?? [value]) this.members(type, part, given, outerPath);
    this.path = outerPath;
    this.struct = outerStruct;
    const out = inTypeOrder(type, given);
    if (type.name === SCHEMA) this.keepLiterals(value, out, (key) => key === 'default' || key === 'example');
    // In Go, `items` that is neither a schema nor a list of schemas is still a non-nil pointer.
    const items = type.name === SCHEMA ? value['items'] : undefined;
    if (items !== undefined && items !== null && out['items'] === undefined) noteEmpty(out, { items });
    return out;
  }

  /** Reads members in the order of the text, for the order of errors. The result has the order of the type. */
  private members(type: GoType, value: JsonObject, given: JsonObject, outerPath: string): void {
    for (const key in value) {
      const field = type.fields.get(key);
      if (field === undefined) {
        if (this.strict) this.foundUnknown(outerPath === '' ? key : `${outerPath}.${key}`);
        continue;
      }
      this.struct = type.name;
      this.fieldStack.push(...field.embedded, key);
      if (this.strict) this.path = outerPath === '' ? key : `${outerPath}.${key}`;
      const decoded = this.value(field.type, value[key] ?? this.valueBeforeNull(field.type, value, key), value, key);
      // Of all texts, only a zero time is decoded to null without an error.
      given[key] = decoded === null && typeof value[key] === 'string' ? ZERO_TIME : decoded;
      this.fieldStack.length -= 1 + field.embedded.length;
    }
  }

  /** Returns the value before a later null if Go's type has no null, because that null changes nothing. */
  private valueBeforeNull(type: GoType, object: JsonObject, key: string): JsonValue {
    const before = this.nulled?.get(object)?.get(key);
    return before !== undefined && KEPT_OVER_NULL.has(type.kind) ? before : null;
  }

  private foundUnknown(path: string): void {
    if (this.unknown.length < MAX_UNKNOWN && !this.unknown.includes(path)) this.unknown.push(path);
  }

  private map(type: GoType, value: JsonObject): JsonObject {
    const { elem } = type;
    if (elem === undefined) return value;
    const parts = this.parts?.get(value);
    if (parts !== undefined) {
      for (const part of parts) this.map(type, part);
      return value;
    }
    if (elem.kind === 'string') return withSortedKeys(this.texts(elem, value));
    const out: JsonObject = {};
    const outerPath = this.path;
    for (const key in value) {
      if (this.strict) this.path = outerPath === '' ? key : `${outerPath}.${key}`;
      out[key] = this.value(elem, value[key] ?? null, value, key);
      // When stored as Protobuf, empty bytes and null are the same.
      if (elem.kind === 'bytes') out[key] ??= '';
    }
    this.path = outerPath;
    return withSortedKeys(out);
  }

  /** Reads the most common maps: labels, annotations, data. */
  private texts(elem: GoType, value: JsonObject): JsonObject {
    const out: JsonObject = {};
    for (const key in value) {
      const member = value[key];
      out[key] = typeof member === 'string' ? member : this.value(elem, member ?? null, value, key);
    }
    return out;
  }

  private slice(type: GoType, value: JsonValue[]): JsonValue[] {
    const { elem } = type;
    if (elem === undefined) return value;
    const outerPath = this.path;
    const out = value.map((item, i) => {
      if (this.strict) this.path = `${outerPath}[${i}]`;
      return this.value(elem, item, value, String(i));
    });
    this.path = outerPath;
    if (elem.text === 'v1.JSON') this.keepLiterals(value, out, () => true);
    return out;
  }

  /** Keeps the literals of floats in raw JSON, where they remain floats. */
  private keepLiterals(
    from: JsonObject | JsonValue[],
    to: JsonObject | JsonValue[],
    isRaw: (key: string) => boolean,
  ): void {
    const kept = [...(this.floats?.get(from) ?? [])].filter(([key]) => isRaw(key));
    if (kept.length > 0) this.floats?.set(to, new Map(kept));
  }

  private bytes(type: GoType, value: JsonValue): JsonValue {
    if (Array.isArray(value)) {
      const numbers = value.map((item) => {
        if (item === null) return 0;
        if (typeof item === 'number' && Number.isInteger(item) && item >= 0 && item < 256) return item;
        const number = typeof item === 'number' || typeof item === 'bigint';
        this.mismatch(number ? `number ${String(item)}` : goKind(item), UINT8);
        return 0;
      });
      return Buffer.from(numbers).toString('base64');
    }
    if (typeof value !== 'string') return this.mismatch(goKind(value), type);
    const decoded = Buffer.from(value, 'base64').toString('base64');
    if (decoded === value) return value;
    const bad = illegalBase64At(Buffer.from(value, 'utf8'), 'standard');
    if (bad === undefined) return decoded;
    this.firstError ??= `illegal base64 data at input byte ${bad}`;
    return null;
  }

  /** Decodes types that have a decoder of their own. */
  private custom(type: GoType, value: JsonValue, holder: JsonObject | JsonValue[] | undefined, key: string): JsonValue {
    switch (type.text) {
      case 'v1.Time':
        return this.time(value, canonicalTime);
      case 'v1.MicroTime':
        return this.time(value, canonicalMicroTime);
      case 'resource.Quantity':
        return this.quantity(value, holder, key);
      case 'intstr.IntOrString':
        return this.intOrString(value, holder, key);
      case 'v1.JSONSchemaPropsOrBool':
      case 'v1.JSONSchemaPropsOrArray':
      case 'v1.JSONSchemaPropsOrStringArray':
        return this.schemaOr(type, value);
      default:
        // Raw JSON: FieldsV1, RawExtension, JSON.
        return value;
    }
  }

  private time(value: JsonValue, canonical: (text: string) => string | null): JsonValue {
    if (value === null) return null;
    if (typeof value !== 'string') throw new JsonError(this.mismatchText(goKind(value), 'string'));
    try {
      return canonical(value);
    } catch (error) {
      throw error instanceof TimeError ? new JsonError(error.message) : error;
    }
  }

  private quantity(value: JsonValue, holder: JsonObject | JsonValue[] | undefined, key: string): JsonValue {
    if (value === null) return '0';
    const number = typeof value === 'number' || typeof value === 'bigint';
    const text = number ? this.literal(value, holder, key) : typeof value === 'string' ? value.trim() : 'x';
    try {
      return canonicalQuantity(text);
    } catch (error) {
      throw error instanceof QuantityError ? new JsonError(error.message) : error;
    }
  }

  private intOrString(value: JsonValue, holder: JsonObject | JsonValue[] | undefined, key: string): JsonValue {
    if (typeof value === 'string') return value;
    if (value === null) return 0;
    if (typeof value === 'number' || typeof value === 'bigint') {
      const literal = this.literal(value, holder, key);
      const fits = /^-?[0-9]+$/.test(literal) && Number(value) >= INT32.min && Number(value) <= INT32.max;
      if (fits) return value;
      throw new JsonError(this.mismatchText(`number ${literal}`, 'int32'));
    }
    throw new JsonError(this.mismatchText(goKind(value), 'int32'));
  }

  /** Reads a schema or something simpler, within a schema. As in kube-apiserver, unknown fields in it are not reported. */
  private schemaOr(type: GoType, value: JsonValue): JsonValue {
    const { elem } = type;
    const { strict, firstError } = this;
    this.strict = false;
    this.firstError = undefined;
    try {
      const read = this.readSchemaOr(type, elem, value);
      // A type's own decoder fails with the error inside it, and so does everything around it.
      const inside = this.nestedError();
      if (inside !== undefined) throw new JsonError(inside);
      this.firstError = firstError;
      return read;
    } finally {
      this.strict = strict;
    }
  }

  private nestedError(): string | undefined {
    return this.firstError;
  }

  private readSchemaOr(type: GoType, elem: GoType | undefined, value: JsonValue): JsonValue {
    if (isObject(value)) return elem === undefined ? value : this.value(elem, value, undefined, '');
    if (type.text === 'v1.JSONSchemaPropsOrBool') {
      if (typeof value === 'boolean') return value;
      throw new JsonError('boolean or JSON schema expected');
    }
    if (!Array.isArray(value) || value.length === 0) return null;
    if (type.text === 'v1.JSONSchemaPropsOrArray') {
      return elem === undefined ? value : value.map((item) => this.value(elem, item, value, ''));
    }
    return value.map((item) => (typeof item === 'string' ? item : this.mismatch(goKind(item), STRING)));
  }
}

const SCHEMA = 'JSONSchemaProps';
const KEPT_OVER_NULL: ReadonlySet<GoType['kind']> = new Set<GoType['kind']>([
  'struct',
  'string',
  'bool',
  'int32',
  'int64',
  'float64',
]);
const UINT8: GoType = { kind: 'int32', text: 'uint8', name: 'uint8', elem: undefined, fields: new Map() };
const STRING: GoType = { kind: 'string', text: 'string', name: 'string', elem: undefined, fields: new Map() };
