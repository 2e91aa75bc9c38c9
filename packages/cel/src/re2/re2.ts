import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { reachYieldPoint } from '../yield-point.js';
import { dialectOf } from './re2-dialect.js';

let library: typeof RE2JS | undefined;

/**
 * Loads the regular expression library, which runs the patterns in users' expressions and schemas in time linear in the text, whatever the
 * pattern. Loading it takes longer than loading the rest of the expression engine, and many processes never need it: a server loads it
 * before the first request that does, everything else with the first pattern.
 */
export function loadPatterns(): typeof RE2JS {
  library ??= (createRequire(import.meta.url)('re2js') as { readonly RE2JS: typeof RE2JS }).RE2JS;
  return library;
}

/** The maximum number of instructions in all cached programs. An instruction takes 200 to 600 bytes. */
const MAX_INSTRUCTIONS = 150_000;
/** Units of work to compile one instruction. */
const PER_INSTRUCTION = 50;
/** The maximum total size, in characters, of the recent patterns that are kept even if unreferenced, and the overhead counted per pattern. */
const MAX_CHARACTERS = 128 << 10;
const PER_PATTERN = 256;
/** Programs of up to this many instructions run as automata with few states. Larger ones may have to be simulated. */
const SMALL_PROGRAM = 64;

/** All patterns that are still referenced. Those of deleted schemas are garbage collected. */
const known = new Map<string, WeakRef<Pattern>>();
const patternFinalizer = new FinalizationRegistry<string>((text) => {
  if (known.get(text)?.deref() === undefined) known.delete(text);
});
/** The most recent patterns, for expressions that build their patterns at run time and use them again. */
const latest = new Set<Pattern>();
let characters = 0;

/** The cached program of a pattern, and whether it was used since the last eviction pass. */
interface CachedProgram {
  program: RE2JS | undefined;
  used: boolean;
}

/** The holders of cached programs, in the order in which they were compiled or last given another chance. */
const cachedPrograms = new Set<CachedProgram>();
let instructions = 0;
const programFinalizer = new FinalizationRegistry<CachedProgram>((holder) => {
  if (cachedPrograms.delete(holder)) drop(holder);
});

function drop(holder: CachedProgram): void {
  instructions -= holder.program?.programSize() ?? 0;
  holder.program = undefined;
}

/** The number of instructions in all cached programs. */
export const compiledInstructions = (): number => instructions;

/** Returns the pattern for a regular expression. Patterns in use and the most recent ones are shared. */
export function patternFor(text: string): Pattern {
  let pattern = known.get(text)?.deref();
  if (pattern === undefined) {
    pattern = new Pattern(text);
    known.set(text, new WeakRef(pattern));
    patternFinalizer.register(pattern, text);
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
 * A regular expression in RE2 syntax. Its program is compiled on first use, because that takes up to a few milliseconds and many are
 * never needed, and again after it was evicted from the cache.
 */
export class Pattern {
  private readonly holder: CachedProgram = { program: undefined, used: false };
  /** The error of the pattern, false if it is valid, or undefined until it is first compiled. */
  private failure: string | false | undefined;

  constructor(readonly text: string) {
    programFinalizer.register(this, this.holder);
  }

  /** The error of a malformed pattern, or undefined if it is valid. */
  error(): string | undefined {
    if (this.failure === undefined) this.compile();
    return this.failure === false ? undefined : this.failure;
  }

  /** Reports whether the text contains a match. False if the pattern is malformed. */
  matches(text: string): boolean {
    const program = this.compiled();
    if (program === undefined) return false;
    if (text.length > SMALL_PROGRAM) reachYieldPoint(matchUnits(program, text));
    return program.test(text);
  }

  /** Returns the compiled program, or undefined if the pattern is malformed. */
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
      // The library omits the quotes if nothing is left to quote.
      this.failure = message.endsWith('backslash at end of expression') ? message + ': ``' : message;
      return undefined;
    }
    this.holder.program = program;
    instructions += program.programSize();
    cachedPrograms.add(this.holder);
    evictPrograms();
    // The program is cached before the yield point, which may abort this work.
    reachYieldPoint(program.programSize() * PER_INSTRUCTION);
    return program;
  }
}

/** Evicts programs until the rest fits the limit. At least one is kept, whatever its size. */
function evictPrograms(): void {
  while (instructions > MAX_INSTRUCTIONS && cachedPrograms.size > 1) {
    for (const oldest of cachedPrograms) {
      cachedPrograms.delete(oldest);
      // A program that was used since the last pass gets another chance.
      if (oldest.used) cachedPrograms.add(oldest);
      else drop(oldest);
      oldest.used = false;
      break;
    }
  }
}

/** Returns the maximum units of work, of about 25 ns each, for matching a text. */
export function matchUnits(program: RE2JS, text: string): number {
  const size = program.programSize();
  return Math.ceil(text.length * Math.max(1, size > SMALL_PROGRAM ? size : size / 8));
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
