import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { reachYieldPoint } from '../yield-point.js';
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
/** Characters of the patterns that are kept although nobody may hold on to them, and what each counts for beyond them. */
const MAX_CHARACTERS = 128 << 10;
const PER_PATTERN = 256;
/** Programs up to this size are run as automata whose states are few; larger ones may have to be simulated. */
const SMALL_PROGRAM = 64;

/** All that are in use. Those of schemas that are gone go with them. */
const known = new Map<string, WeakRef<Pattern>>();
const gone = new FinalizationRegistry<string>((text) => {
  if (known.get(text)?.deref() === undefined) known.delete(text);
});
/** The latest ones: expressions that make their patterns as they run come back to them. */
const latest = new Set<Pattern>();
let characters = 0;

/** The program of a pattern, and whether it was used since it was last asked to make room. */
interface Holder {
  program: RE2JS | undefined;
  used: boolean;
}

/** Those that hold a program, in the order in which it was made, or they were looked at again. */
const holders = new Set<Holder>();
let instructions = 0;
const unheld = new FinalizationRegistry<Holder>((holder) => {
  if (holders.delete(holder)) drop(holder);
});

function drop(holder: Holder): void {
  instructions -= holder.program?.programSize() ?? 0;
  holder.program = undefined;
}

/** How many instructions of compiled patterns are kept. */
export const compiledInstructions = (): number => instructions;

/** The pattern for an expression; the latest ones are shared. */
export function patternFor(text: string): Pattern {
  let pattern = known.get(text)?.deref();
  if (pattern === undefined) {
    pattern = new Pattern(text);
    known.set(text, new WeakRef(pattern));
    gone.register(pattern, text);
    keep(pattern);
  }
  return pattern;
}

function keep(pattern: Pattern): void {
  latest.add(pattern);
  characters += pattern.text.length + PER_PATTERN;
  for (const oldest of latest) {
    if (characters <= MAX_CHARACTERS || latest.size === 1) break;
    latest.delete(oldest);
    characters -= oldest.text.length + PER_PATTERN;
  }
}

/**
 * A regular expression in RE2's syntax. Its program is made on first use, because that takes up to some milliseconds and many are
 * never needed, and again where it had to make room for others.
 */
export class Pattern {
  private readonly holder: Holder = { program: undefined, used: false };
  /** Undefined until it has been compiled once. */
  private failure: string | false | undefined;

  constructor(readonly text: string) {
    unheld.register(this, this.holder);
  }

  /** Why the pattern is malformed, or undefined. */
  error(): string | undefined {
    if (this.failure === undefined) this.compile();
    return this.failure === false ? undefined : this.failure;
  }

  /** Whether the pattern is found in the text; false for a pattern that is none. */
  matches(text: string): boolean {
    const program = this.compiled();
    if (program === undefined) return false;
    if (text.length > SMALL_PROGRAM) reachYieldPoint(matchUnits(program, text));
    return program.test(text);
  }

  /** The program, or undefined for a pattern that is none. */
  compiled(): RE2JS | undefined {
    this.holder.used = true;
    return this.holder.program ?? (typeof this.failure === 'string' ? undefined : this.compile());
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
    this.holder.program = program;
    instructions += program.programSize();
    holders.add(this.holder);
    makeRoom();
    // What was made is kept, whatever a yield point ends.
    reachYieldPoint(program.programSize() * PER_INSTRUCTION);
    return program;
  }
}

/** One stays, whatever its size. */
function makeRoom(): void {
  while (instructions > MAX_INSTRUCTIONS && holders.size > 1) {
    for (const oldest of holders) {
      holders.delete(oldest);
      // Once more, if it was used meanwhile.
      if (oldest.used) holders.add(oldest);
      else drop(oldest);
      oldest.used = false;
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
