import { RE2JS } from 're2js';
import { CelError } from '../values/value.js';

/** Compiling takes about a millisecond, so patterns are kept; the oldest go first. */
const MAX_PATTERNS = 512;
const patterns = new Map<string, RE2JS | string>();

function build(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The compiled pattern, or what is wrong with it. Time to match is linear in the text, whatever the pattern. */
export function compileRegex(pattern: string): RE2JS | string {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    compiled = build(pattern);
    if (patterns.size >= MAX_PATTERNS) {
      for (const oldest of patterns.keys()) {
        patterns.delete(oldest);
        break;
      }
    }
    patterns.set(pattern, compiled);
  }
  return compiled;
}

export function matches(text: string, pattern: string): boolean | CelError {
  const compiled = compileRegex(pattern);
  return typeof compiled === 'string' ? new CelError(compiled) : compiled.matcher(text).find();
}
