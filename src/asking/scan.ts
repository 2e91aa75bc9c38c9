import { parseJson } from '../apimachinery/json/decode.js';
import type { JsonObject, JsonValue } from '../apimachinery/json/json.js';
import { asBuffer } from '../util/bytes.js';
import type { FieldTree } from './field-paths.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;
const LOWER_T = 0x74;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;

/** Shorter integers are exact as numbers. */
const EXACT_DIGITS = 15;
const LONG_INTEGER = /\d{16}/;

/** The bytes are not JSON as the server writes it, without white space. */
class UnexpectedJson extends Error {}

/**
 * Returns an object that has only the given fields of the one whose JSON it reads. Other fields are passed over without being decoded, and
 * those behind the last field are not even read. Returns undefined if the JSON is not as the server writes it.
 */
export function scanFields(bytes: Uint8Array, fields: FieldTree): JsonObject | undefined {
  try {
    return new Scan(asBuffer(bytes), fields.leaves).object(fields);
  } catch (error) {
    if (error instanceof UnexpectedJson || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class Scan {
  private at = 0;
  private readonly end: number;

  constructor(
    private readonly bytes: Buffer,
    /** The number of values that may still come. If there are none, the rest is not read. */
    private left: number,
  ) {
    this.end = bytes.length;
  }

  /** Reads the object that begins here, as far as it is needed. */
  object(fields: FieldTree): JsonObject {
    const { bytes } = this;
    const { children } = fields;
    const out: JsonObject = {};
    let missing = fields.leaves;
    this.expect(OPEN_OBJECT);
    if (bytes[this.at] === CLOSE_OBJECT) {
      this.at++;
      this.left -= missing;
      return out;
    }
    for (;;) {
      let wanted: FieldTree | undefined;
      if (missing > 0) wanted = this.key(children);
      else this.skipKey();
      this.expect(COLON);
      if (wanted === undefined) this.skipValue();
      else {
        missing -= wanted.leaves;
        if (wanted.whole || bytes[this.at] !== OPEN_OBJECT) {
          out[wanted.key] = this.value();
          this.left -= wanted.leaves;
        } else out[wanted.key] = this.object(wanted);
        if (this.left === 0) return out;
      }
      const next = bytes[this.at++];
      if (next === CLOSE_OBJECT) {
        this.left -= missing;
        return out;
      }
      if (next !== COMMA) throw new UnexpectedJson();
    }
  }

  private expect(byte: number): void {
    if (this.bytes[this.at++] !== byte) throw new UnexpectedJson();
  }

  /** Reads a key and returns the field that it is, if it is wanted. */
  private key(children: readonly FieldTree[]): FieldTree | undefined {
    const { bytes } = this;
    this.expect(QUOTE);
    const start = this.at;
    const isPlain = this.skipRestOfString();
    const length = this.at - 1 - start;
    if (!isPlain) {
      const key = JSON.parse(bytes.toString('utf8', start - 1, this.at)) as string;
      return children.find((child) => child.key === key);
    }
    next: for (const child of children) {
      const { keyBytes } = child;
      if (keyBytes.length !== length) continue;
      for (let i = 0; i < length; i++) if (bytes[start + i] !== keyBytes[i]) continue next;
      return child;
    }
    return undefined;
  }

  private skipKey(): void {
    this.expect(QUOTE);
    this.skipRestOfString();
  }

  /** Moves behind the string whose quote has been read. Returns false if it has escapes. */
  private skipRestOfString(): boolean {
    const { bytes, end } = this;
    let { at } = this;
    let isPlain = true;
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.at = at + 1;
        return isPlain;
      }
      if (byte === BACKSLASH) {
        isPlain = false;
        at++;
      }
    }
    throw new UnexpectedJson();
  }

  private skipValue(): void {
    const { bytes, end } = this;
    const first = bytes[this.at];
    if (first === QUOTE) {
      this.at++;
      this.skipRestOfString();
      return;
    }
    let { at } = this;
    if (first !== OPEN_OBJECT && first !== OPEN_LIST) {
      for (; at < end; at++) {
        const byte = bytes[at];
        if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
          this.at = at;
          return;
        }
      }
      throw new UnexpectedJson();
    }
    let depth = 0;
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        for (at++; bytes[at] !== QUOTE; at++) {
          if (bytes[at] === BACKSLASH) at++;
          if (at >= end) throw new UnexpectedJson();
        }
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && --depth === 0) {
        this.at = at + 1;
        return;
      }
    }
    throw new UnexpectedJson();
  }

  /** Reads the value that begins here. */
  private value(): JsonValue {
    const { bytes } = this;
    const start = this.at;
    const first = bytes[start] ?? 0;
    if (first === QUOTE) {
      this.at++;
      const isPlain = this.skipRestOfString();
      if (isPlain) return bytes.toString('utf8', start + 1, this.at - 1);
    } else {
      this.skipValue();
      if (first === LOWER_T) return true;
      if (first === LOWER_F) return false;
      if (first === LOWER_N) return null;
      const number = this.integer(start);
      if (number !== undefined) return number;
    }
    const text = bytes.toString('utf8', start, this.at);
    return LONG_INTEGER.test(text) ? parseJson(text) : (JSON.parse(text) as JsonValue);
  }

  /** Returns the short integer that has been read, or undefined if it is none. */
  private integer(start: number): number | undefined {
    const { bytes, at: end } = this;
    const isNegative = bytes[start] === MINUS;
    const from = isNegative ? start + 1 : start;
    if (end - from > EXACT_DIGITS || end === from) return undefined;
    let number = 0;
    for (let at = from; at < end; at++) {
      const byte = bytes[at] ?? 0;
      if (byte < ZERO || byte > NINE) return undefined;
      number = number * 10 + byte - ZERO;
    }
    return isNegative ? -number : number;
  }
}
