import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';

let library: typeof RE2JS | undefined;

/**
 * The regular expressions that expressions and schemas of users are run with. Loading them takes longer than all of the
 * expression engine, and much of what runs never needs them, so they are loaded when the first pattern is compiled.
 */
function load(): typeof RE2JS {
  const loaded = createRequire(import.meta.url)('re2js') as { readonly RE2JS: typeof RE2JS };
  return loaded.RE2JS;
}

/** Compiles a pattern; throws an Error with the reason if it is none. */
export function compileRe2(pattern: string): RE2JS {
  library ??= load();
  return library.compile(pattern);
}
