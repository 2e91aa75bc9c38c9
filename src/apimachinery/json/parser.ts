import { isInt64 } from '../../go/int64.js';
import { isObject, type JsonObject, type JsonValue } from './json.js';
import { NumberRangeError } from './syntax.js';

/** The literals of numbers that have a fraction or an exponent, or are integers outside int64: by their array or object, and key or index. */
export type FloatLiterals = Map<JsonObject | JsonValue[], Map<string, string>>;

/** The members of objects with duplicate keys, by object: one object per member, in the order of the text. */
export type Parts = Map<JsonObject, JsonObject[]>;

/** Values that were replaced, by their object and key. */
export type Replaced = Map<JsonObject, Map<string, JsonValue>>;

/**
 * Converts a JSON number as Kubernetes does: what parses as an int64 is an integer (a bigint beyond 2^53), anything else a float.
 * Throws a NumberRangeError if not even a float can hold it.
 */
export function convertNumber(text: string): number | bigint {
  if (!/[.eE]/.test(text)) {
    const integer = BigInt(text);
    if (isInt64(integer)) {
      const small = Number(integer);
      return Number.isSafeInteger(small) ? small : integer;
    }
  }
  const float = Number(text);
  if (!Number.isFinite(float)) throw new NumberRangeError(text);
  return float;
}

/** Replaces scalars that are not written in the usual notation with tokens. */
interface Tokens {
  concerns(text: string): boolean;
  token(text: string, value: JsonValue): JsonValue;
}

export interface ExactOptions {
  /** Called at each key before its value is read, with the path of the parent. `again` is true if the object already has the key. */
  onKey?: (parent: string, key: string, again: boolean) => void;
  /** Merges two objects under a duplicate key, as Go does when it decodes into a struct or a map. */
  merges?: boolean;
  /** Filled with the literals of floats: `1.0` is read as the number 1, but typed decoders do not accept it as an integer. */
  floats?: FloatLiterals;
  /** With `merges`, filled with values that a later null replaced; for some types such a null changes nothing. */
  nulled?: Replaced;
  /** Inspects the text of scalars, and replaces one that is not written in the usual notation with a token. */
  literals?: Tokens | undefined;
  /** Filled with all members of the objects with duplicate keys. The literals of their floats are found by part. */
  parts?: Parts;
}

/**
 * A plain parser for well-formed texts. It is slower than JSON.parse, but exact about numbers, and it detects duplicate keys. The
 * last value of a key wins.
 */
export class ExactParser {
  private at = 0;
  /** The literal of the float just read. */
  private literal: string | undefined;

  constructor(
    private readonly text: string,
    private readonly options: ExactOptions,
  ) {}

  parse(): JsonValue {
    this.skipSpace();
    return this.value('');
  }

