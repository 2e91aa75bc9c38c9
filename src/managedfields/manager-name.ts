import { type FieldError, invalid, tooLong } from '../apimachinery/field-error.js';

/** In bytes. */
export const MAX_MANAGER_LENGTH = 128;

const PRINTABLE = /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u;
const PLAIN = /^[ -~]*$/;

/** The manager named by the request, else the one its User-Agent stands for (which may be empty). */
export function managerOrUserAgent(fieldManager: string, userAgent: string): string {
  return fieldManager === '' ? managerFromUserAgent(userAgent) : fieldManager;
}

/** What precedes the first slash, without unprintable characters, as far as a manager's name may be long. */
export function managerFromUserAgent(userAgent: string): string {
  const slash = userAgent.indexOf('/');
  const prefix = slash < 0 ? userAgent : userAgent.slice(0, slash);
  if (prefix.length <= MAX_MANAGER_LENGTH && PLAIN.test(prefix)) return prefix;
  let name = '';
  let bytes = 0;
  for (const char of prefix) {
    if (!PRINTABLE.test(char)) continue;
    bytes += Buffer.byteLength(char);
    if (bytes > MAX_MANAGER_LENGTH) break;
    name += char;
  }
  return name;
}

/** The errors of a `fieldManager` parameter, or of a manager at another field. */
export function validateFieldManager(fieldManager: string, field = 'fieldManager'): FieldError[] {
  const errors: FieldError[] = [];
  if (Buffer.byteLength(fieldManager) > MAX_MANAGER_LENGTH) errors.push(tooLong(field, MAX_MANAGER_LENGTH));
  if (PLAIN.test(fieldManager)) return errors;
  let position = 0;
  for (const char of fieldManager) {
    if (!PRINTABLE.test(char)) {
      const code = `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
      errors.push(invalid(field, fieldManager, `invalid character ${code} (at position ${String(position)})`));
    }
    position += Buffer.byteLength(char);
  }
  return errors;
}
