import type { JsonObject, JsonValue } from './json.js';
import { type ExactOptions, ExactParser, type FloatLiterals, type Parts, type Replaced } from './parser.js';
import { JsonError, jsonSyntaxError, MAX_DEPTH } from './syntax.js';
import { asBuffer } from '../../util/bytes.js';
import { textOfBytes, wellFormed } from '../../util/text/utf8.js';
import { quote } from '../../go/quote.js';

export { JsonError } from './syntax.js';

/** The maximum number of strict errors (duplicate or unknown fields) to collect for a request. */
const MAX_STRICT_ERRORS = 100;

/** Numbers with this many characters or more may not fit a double. */
const LONG_NUMBER = 16;

interface Scan {
  readonly depth: number;
  /** The number of keys, counted by their colons. */
  readonly keys: number;
  /** True if there is a number that JSON.parse may change, or an escaped surrogate. */
  readonly inexact: boolean;
  /** True if there is a number with a fraction or an exponent. */
  readonly floats: boolean;
  /** True if a key has an escape. */
  readonly escapedKeys: boolean;
}

/**
 * JSON.parse of V8 13 (Node 24) compares the text of a key, escapes and all, with the key that earlier objects of the same shape had there:
 * after an object with the key `a\\`, it may read the key `a\n` as `a\\`. A key that is misread always contains a backslash.
 */
const MISREADS_KEYS = process.versions.v8.startsWith('13.');

/** Reports whether some key contains a backslash. Without recursion: values are up to 10,000 levels deep. */
function hasBackslashKey(root: JsonValue): boolean {
  const waiting: (JsonValue | undefined)[] = [root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === 'object') waiting.push(item);
      continue;
    }
    for (const key in value) {
      if (key.includes('\\')) return true;
      const member = value[key];
      if (typeof member === 'object') waiting.push(member);
    }
  }
  return false;
}

/** Reports whether JSON.parse may have misread an escaped key of this value. */
const mayBeMisread = (value: JsonValue): boolean => MISREADS_KEYS && hasBackslashKey(value);

const LONG_INTEGER = /\d{16}/;
/** Finds the last escape of a key. What follows it up to the quote has none, so each character is looked at once. */
const ESCAPED_KEY = /\\.[^"\\]*"\s*:/;

/**
 * Parses a text that the server has written. Numbers of up to 15 digits are exact in JavaScript's own parser, which is several times faster.
 */
export const parseWritten = (text: string): JsonValue =>
  LONG_INTEGER.test(text) ? parseJson(text) : parseWithFloats(text);

/** Parses a text as JavaScript does, with numbers that are floats, but reads keys with escapes right. */
export function parseWithFloats(text: string): JsonValue {
  const value = JSON.parse(text) as JsonValue;
  return text.includes('\\') && ESCAPED_KEY.test(text) && mayBeMisread(value)
    ? new ExactParser(text, {}).parse()
    : value;
}

/** Scans the bytes once. The result is meaningful only if the text is well-formed. */
function scan(bytes: Uint8Array): Scan {
  let depth = 0;
  let deepest = 0;
  let keys = 0;
  let inexact = false;
  let floats = false;
  let escaped = false;
  let escapedKeys = false;
  const { length } = bytes;
  for (let i = 0; i < length; i++) {
    const c = bytes[i] as number;
    if (c === 0x22) {
      escaped = false;
      for (i++; i < length; i++) {
        const s = bytes[i] as number;
        if (s === 0x22) break;
        if (s !== 0x5c) continue;
        escaped = true;
        i++;
        // \uD8.. to \uDF..: leave pairs and halves to the exact parser.
        if (bytes[i] === 0x75 && ((bytes[i + 1] as number) | 0x20) === 0x64 && (bytes[i + 2] as number) > 0x37)
          inexact = true;
      }
    } else if (c === 0x3a) {
      keys++;
      escapedKeys ||= escaped;
    } else if (c === 0x7b || c === 0x5b) {
      if (++depth > deepest) deepest = depth;
    } else if (c === 0x7d || c === 0x5d) depth--;
    else if (c >= 0x30 && c <= 0x39) {
      const start = i;
      // JSON.parse turns -0 into a float; in Go it is an integer.
      if (c === 0x30 && bytes[i - 1] === 0x2d && bytes[i + 1] !== 0x2e) inexact = true;
      let n = c;
      while ((n >= 0x30 && n <= 0x39) || n === 0x2e || n === 0x65 || n === 0x45 || n === 0x2b || n === 0x2d) {
        if (n === 0x2e) floats = true;
        else if (n === 0x65 || n === 0x45) floats = inexact = true;
        n = bytes[++i] ?? 0;
      }
      if (i - start >= LONG_NUMBER) inexact = true;
      i--;
    }
  }
  return { depth: deepest, keys, inexact, floats, escapedKeys };
}

function countKeys(value: JsonValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countKeys(item);
    return count;
  }
  for (const key in value) {
    count++;
    const member = value[key];
    if (typeof member === 'object') count += countKeys(member);
  }
  return count;
}

