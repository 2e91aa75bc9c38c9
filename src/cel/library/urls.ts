import { fn, method, overload } from '../declarations.js';
import type { Library } from './library.js';
import { BOOL, STRING, listOf, mapOf, objectType } from '../types.js';
import type { Value } from '../values/value.js';
import { ArrayList, CelError, EntryMap, NO_SUCH_OVERLOAD, Opaque } from '../values/value.js';
import { onString } from './helpers.js';
import { work } from '../work.js';
import { typeConstant } from './standard.js';
import type { ParsedUrl } from './url-parser.js';
import { UrlError, escapedPath, formatUrl, hostname, parseUrl, port, queryOf } from './url-parser.js';

const URL_TYPE = objectType('kubernetes.URL');

class Url extends Opaque {
  readonly typeName = 'kubernetes.URL';
  constructor(readonly parts: ParsedUrl) {
    super();
  }

  equals(other: Value): boolean | CelError {
    work((this.cost + (other instanceof Url ? other.cost : 0)) * 8);
    return other instanceof Url ? formatUrl(this.parts) === formatUrl(other.parts) : NO_SUCH_OVERLOAD;
  }
}

/** What is wrong with a URL, undefined if nothing. */
export function urlProblem(text: string): string | undefined {
  const parsed = parse(text);
  return typeof parsed === 'string' ? parsed : undefined;
}

function parse(text: string): ParsedUrl | string {
  work(text.length * 8);
  try {
    return parseUrl(text);
  } catch (error) {
    if (error instanceof UrlError) return error.message;
    throw error;
  }
}

function toUrl(text: string): Value {
  const parsed = parse(text);
  if (typeof parsed !== 'string') return new Url(parsed);
  return new CelError(`URL parse error during conversion from string: ${parsed}`);
}

function query(url: ParsedUrl): Value {
  work(url.rawQuery.length * 4);
  const map = new EntryMap();
  for (const [key, values] of queryOf(url)) map.insert(key, new ArrayList(values));
  return map;
}

const on =
  (run: (url: ParsedUrl) => Value) =>
  (value?: Value): Value =>
    value instanceof Url ? run(value.parts) : NO_SUCH_OVERLOAD;

export const URLS_LIBRARY: Library = {
  types: [typeConstant('kubernetes.URL', URL_TYPE)],
  functions: [
    fn('url', overload('string_to_url', [STRING], URL_TYPE, onString(toUrl))),
    fn(
      'getScheme',
      method(
        'url_get_scheme',
        [URL_TYPE],
        STRING,
        on((url) => url.scheme),
      ),
    ),
    fn(
      'getHost',
      method(
        'url_get_host',
        [URL_TYPE],
        STRING,
        on((url) => url.host),
      ),
    ),
    fn('getHostname', method('url_get_hostname', [URL_TYPE], STRING, on(hostname))),
    fn('getPort', method('url_get_port', [URL_TYPE], STRING, on(port))),
    fn('getEscapedPath', method('url_get_escaped_path', [URL_TYPE], STRING, on(escapedPath))),
    fn('getQuery', method('url_get_query', [URL_TYPE], mapOf(STRING, listOf(STRING)), on(query))),
    fn(
      'isURL',
      overload(
        'is_url_string',
        [STRING],
        BOOL,
        onString((text) => urlProblem(text) === undefined),
      ),
    ),
  ],
};
