import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { pauseNow } from '../pauses.js';
import { dialectOf } from './re2-dialect.js';

let library: typeof RE2JS | undefined;

/**
 * The regular expressions that expressions and schemas of users are run with: linear in the text, whatever the pattern. Loading them
 * takes longer than all of the expression engine, and much of what runs never needs them: a server loads them before the first
 * request that does, everything else with the first pattern.
 */
export function loadPatterns(): typeof RE2JS {
  library ??= (createRequire(import.meta.url)('re2js') as { readonly RE2JS: typeof RE2JS }).RE2JS;
  return library;
}

/** Instructions of all programs that are kept; each takes 200 to 600 bytes. */
const MAX_INSTRUCTIONS = 150_000;
/** Units of work that each takes to make. */
const PER_INSTRUCTION = 50;
/** Characters of the patterns that are known, and what each counts for beyond them: enough for all of one definition. */
const MAX_CHARACTERS = 4 << 20;
const PER_PATTERN = 16;
/** Programs up to this size are run as automata whose states are few; larger ones may have to be simulated. */
const SMALL_PROGRAM = 64;

const known = new Map<string, Pattern>();
let characters = 0;
/** Those that hold a program, in the order in which it was made, or they were looked at again. */
const holders = new Set<Pattern>();
let instructions = 0;

/** How many instructions of compiled patterns are kept. */
export const compiledInstructions = (): number => instructions;

/** The pattern for an expression; the latest ones are shared. */
export function patternFor(text: string): Pattern {
  let pattern = known.get(text);
  if (pattern === undefined) {
    pattern = new Pattern(text);
    known.set(text, pattern);
    characters += text.length + PER_PATTERN;
    for (const oldest of known.keys()) {
      if (characters <= MAX_CHARACTERS || known.size === 1) break;
      known.delete(oldest);
      characters -= oldest.length + PER_PATTERN;
    }
  }
  return pattern;
}

/**
 * A regular expression in RE2's syntax. Its program is made on first use, because that takes up to some milliseconds and many are
 * never needed, and again where it had to make room for others.
 */
export class Pattern {
  private program: RE2JS | undefined;
  /** Undefined until it has been compiled once. */
  private failure: string | false | undefined;
  /** Since it was last asked to make room. */
  private used = false;

  constructor(readonly text: string) {}

  /** Why the pattern is no regular expression, or undefined. */
  error(): string | undefined {
    if (this.failure === undefined) this.compile();
    return this.failure === false ? undefined : this.failure;
  }

  /** Whether the pattern is found in the text; false for a pattern that is none. */
  matches(text: string): boolean {
    const program = this.compiled();
    if (program === undefined) return false;
    if (text.length > SMALL_PROGRAM) pauseNow(matchUnits(program, text));
    return program.test(text);
  }

  /** The program, or undefined for a pattern that is none. */
  compiled(): RE2JS | undefined {
    this.used = true;
    return this.program ?? (typeof this.failure === 'string' ? undefined : this.compile());
  }

  private compile(): RE2JS | undefined {
    let program;
    const dialect = dialectOf(this.text);
    try {
      program = loadPatterns().compile(dialect?.text ?? this.text);
      this.failure = false;
    } catch (error) {
      const message = dialect?.original(textOf(error)) ?? textOf(error);
      // The library quotes nothing where nothing is left to be quoted.
      this.failure = message.endsWith('backslash at end of expression') ? message + ': ``' : message;
      return undefined;
    }
    this.program = program;
    instructions += program.programSize();
    holders.add(this);
    makeRoom();
    // What was made is kept, whatever a pause ends.
    pauseNow(program.programSize() * PER_INSTRUCTION);
    return program;
  }

  /** Gives its program up unless it was used meanwhile. */
  makeRoom(): void {
    holders.delete(this);
    if (this.used) {
      this.used = false;
      holders.add(this);
      return;
    }
    instructions -= this.program?.programSize() ?? 0;
    this.program = undefined;
  }
}

/** One stays, whatever its size. */
function makeRoom(): void {
  while (instructions > MAX_INSTRUCTIONS && holders.size > 1) {
    for (const oldest of holders) {
      oldest.makeRoom();
      break;
    }
  }
}

/** Units of work, of about 25 ns, that running a program over a text takes at most. */
export function matchUnits(program: RE2JS, text: string): number {
  const size = program.programSize();
  return Math.ceil(text.length * Math.max(1, size > SMALL_PROGRAM ? size : size / 8));
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
