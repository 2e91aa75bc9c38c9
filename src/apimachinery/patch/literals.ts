import type { JsonObject, JsonValue } from '../json/json.js';
import type { FloatLiterals } from '../json/parser.js';
import { escapeHtml, goJson } from '../meta/meta.js';

interface Literal {
  readonly text: string;
  readonly value: JsonValue;
}

/** What an escape of Go's may stand for. */
const ESCAPED = /[<>&\u2028\u2029]/;
/** Escapes that Go does not write. */
const ODD_ESCAPE = /\\[^"\\nrt]/;

/** Beyond all integers of 64 bits, which are all that a JSON value has. */
const FIRST = 1n << 64n;

/** `-0` is an integer that is written in an odd way. */
const isFloat = ({ text, value }: Literal): boolean =>
  typeof value === 'number' && (/[.eE]/.test(text) || !Number.isSafeInteger(value));

/**
 * Scalars of a patch whose text is not the one in which their value is written: `1.0`, `"\u0041"`. kube-apiserver patches texts: such
 * a scalar equals only what is written like it, errors show it as it came, and a float stays one. While the patch is carried out a number that
 * stands for nothing else takes its place.
 */
export class Literals {
  private readonly tokens = new Map<string, bigint>();
  private readonly known: Literal[] = [];

  /** `compares`: values are compared by their texts, not only shown. */
  constructor(private readonly compares = false) {}

  /** Whether a text may hold such a scalar, numbers apart. */
  concerns(text: string): boolean {
    return ODD_ESCAPE.test(text) || (this.compares && ESCAPED.test(text));
  }

  /** The scalar, or what takes its place. */
  token(text: string, value: JsonValue): JsonValue {
    const shown = escapeHtml(text);
    if ((this.compares ? text : shown) === goJson(value)) return value;
    let token = this.tokens.get(text);
    if (token === undefined) {
      token = FIRST + BigInt(this.known.length);
      this.known.push({ text: shown, value });
      this.tokens.set(text, token);
    }
    return token;
  }

  private of(value: JsonValue | undefined): Literal | undefined {
    return typeof value === 'bigint' && value >= FIRST ? this.known[Number(value - FIRST)] : undefined;
  }

  /** The text of a scalar in errors. */
  show(value: JsonValue | undefined): string {
    return this.of(value)?.text ?? goJson(value);
  }

  /** The scalar that a token stands for. */
  read(value: JsonValue | undefined): JsonValue | undefined {
    return this.of(value)?.value ?? value;
  }

  /** A copy with all scalars in their places; the literals of numbers are added to `floats`. */
  resolve(value: JsonValue, floats: FloatLiterals): JsonValue {
    if (typeof value !== 'object' || value === null) return this.read(value) ?? null;
    const copy: JsonObject | JsonValue[] = Array.isArray(value) ? [] : {};
    const literals = new Map<string, string>();
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue;
      const literal = this.of(member);
      if (literal !== undefined && isFloat(literal)) literals.set(key, literal.text);
      (copy as JsonObject)[key] = this.resolve(member, floats);
    }
    if (literals.size > 0) floats.set(copy, literals);
    return copy;
  }

  get size(): number {
    return this.known.length;
  }
}