const asBytes = (input: Uint8Array | string): Uint8Array =>
  typeof input === 'string' ? Buffer.from(input, 'utf8') : input;

function asText(bytes: Uint8Array): string {
  const buffer = asBuffer(bytes);
  const text = buffer.toString('utf8');
  // Go turns each byte that is not UTF-8 into one character.
  return text.includes('\ufffd') ? wellFormed(textOfBytes(buffer)) : text;
}

function parseText(bytes: Uint8Array, text: string, scanned: Scan): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    throw new JsonError(jsonSyntaxError(bytes) ?? 'unexpected end of JSON input');
  }
  if (scanned.depth > MAX_DEPTH) throw new JsonError('exceeded max depth');
  return scanned.escapedKeys && mayBeMisread(value) ? new ExactParser(text, {}).parse() : value;
}

/** Parses a JSON text. Throws JsonError with Go's message. */
export function parseJson(input: Uint8Array | string): JsonValue {
  const bytes = asBytes(input);
  const text = typeof input === 'string' ? input : asText(bytes);
  const scanned = scan(bytes);
  const value = parseText(bytes, text, scanned);
  return scanned.inexact ? new ExactParser(text, {}).parse() : value;
}

/** Characters and notations that YAML reads differently from JSON, or not at all. */
const NOT_PLAIN = /[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff]|\\[u/]/;
const NEWLINE = 0x0a;
const SPACE = 0x20;

/** Reports whether a colon is separated from its key by a line break, which YAML does not allow. One pass: clients choose the text. */
function hasColonOnNextLine(text: string): boolean {
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    // Only JSON's spaces occur outside strings, and in a string of a well-formed text there is no line break.
    for (let at = colon - 1; at >= 0; at--) {
      const code = text.charCodeAt(at);
      if (code === NEWLINE) return true;
      if (code !== SPACE) break;
    }
  }
  return false;
}
/** A safe limit: YAML allows keys of at most 1024 characters in the text. */
const PLAIN_KEY = 128;
const PLAIN_DEPTH = 100;

/**
 * Parses a JSON text that means the same as YAML, as most applied configurations do. Undefined if that is not certain; the slower
 * YAML reader then decides.
 */
export function parsePlainJson(input: Uint8Array | string): JsonValue | undefined {
  const bytes = asBytes(input);
  if (bytes[0] !== 0x7b) return undefined;
  const scanned = scan(bytes);
  if (scanned.inexact || scanned.floats || scanned.depth > PLAIN_DEPTH) return undefined;
  const text = typeof input === 'string' ? input : asText(bytes);
  if (NOT_PLAIN.test(text) || hasColonOnNextLine(text)) return undefined;
  try {
    const value = JSON.parse(text) as JsonValue;
    if (scanned.escapedKeys && mayBeMisread(value)) return undefined;
    return isPlain(value) && countKeys(value) === scanned.keys ? value : undefined;
  } catch {
    return undefined;
  }
}

function isPlain(value: JsonValue | undefined): boolean {
  if (typeof value === 'number') return !Object.is(value, -0);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isPlain);
  for (const key in value) if (key.length > PLAIN_KEY || !isPlain(value[key])) return false;
  return true;
}

/** Returns the errors for duplicate fields, given by their paths. */
export const duplicateFieldErrors = (paths: readonly string[]): string[] =>
  paths.map((path) => `duplicate field ${quote(path)}`);

/** A text with duplicate keys, before any of them is dropped or merged. */
interface SourceJson {
  readonly value: JsonValue;
  readonly parts: Parts;
  readonly floats: FloatLiterals;
}

