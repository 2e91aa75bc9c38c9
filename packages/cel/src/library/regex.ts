import type { RE2JS } from 're2js';
import { matchUnits, patternFor } from '../re2/re2.js';
import { chargeWork, chargeOnce } from '../work.js';
import { ArrayList, CelError, NO_SUCH_OVERLOAD, type Value } from '../values/value.js';
import { fn, method } from '../declarations.js';
import type { Library } from './library.js';
import { INT, STRING, listOf } from '../types.js';
import { onStrings } from './helpers.js';

/** Units of work per character of a new pattern, and per instruction of its program. */
const PER_CHARACTER = 20;
const PER_INSTRUCTION = 200;

/** Returns the compiled pattern, or its error message. Matching is linear in the length of the text, whatever the pattern. */
export function compileRegex(text: string): RE2JS | string {
  const isNew = chargeOnce(text, text.length * PER_CHARACTER);
  const pattern = patternFor(text);
  const program = pattern.compiled();
  if (program === undefined) return pattern.error() ?? '';
  if (isNew) chargeWork(program.programSize() * PER_INSTRUCTION);
  return program;
}

export function matches(text: string, pattern: string): boolean | CelError {
  const compiled = compileRegex(pattern);
  if (typeof compiled === 'string') return new CelError(compiled);
  chargeWork(matchUnits(compiled, text));
  return compiled.test(text);
}

/** Units of work per match. */
const PER_MATCH = 40;

function withPattern(text: string, pattern: string, run: (compiled: RE2JS) => Value): Value {
  const compiled = compileRegex(pattern);
  if (typeof compiled === 'string') return new CelError(`Illegal regex: ${compiled}`);
  chargeWork(matchUnits(compiled, text));
  return run(compiled);
}

function find(text: string, pattern: string): Value {
  return withPattern(text, pattern, (compiled) => {
    const matcher = compiled.matcher(text);
    return matcher.find() ? (matcher.group() ?? '') : '';
  });
}

/** `text.findAll(pattern)` and `text.findAll(pattern, limit)`: the non-overlapping matches. A negative limit means no limit. */
function findAll(text: Value, pattern: Value, limit: Value = -1): Value {
  if (typeof text !== 'string' || typeof pattern !== 'string') return NO_SUCH_OVERLOAD;
  const most = Number(limit);
  return withPattern(text, pattern, (compiled) => {
    const found: Value[] = [];
    const matcher = compiled.matcher(text);
    while ((most < 0 || found.length < most) && matcher.find()) {
      chargeWork(PER_MATCH);
      found.push(matcher.group() ?? '');
    }
    return new ArrayList(found);
  });
}

export const REGEX_LIBRARY: Library = {
  functions: [
    fn('find', method('string_find_string', [STRING, STRING], STRING, onStrings(find))),
    fn(
      'findAll',
      method('string_find_all_string', [STRING, STRING], listOf(STRING), findAll),
      method('string_find_all_string_int', [STRING, STRING, INT], listOf(STRING), findAll),
    ),
  ],
};
