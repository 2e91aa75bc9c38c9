import { compareUtf8, wellFormed } from '../../util/text/utf8.js';
import { Float, type JsonValue } from './json.js';

/** The value's JSON text as Go's encoding/json prints it: keys of maps sorted, `<`, `>`, `&` and U+2028/9 escaped. */
export function goJson(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return goJsonString(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (value instanceof Float) return Object.is(Number(value), -0) ? '-0' : String(value);
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort(compareUtf8);
  return `{${members.map((key) => `${goJsonString(key)}:${goJson(value[key])}`).join(',')}}`;
}

function goJsonString(text: string): string {
  return escapeHtml(JSON.stringify(wellFormed(text)));
}

/** Escapes JSON text for HTML, as Go does. */
export const escapeHtml = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