/** The result of parsing a text for a typed decoder. */
export interface DetailedJson {
  readonly value: JsonValue;
  /** Paths of duplicate fields, in the order of the text. */
  readonly duplicates: readonly string[];
  /** Present if there are duplicates: the position of each key in the text, by path, to put other findings in order. */
  readonly positions?: ReadonlyMap<string, number>;
  /** Present if the text has floats. */
  readonly floats?: FloatLiterals;
  /** Present if keys are duplicate and merged: the values that a later null replaced. */
  readonly nulled?: Replaced;
  /** Present if keys are duplicate: the text before merging, in which a typed decoder finds mismatches. */
  readonly source?: SourceJson;
  /** Strict errors that precede all others, verbatim: those of the YAML reader about duplicate keys. */
  readonly sourceErrors?: readonly string[];
}

export interface DecodeOptions {
  /** Reports duplicate keys. */
  readonly strict: boolean;
  /** Merges the objects under a duplicate key. */
  readonly merges?: boolean;
  /** Replaces scalars with tokens. */
  readonly literals?: ExactOptions['literals'];
}

/** Parses like parseJson, for decoders that compare with a schema. A text without duplicate keys and floats costs one walk over the result. */
export function decodeDetailed(
  input: Uint8Array | string,
  { strict, merges = false, literals }: DecodeOptions,
): DetailedJson {
  const bytes = asBytes(input);
  const text = typeof input === 'string' ? input : asText(bytes);
  const scanned = scan(bytes);
  const value = parseText(bytes, text, scanned);
  const repeated = (strict || merges) && countKeys(value) !== scanned.keys;
  const exact = scanned.inexact || scanned.floats || literals?.concerns(text) === true;
  if (!exact && !repeated) return { value, duplicates: [] };
  const floats: FloatLiterals = new Map<JsonObject | JsonValue[], Map<string, string>>();
  if (!repeated) return { value: new ExactParser(text, { floats, literals }).parse(), duplicates: [], floats };
  const duplicates = new Set<string>();
  const positions = new Map<string, number>();
  const onKey = (parent: string, key: string, again: boolean): void => {
    const path = parent === '' ? key : `${parent}.${key}`;
    if (again && duplicates.size < MAX_STRICT_ERRORS) {
      duplicates.add(path);
      positions.set(`duplicate ${path}`, positions.get(`duplicate ${path}`) ?? positions.size);
    } else if (!again && !positions.has(path)) positions.set(path, positions.size);
  };
  const nulled: Replaced = new Map();
  const source = { parts: new Map(), floats: new Map() } satisfies Omit<SourceJson, 'value'>;
  return {
    source: { ...source, value: new ExactParser(text, { ...source, literals }).parse() },
    value: new ExactParser(text, { onKey, floats, merges, nulled, literals }).parse(),
    duplicates: strict ? [...duplicates] : [],
    positions,
    floats,
    nulled,
  };
}

/** The beginning of the error for an object whose type cannot be read. */
export const UNREADABLE_TYPE = "couldn't get version/kind; json parse error: json: cannot unmarshal";
/** Go's text for the type with which it reads version and kind. */
export const GO_TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/**
 * Returns the apiVersion and kind of an object's text, as Go's decoder that reads nothing else finds them. Clients see its errors
 * for anything that is not a JSON object. An empty string means that the field is missing.
 */
export function typeMetaOf({ value, source }: DetailedJson): { readonly apiVersion: string; readonly kind: string } {
  return interpretTypeMeta(source?.value ?? value, source?.parts);
}

/** Returns the same for a value. `parts` is given for a value with duplicate keys. */
export function interpretTypeMeta(
  value: JsonValue,
  parts?: Parts,
): { readonly apiVersion: string; readonly kind: string } {
  const fail = (what: string, where: string): never => {
    throw new JsonError(`${UNREADABLE_TYPE} ${what} into Go ${where}`);
  };
  if (value === null) return { apiVersion: '', kind: '' };
  if (typeof value !== 'object' || Array.isArray(value)) {
    return fail(goKind(value), `value of type ${GO_TYPE_META}`);
  }
  const found = { apiVersion: '', kind: '' };
  for (const part of parts?.get(value) ?? [value]) {
    for (const key in part) {
      // Only this decoder matches names case-insensitively, and the last match wins.
      const name = key.length === 4 ? 'kind' : 'apiVersion';
      if (key !== name && key.toLowerCase() !== name.toLowerCase()) continue;
      const member = part[key];
      if (typeof member === 'string') found[name] = member;
      else if (member !== null) return fail(goKind(member), `struct field .${name} of type string`);
    }
  }
  return found;
}

/** Returns the name that Go's decoder uses for the kind of a JSON value. */
export function goKind(value: JsonValue | undefined): string {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || typeof value === 'bigint') return 'number';
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'array' : 'object';
}
