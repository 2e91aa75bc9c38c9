import type { RE2JS } from 're2js';
import { compileRe2 } from '../util/re2.js';
import { messageOf } from '../util/error-message.js';

/** A pattern of a schema; compiled on first use, because that takes a millisecond and many are never needed. */
export interface Pattern {
  readonly text: string;
  /** Why the pattern is no regular expression, or undefined. */
  error(): string | undefined;
  /** Whether the pattern is found in the text; false for a pattern that is none. */
  matches(text: string): boolean;
}

const CACHE_SIZE = 2048;
const cache = new Map<string, Pattern>();

/**
 * The pattern for an expression. User expressions never run on the backtracking engine: re2js is linear in the text.
 * The latest 2,048 are shared; others live as long as the schema that holds them.
 */
export function patternFor(text: string): Pattern {
  const known = cache.get(text);
  if (known !== undefined) {
    cache.delete(text);
    cache.set(text, known);
    return known;
  }
  const pattern = new LazyPattern(text);
  cache.set(text, pattern);
  if (cache.size > CACHE_SIZE) {
    const oldest = cache.keys().next().value;
    if (oldest !== undefined) cache.delete(oldest);
  }
  return pattern;
}

class LazyPattern implements Pattern {
  private compiled: RE2JS | undefined;
  private failure: string | undefined;

  constructor(readonly text: string) {}

  error(): string | undefined {
    this.compile();
    return this.failure;
  }

  matches(text: string): boolean {
    const compiled = this.compiled ?? this.compile();
    return compiled?.test(text) ?? false;
  }

  private compile(): RE2JS | undefined {
    if (this.compiled !== undefined || this.failure !== undefined) return this.compiled;
    try {
      this.compiled = compileRe2(this.text);
    } catch (error) {
      this.failure = messageOf(error);
    }
    return this.compiled;
  }
}
