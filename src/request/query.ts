import { unescapePath } from '../go/unescape-path.js';

export { unescapePath } from '../go/unescape-path.js';

/** The parameters of a URL, each with its values in order, like Go's url.Values. */
export type Query = ReadonlyMap<string, readonly string[]>;

const EMPTY: Query = new Map();

/** The limit of Go's URL parser. It drops all parameters beyond it; the listener refuses such a request (tooManyParameters). */
const MAX_PARAMETERS = 10_000;

/** Reports whether a query has more parameters than are read. */
export function tooManyParameters(raw: string): boolean {
  if (raw.length <= MAX_PARAMETERS) return false;
  let count = 1;
  for (let at = raw.indexOf('&'); at >= 0; at = raw.indexOf('&', at + 1)) if (++count > MAX_PARAMETERS) return true;
  return false;
}

/** Parses the text after `?` like Go's URL.Query: pairs that are badly escaped or contain a semicolon are skipped, `+` is a space. */
export function parseQuery(raw: string): Query {
  if (raw === '') return EMPTY;
  const out = new Map<string, string[]>();
  for (const pair of raw.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const at = pair.indexOf('=');
    const key = unescapeQuery(at < 0 ? pair : pair.slice(0, at));
    const value = unescapeQuery(at < 0 ? '' : pair.slice(at + 1));
    if (key === undefined || value === undefined) continue;
    const values = out.get(key);
    if (values === undefined) out.set(key, [value]);
    else values.push(value);
  }
  return out;
}

/** Returns undefined for an invalid escape. */
function unescapeQuery(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return unescapePath(spaced);
}

/** Returns the first value of a parameter, or the empty string. */
export function first(query: Query, key: string): string {
  return query.get(key)?.[0] ?? '';
}

/** Converts a query parameter to a boolean as Go does: present and neither `false` nor `0`. */
export function flag(query: Query, key: string): boolean {
  const value = query.get(key)?.[0];
  if (value === undefined) return false;
  const lower = value.toLowerCase();
  return lower !== 'false' && lower !== '0';
}
