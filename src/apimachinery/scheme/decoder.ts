import { goKind } from '../json/decode.js';
import type { FloatLiterals, Parts, Replaced } from '../json/parser.js';
import { JsonError } from '../json/syntax.js';
import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import { canonicalQuantity, QuantityError } from '../meta/quantity.js';
import { canonicalMicroTime, canonicalTime, TimeError } from '../meta/time.js';
import { illegalBase64At } from '@annex/cel/formats/base64';
import { noteEmpty } from './empty-members.js';
import type { GoType } from './types.js';
import { inTypeOrder, withSortedKeys, zeroValue } from './written-form.js';

/** Most unknown fields that are reported. */
const MAX_UNKNOWN = 100;

const INT32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

interface DecoderOptions {
  /** Unknown fields are remembered. */
  readonly strict?: boolean;
  readonly floats?: FloatLiterals | undefined;
  /** What stood where a null came after it. */
  readonly nulled?: Replaced | undefined;
  /** All members of objects that have a key twice: the tree is then read for its errors, not for the result. */
  readonly parts?: Parts | undefined;
}

/**
 * Reads a JSON tree into a built-in type and gives what the type's encoder would write: fields in the type's order, zero
 * values left out or filled in as its tags say, times and quantities canonical, unknown fields gone. The first wrong type is
 * remembered and reported at the end; what a type's own decoder objects to ends the work at once, as in Go.
 */
export class TypedDecoder {
  readonly unknown: string[] = [];
  private firstError: string | undefined;
  /** Name of the struct, and path of fields, that errors name. */
  private struct = '';
  private readonly fieldStack: string[] = [];
  /** Path with indices and keys, kept only when unknown fields are wanted. */
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

  /** Throws JsonError. */
  run(type: GoType, value: JsonValue): JsonValue {
    const result = this.value(type, value, undefined, '');
    if (this.firstError !== undefined) throw new JsonError(this.firstError);
    return result;
  }

  private mismatchText(what: string, type: string): string {
    const where = this.fieldStack.length === 0 ? `value` : `struct field ${this.struct}.${this.fieldStack.join('.')}`;
    return `json: cannot unmarshal ${what} into Go ${where} of type ${type}`;
  }

  /** Notes a wrong type; the value is then as if it had not been there. */
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
    // A pointer to nothing is a pointer: what is neither a schema nor schemas.
    const items = type.name === SCHEMA ? value['items'] : undefined;
    if (items !== undefined && items !== null && out['items'] === undefined) noteEmpty(out, { items });
    return out;
  }

  /** In the order of the text, because of the order of errors; the result has the order of the type. */
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
      given[key] = this.value(field.type, value[key] ?? this.unlessNulled(field.type, value, key), value, key);
      this.fieldStack.length -= 1 + field.embedded.length;
    }
  }

  /** A null after a value changes nothing where Go's type has no null. */
  private unlessNulled(type: GoType, object: JsonObject, key: string): JsonValue {
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
      // Stored as Protobuf, no bytes and none at all are the same.
      if (elem.kind === 'bytes') out[key] ??= '';
    }
    this.path = outerPath;
    return withSortedKeys(out);
  }

  /** The commonest map: labels, annotations, data. */
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
      if (this.strict) this.path = `${outerPath}[${String(i)}]`;
      return this.value(elem, item, value, String(i));
    });
    this.path = outerPath;
    if (elem.text === 'v1.JSON') this.keepLiterals(value, out, () => true);
    return out;
  }

  /** What is raw JSON stays what it was: a float. */
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
    this.firstError ??= `illegal base64 data at input byte ${String(bad)}`;
    return null;
  }

  /** Types with a decoder of their own. */
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

  /** A schema or something simpler, within a schema. Unknown fields in it are not looked for, as in kube-apiserver. */
  private schemaOr(type: GoType, value: JsonValue): JsonValue {
    const { elem } = type;
    const { strict, firstError } = this;
    this.strict = false;
    this.firstError = undefined;
    try {
      const read = this.readSchemaOr(type, elem, value);
      // A decoder of its own fails with what is wrong inside, and so does all that it is part of.
      const inside = this.wrongInside();
      if (inside !== undefined) throw new JsonError(inside);
      this.firstError = firstError;
      return read;
    } finally {
      this.strict = strict;
    }
  }

  private wrongInside(): string | undefined {
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
