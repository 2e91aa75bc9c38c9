import type { RE2JS } from 're2js';
import { fn, method } from '../declarations.js';
import type { Library } from './library.js';
import { INT, STRING, listOf } from '../types.js';
import type { Value } from '../values/value.js';
import { ArrayList, CelError, NO_SUCH_OVERLOAD } from '../values/value.js';
import { work } from '../work.js';
import { onStrings } from './helpers.js';
import { compileRegex, workOnMatch } from './regex-cache.js';

/** Units of work for each match that is found. */
const PER_MATCH = 40;

function withPattern(text: string, pattern: string, run: (compiled: RE2JS) => Value): Value {
  const compiled = compileRegex(pattern);
  if (typeof compiled === 'string') return new CelError(`Illegal regex: ${compiled}`);
  workOnMatch(compiled, text);
  return run(compiled);
}

function find(text: string, pattern: string): Value {
  return withPattern(text, pattern, (compiled) => {
    const matcher = compiled.matcher(text);
    return matcher.find() ? (matcher.group() ?? '') : '';
  });
}

/** All matches that do not overlap; a negative limit is none. */
function findAll(text: string, pattern: string, limit: number): Value {
  return withPattern(text, pattern, (compiled) => {
    const found: Value[] = [];
    const matcher = compiled.matcher(text);
    while ((limit < 0 || found.length < limit) && matcher.find()) {
      work(PER_MATCH);
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
      method(
        'string_find_all_string',
        [STRING, STRING],
        listOf(STRING),
        onStrings((text, pattern) => findAll(text, pattern, -1)),
      ),
      method('string_find_all_string_int', [STRING, STRING, INT], listOf(STRING), (text, pattern, limit) =>
        typeof text === 'string' && typeof pattern === 'string'
          ? findAll(text, pattern, Number(limit))
          : NO_SUCH_OVERLOAD,
      ),
    ),
  ],
};
