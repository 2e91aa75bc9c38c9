import { FIELD_MANAGER_MAX_LENGTH, isPrintable } from '../apimachinery/validation/object-meta.js';
import { wellFormed } from '../util/text/utf8.js';

const PLAIN = /^[ -~]*$/;

/** Returns the manager of the request, else the one derived from its User-Agent (which may be empty). */
export function managerOrUserAgent(fieldManager: string, userAgent: string): string {
  return fieldManager === '' ? managerFromUserAgent(userAgent) : fieldManager;
}

/** Returns the text before the first slash without unprintable characters, cut to the maximum length of a manager's name. */
export function managerFromUserAgent(userAgent: string): string {
  const slash = userAgent.indexOf('/');
  const prefix = slash < 0 ? userAgent : userAgent.slice(0, slash);
  if (prefix.length <= FIELD_MANAGER_MAX_LENGTH && PLAIN.test(prefix)) return prefix;
  let name = '';
  let bytes = 0;
  for (const char of wellFormed(prefix)) {
    if (!isPrintable(char)) continue;
    bytes += Buffer.byteLength(char);
    if (bytes > FIELD_MANAGER_MAX_LENGTH) break;
    name += char;
  }
  return name;
}