  private skipSpace(): void {
    for (;;) {
      const c = this.text.charCodeAt(this.at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
      this.at++;
    }
  }

  private value(path: string): JsonValue {
    switch (this.text.charAt(this.at)) {
      case '{':
        return this.object(path);
      case '[':
        return this.array(path);
      case '"': {
        const start = this.at;
        return this.scalar(start, this.string());
      }
      case 't':
        this.at += 4;
        return true;
      case 'f':
        this.at += 5;
        return false;
      case 'n':
        this.at += 4;
        return null;
      default:
        return this.number();
    }
  }

  private object(path: string): JsonObject {
    const out: JsonObject = {};
    const seen = new Set<string>();
    const parts: JsonObject[] = [];
    let again = false;
    this.at++;
    this.skipSpace();
    while (this.text.charAt(this.at) !== '}') {
      const key = this.string();
      const repeated = seen.has(key);
      again ||= repeated;
      this.options.onKey?.(path, key, repeated);
      seen.add(key);
      this.skipSpace();
      this.at++;
      this.skipSpace();
      const value = this.value(path === '' ? key : `${path}.${key}`);
      if (this.options.merges === true) this.add(out, key, value);
      else out[key] = value;
      if (this.options.parts === undefined) this.keepLiteral(out, key);
      else this.keepPart(parts, out, key, value);
      this.skipSpace();
      if (this.text.charAt(this.at) === ',') {
        this.at++;
        this.skipSpace();
      }
    }
    this.at++;
    if (again) this.options.parts?.set(out, parts);
    return out;
  }

  private keepPart(parts: JsonObject[], object: JsonObject, key: string, value: JsonValue): void {
    const part = { [key]: value };
    parts.push(part);
    const { literal } = this;
    this.keepLiteral(object, key);
    this.literal = literal;
    this.keepLiteral(part, key);
  }

  /** Sets a member; a second value of a key is merged into the first. */
  private add(object: JsonObject, key: string, value: JsonValue): void {
    const before = object[key];
    if (before !== undefined && before !== null && value === null) {
      const members = this.options.nulled?.get(object) ?? new Map<string, JsonValue>();
      members.set(key, before);
      this.options.nulled?.set(object, members);
    }
    object[key] = mergedField(key, before, value);
  }

  private array(path: string): JsonValue[] {
    const out: JsonValue[] = [];
    this.at++;
    this.skipSpace();
    while (this.text.charAt(this.at) !== ']') {
      const index = String(out.length);
      out.push(this.value(`${path}[${index}]`));
      this.keepLiteral(out, index);
      this.skipSpace();
      if (this.text.charAt(this.at) === ',') {
        this.at++;
        this.skipSpace();
      }
    }
    this.at++;
    return out;
  }

  private string(): string {
    const start = this.at++;
    for (;;) {
      const c = this.text.charCodeAt(this.at++);
      if (c === 0x5c) this.at++;
      else if (c === 0x22) break;
    }
    const literal = this.text.slice(start, this.at);
    if (!literal.includes('\\')) return literal.slice(1, -1);
    const decoded: unknown = JSON.parse(literal);
    // Lone surrogates become the replacement character.
    return Buffer.from(String(decoded), 'utf8').toString('utf8');
  }

  private number(): JsonValue {
    const start = this.at;
    while (isNumeric(this.text.charCodeAt(this.at))) this.at++;
    const literal = this.text.slice(start, this.at);
    const value = convertNumber(literal);
    const rounded = typeof value === 'number' && !Number.isSafeInteger(value);
    if (this.options.floats !== undefined && (rounded || /[.eE]/.test(literal))) this.literal = literal;
    return this.scalar(start, value);
  }

  private scalar(start: number, value: JsonValue): JsonValue {
    return this.options.literals?.token(this.text.slice(start, this.at), value) ?? value;
  }

  private keepLiteral(holder: JsonObject | JsonValue[], key: string): void {
    const { floats } = this.options;
    if (floats === undefined || this.literal === undefined) return;
    const members = floats.get(holder) ?? new Map<string, string>();
    members.set(key, this.literal);
    floats.set(holder, members);
    this.literal = undefined;
  }
}

/** Reports whether a character can be part of a number: a digit, a sign, a point or an exponent's letter. */
const isNumeric = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2b || code === 0x2e || (code | 0x20) === 0x65;

function merged(before: JsonValue | undefined, value: JsonValue): JsonValue {
  // Go decodes the elements of the second list into those of the first.
  if (Array.isArray(before) && Array.isArray(value))
    return value.map((item, i) => (isObject(item) ? merged(before[i], item) : item));
  if (!isObject(before) || !isObject(value)) return value;
  for (const key in value) before[key] = mergedField(key, before[key], value[key] ?? null);
  return before;
}

/** Schema fields that a second value replaces, because their types have decoders of their own. */
const REPLACED = new Set(['items', 'additionalItems', 'additionalProperties']);
/** Schema fields that map names to schemas: the map keeps its keys, but a second schema under a key replaces the first. */
const OF_SCHEMAS = new Set(['properties', 'patternProperties', 'definitions', 'dependencies']);

function mergedField(key: string, before: JsonValue | undefined, value: JsonValue): JsonValue {
  if (!isObject(before) || !isObject(value)) return merged(before, value);
  if (REPLACED.has(key)) return value;
  return OF_SCHEMAS.has(key) ? Object.assign(before, value) : merged(before, value);
}
