import type { JsonObject, JsonValue } from '../json/json.js';
import type { FloatLiterals } from '../json/parser.js';
import { escapeHtml, goJson } from '../meta/meta.js';

interface Literal {
  readonly text: string;
  readonly value: JsonValue;
}

/** The characters that Go escapes. */
const ESCAPED = /[<>&\u2028\u2029]/;
/** Escapes that Go does not write. */
const ODD_ESCAPE = /\\[^"\\nrt]/;

/** The first token. It is beyond all 64-bit integers, which are the only ones in a JSON value. */
const FIRST = 1n << 64n;

/** Reports whether a literal is a float. `-0` is an integer in an unusual notation. */
const isFloat = ({ text, value }: Literal): boolean =>
  typeof value === 'number' && (/[.eE]/.test(text) || !Number.isSafeInteger(value));

/**
 * Scalars of a patch whose text differs from the usual notation of their value: `1.0`, `"\u0041"`. kube-apiserver patches texts:
 * such a scalar equals only scalars with the same text, errors show it as written, and a float stays one. While the patch is
 * applied, a token takes its place: a number that has no other meaning.
 */
export class Literals {
  private readonly tokens = new Map<string, bigint>();
  private readonly known: Literal[] = [];

  /** The texts are either only printed, or values are also compared by them. */
  constructor(private readonly use: 'printed' | 'compared' = 'printed') {}

  /** Reports whether a text may contain such a scalar, apart from numbers. */
  concerns(text: string): boolean {
    return ODD_ESCAPE.test(text) || (this.use === 'compared' && ESCAPED.test(text));
  }

  /** Returns the scalar, or the token that takes its place. */
  token(text: string, value: JsonValue): JsonValue {
    const shown = escapeHtml(text);
    if ((this.use === 'compared' ? text : shown) === goJson(value)) return value;
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

  /** Returns the text of a scalar for errors. */
  show(value: JsonValue | undefined): string {
    return this.of(value)?.text ?? goJson(value);
  }

  /** Returns the scalar that a token stands for. */
  read(value: JsonValue | undefined): JsonValue | undefined {
    return this.of(value)?.value ?? value;
  }

  /** Returns a copy with the scalars in place of the tokens. The literals of floats are added to `floats`. */
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
