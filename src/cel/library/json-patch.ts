import { fn, overload } from '../declarations.js';
import type { Library } from './library.js';
import { STRING } from '../types.js';
import { onString } from './helpers.js';

const escape = (key: string): string => key.replace(/[~/]/g, (char) => (char === '/' ? '~1' : '~0'));

/** For mutating admission policies: keys of JSON Pointers. */
export const JSON_PATCH_LIBRARY: Library = {
  functions: [
    fn('jsonpatch.escapeKey', overload('string_jsonpatch_escapeKey_string', [STRING], STRING, onString(escape))),
  ],
};
