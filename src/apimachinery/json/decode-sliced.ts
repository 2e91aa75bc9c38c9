import { DECODE_STEP_BYTES } from '../../scheduling/thresholds.js';
import { parseJson } from './decode.js';
import type { JsonObject, JsonValue } from './json.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACE = 0x7d;
const CLOSING_BRACKET = 0x5d;

/** An object or list that is open at the current position. Positions are byte offsets. */
interface Open {
  readonly start: number;
  /** The start of the member being read. */
  member: number;
}

/** An object or list that is filled piece by piece, because it is larger than a piece. */
interface Filled {
  readonly into: JsonObject | JsonValue[];
  /** The start of the part that is not decoded yet: at a member, or after the last one. */
  from: number;
}

/**
 * Parses a JSON text as `parseJson` does, but in steps: however large it is, it does not block the event loop if it has parts.
 * The text must be one that Annex has written: without spaces between the tokens, and without duplicate keys.
 */
export function* parseJsonSliced(bytes: Uint8Array, piece = DECODE_STEP_BYTES): Generator<undefined, JsonValue> {
  if (bytes.length <= piece) return parseJson(bytes);
  return yield* new StepParser(bytes, piece).parse();
}

class StepParser {
  /** The open objects and lists; the outer ones are being filled. */
  private readonly open: Open[] = [];
  private readonly filled: Filled[] = [];
  private whole: JsonValue | undefined;
  /** The position after the end of the outermost value. */
  private end = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly piece: number,
  ) {}

  *parse(): Generator<undefined, JsonValue> {
    const { bytes, open, piece } = this;
    let rest = 0;
    for (let at = 0; at < bytes.length; at++) {
      const c = bytes[at];
      if (c === QUOTE) at = this.endOfText(at);
      else if (c === OPENING_BRACE || c === OPENING_BRACKET) open.push({ start: at, member: at + 1 });
      else if (c === CLOSING_BRACE || c === CLOSING_BRACKET) this.close(at);
      else if (c === COMMA) this.separate(at);
      else continue;
      // Decode the complete members of everything that is open at once.
      if (at - rest < piece) continue;
      this.take();
      rest = at;
      yield;
    }
    // If the text is not JSON after all, parseJson reports why.
    return this.whole === undefined || this.end !== bytes.length ? parseJson(bytes) : this.whole;
  }

  private separate(at: number): void {
    const around = this.open[this.open.length - 1];
    if (around !== undefined) around.member = at + 1;
  }

  private endOfText(from: number): number {
    for (let at = from + 1; ; at++) {
      const c = this.bytes[at];
      if (c === QUOTE || c === undefined) return at;
      if (c === BACKSLASH) at++;
    }
  }

  /** Decodes all complete members of the open objects and lists. Of those being filled, only the innermost has any. */
  private take(): void {
    const { open, filled } = this;
    for (let depth = Math.max(0, filled.length - 1); depth < open.length; depth++) {
      const { start, member } = open[depth] as Open;
      if (depth === filled.length) filled.push({ into: this.begin(start, depth), from: start + 1 });
      this.fill(filled[depth] as Filled, member);
    }
  }

  /** Creates the object or list to fill, and adds it to its parent. */
  private begin(start: number, depth: number): JsonObject | JsonValue[] {
    const into: JsonObject | JsonValue[] = this.bytes[start] === OPENING_BRACE ? {} : [];
    const outer = this.filled[depth - 1];
    if (outer === undefined) this.whole = into;
    else if (Array.isArray(outer.into)) outer.into.push(into);
    else {
      const key = Buffer.from(this.bytes.subarray(outer.from, this.bytes.lastIndexOf(COLON, start))).toString();
      outer.into[parseJson(key) as string] = into;
    }
    return into;
  }

  /** Decodes the members of `one` up to the member that begins at `end`. */
  private fill(one: Filled, end: number): void {
    const { bytes } = this;
    const { into } = one;
    // Skip the comma after a member that was filled by itself.
    const from = bytes[one.from] === COMMA ? one.from + 1 : one.from;
    const to = bytes[end - 1] === COMMA ? end - 1 : end;
    one.from = end;
    if (to <= from) return;
    const members = Buffer.from(bytes.subarray(from, to)).toString();
    if (Array.isArray(into)) for (const item of parseJson(`[${members}]`) as JsonValue[]) into.push(item);
    else Object.assign(into, parseJson(`{${members}}`));
  }

  private close(at: number): void {
    const { open, filled } = this;
    open.pop();
    if (filled.length <= open.length) return;
    this.fill(filled.pop() as Filled, at);
    const outer = filled[filled.length - 1];
    if (outer === undefined) this.end = at + 1;
    else {
      // It is already in its parent, whose next member begins after it.
      this.separate(at);
      outer.from = at + 1;
    }
  }
}
