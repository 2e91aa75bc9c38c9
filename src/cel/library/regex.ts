import type { RE2JS } from 're2js';
import { compileRe2 } from '../../util/re2.js';
import { work, workOnce } from '../work.js';
import type { Value } from '../values/value.js';
import { CelError, ArrayList, NO_SUCH_OVERLOAD } from '../values/value.js';
import { fn, method } from '../declarations.js';
import type { Library } from './library.js';
import { INT, STRING, listOf } from '../types.js';
import { onStrings } from './helpers.js';
import { messageOf } from '../../util/error-message.js';

/** Compiling takes about a millisecond, so patterns are kept; the oldest go first. */
const MAX_PATTERNS = 512;
const patterns = new Map<string, RE2JS | string>();

function build(pattern: string): RE2JS | string {
  try {
    return compileRe2(pattern);
  } catch (error) {
    return messageOf(error);
  }
}

/** Units of work for each character of a new pattern, and for each instruction of its program. */
const PER_CHARACTER = 20;
const PER_INSTRUCTION = 200;
/** Programs up to this size are run as automata whose states are few; larger ones may have to be simulated. */
const SMALL_PROGRAM = 64;

/** Pays for running a pattern over a text. */
function workOnMatch(compiled: RE2JS, text: string): void {
  const size = compiled.programSize();
  work(Math.ceil(text.length * Math.max(1, size > SMALL_PROGRAM ? size : size / 8)));
}

/** The compiled pattern, or what is wrong with it. Time to match is linear in the text, whatever the pattern. */
export function compileRegex(pattern: string): RE2JS | string {
  const isNew = workOnce(pattern, pattern.length * PER_CHARACTER);
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
  if (isNew && typeof compiled !== 'string') work(compiled.programSize() * PER_INSTRUCTION);
  return compiled;
}

export function matches(text: string, pattern: string): boolean | CelError {
  const compiled = compileRegex(pattern);
  if (typeof compiled === 'string') return new CelError(compiled);
  workOnMatch(compiled, text);
  return compiled.test(text);
}

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
