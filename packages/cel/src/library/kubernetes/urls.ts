import { type Address, AddressError, parseAddress } from '../../formats/address.js';
import { quoted } from '../../values/text.js';
import { fn, type Implementation, method, overload } from '../../declarations.js';
import type { Library } from '../library.js';
import { BOOL, STRING, listOf, mapOf, objectType } from '../../types.js';
import { ArrayList, CelError, EntryMap, NO_SUCH_OVERLOAD, Opaque, type Value } from '../../values/value.js';
import { onString } from '../helpers.js';
import { chargeWork } from '../../work.js';
import { typeConstant } from '../standard.js';

/** The parts of a URL, as in Go's net/url. */
interface ParsedUrl {
  readonly scheme: string;
  readonly opaque: string;
  readonly user: string | undefined;
  /** The host, including the port. */
  readonly host: string;
  /** The decoded path. */
  readonly path: string;
  /** The path as written, if that differs from the default encoding. */
  readonly rawPath: string;
  readonly rawQuery: string;
  readonly forceQuery: boolean;
  readonly fragment: string;
}

/** The reason why a string is not a URL, as Go words it. */
class UrlError extends Error {
  /** The text to name, if it is not the whole one. */
  text: string | undefined;
}

type Encoding = 'path' | 'host' | 'zone' | 'fragment' | 'user' | 'query';

/** Reports whether a character is not escaped in that part of a URL. */
function isPlain(char: string, encoding: Encoding): boolean {
  if (/[A-Za-z0-9\-_.~]/.test(char)) return true;
  switch (encoding) {
    case 'host':
    case 'zone':
      return '!$&\'()*+,;=:[]<>"'.includes(char);
    case 'path':
      return '$&+,/:;=@'.includes(char);
    case 'user':
      return '$&+,;='.includes(char);
    case 'fragment':
      return '$&+,/:;=?@!()*'.includes(char);
    case 'query':
      return false;
  }
}

function encode(text: string, encoding: Encoding): string {
  let result = '';
  for (const byte of Buffer.from(text)) {
    const char = String.fromCharCode(byte);
    if (byte < 0x80 && isPlain(char, encoding)) result += char;
    else result += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return result;
}

const NOT_IN_HOST = /[ #/?@\\^`{|}\x00-\x1f\x7f]/;

function decode(text: string, encoding: Encoding): string {
  const inHost = encoding === 'host' || encoding === 'zone';
  if (!text.includes('%') && !inHost) return encoding === 'query' ? text.replaceAll('+', ' ') : text;
  const bytes: Buffer[] = [];
  for (let at = 0; at < text.length;) {
    if (text[at] === '%') {
      const code = text.slice(at + 1, at + 3);
      if (!/^[0-9a-fA-F]{2}$/.test(code)) throw new UrlError(`invalid URL escape ${quoted(text.slice(at, at + 3))}`);
      if (encoding === 'host' && Number.parseInt(code, 16) < 0x80 && code !== '25') {
        throw new UrlError(`invalid URL escape ${quoted(text.slice(at, at + 3))}`);
      }
      const char = String.fromCharCode(Number.parseInt(code, 16));
      // Go lets a zone escape what a host may contain anyway, spaces, and the percent sign.
      if (encoding === 'zone' && code !== '25' && char !== ' ' && (char > '\x7f' || !isPlain(char, 'host')))
        throw new UrlError(`invalid URL escape ${quoted(text.slice(at, at + 3))}`);
      bytes.push(Buffer.from(code, 'hex'));
      at += 3;
    } else {
      const end = text.indexOf('%', at);
      const plain = text.slice(at, end < 0 ? text.length : end);
      const odd = inHost ? NOT_IN_HOST.exec(plain) : null;
      if (odd !== null) throw new UrlError(`invalid character ${quoted(odd[0])} in host name`);
      bytes.push(Buffer.from(encoding === 'query' ? plain.replaceAll('+', ' ') : plain));
      at += plain.length;
    }
  }
  return Buffer.concat(bytes).toString();
}

/** Splits a URL into the scheme and the rest. The scheme is empty if the URL does not begin with a valid one. */
function splitScheme(text: string): [string, string] {
  const match = /^([A-Za-z][A-Za-z0-9+\-.]*):(.*)$/s.exec(text);
  if (match !== null) return [(match[1] ?? '').toLowerCase(), match[2] ?? ''];
  if (text.startsWith(':')) throw new UrlError('missing protocol scheme');
  return ['', text];
}

const PORT = /^(?::\d*)?$/;

function parseHost(scheme: string, text: string): string {
  const open = text.lastIndexOf('[');
  if (open > 0) throw new UrlError('invalid IP-literal');
  if (open === 0) return parseLiteral(text);
  // Go takes further colons for a part of the host, but not in the schemes of the web.
  const colon = scheme === 'http' || scheme === 'https' ? text.indexOf(':') : text.lastIndexOf(':');
  const port = colon < 0 ? '' : text.slice(colon);
  if (!PORT.test(port)) throw new UrlError(`invalid port ${quoted(port)} after host`);
  return decode(text, 'host');
}

/** Parses an IPv6 address in brackets, and a port. */
function parseLiteral(text: string): string {
  const close = text.lastIndexOf(']');
  if (close < 0) throw new UrlError("missing ']' in host");
  const port = text.slice(close + 1);
  if (!PORT.test(port)) throw new UrlError(`invalid port ${quoted(port)} after host`);
  const inside = text.slice(1, close);
  const zone = inside.indexOf('%25');
  const host =
    zone < 0 ? decode(inside, 'host') : decode(inside.slice(0, zone), 'host') + decode(inside.slice(zone), 'zone');
  if (addressOf(host).bits === 32) throw new UrlError('invalid IP-literal');
  return `[${host}]${port}`;
}

function addressOf(host: string): Address {
  try {
    return parseAddress(host);
  } catch (error) {
    if (error instanceof AddressError) throw new UrlError(`invalid host: ${error.message}`);
    throw error;
  }
}

interface Authority {
  user: string | undefined;
  host: string;
}

function parseAuthority(scheme: string, text: string): Authority {
  const at = text.lastIndexOf('@');
  const host = parseHost(scheme, text.slice(at + 1));
  if (at < 0) return { user: undefined, host };
  const info = text.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(info)) throw new UrlError('net/url: invalid userinfo');
  const parts = info.includes(':') ? [info.slice(0, info.indexOf(':')), info.slice(info.indexOf(':') + 1)] : [info];
  return { user: parts.map((part) => encode(decode(part, 'user'), 'user')).join(':'), host };
}

/** Parses an absolute URI or an absolute path like Go's ParseRequestURI followed by Parse. Throws a UrlError. */
function parseUrl(text: string): ParsedUrl {
  parse(text, 'request');
  const hash = text.indexOf('#');
  if (hash < 0) return parse(text, 'reference');
  const url = withoutFragment(text.slice(0, hash));
  return { ...url, fragment: decode(text.slice(hash + 1), 'fragment') };
}

function withoutFragment(text: string): ParsedUrl {
  try {
    return parse(text, 'reference');
  } catch (error) {
    // Go then names the text that it parsed.
    if (error instanceof UrlError) error.text = text;
    throw error;
  }
}

/** Parses a URL without its fragment. The target of a request must be an absolute URI or path; a reference may be relative. */
function parse(text: string, as: 'request' | 'reference'): ParsedUrl {
  if (/[\x00-\x1f\x7f]/.test(text)) throw new UrlError('net/url: invalid control character in URL');
  if (text === '' && as === 'request') throw new UrlError('empty url');
  const empty: ParsedUrl = {
    scheme: '',
    opaque: '',
    user: undefined,
    host: '',
    path: '',
    rawPath: '',
    rawQuery: '',
    forceQuery: false,
    fragment: '',
  };
  if (text === '*') return { ...empty, path: '*' };
  const [scheme, afterScheme] = splitScheme(text);
  const question = afterScheme.indexOf('?');
  const forceQuery = question >= 0 && question === afterScheme.length - 1;
  const rawQuery = question < 0 ? '' : afterScheme.slice(question + 1);
  let rest = question < 0 ? afterScheme : afterScheme.slice(0, question);
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...empty, scheme, opaque: rest, rawQuery, forceQuery };
    if (as === 'request') throw new UrlError('invalid URI for request');
    if (/^[^/]*:/.test(rest)) throw new UrlError('first path segment in URL cannot contain colon');
  }
  let authority: Authority = { user: undefined, host: '' };
  if ((scheme !== '' || (as === 'reference' && !rest.startsWith('///'))) && rest.startsWith('//')) {
    const slash = rest.indexOf('/', 2);
    authority = parseAuthority(scheme, slash < 0 ? rest.slice(2) : rest.slice(2, slash));
    rest = slash < 0 ? '' : rest.slice(slash);
  }
  const path = decode(rest, 'path');
  const rawPath = rest === encode(path, 'path') ? '' : rest;
  return { ...empty, ...authority, scheme, path, rawPath, rawQuery, forceQuery };
}

const VALID_PATH = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9a-fA-F]{2})*$/;

function escapedPath(url: ParsedUrl): string {
  if (url.rawPath !== '' && VALID_PATH.test(url.rawPath)) return url.rawPath;
  return url.path === '*' ? '*' : encode(url.path, 'path');
}

function hostname(url: ParsedUrl): string {
  const close = url.host.indexOf(']');
  if (url.host.startsWith('[') && close > 0) return url.host.slice(1, close);
  const colon = url.host.indexOf(':');
  return colon < 0 ? url.host : url.host.slice(0, colon);
}

function port(url: ParsedUrl): string {
  const match = /^(?:\[.*\]|[^\]]*?):(\d*)$/.exec(url.host);
  return match?.[1] ?? '';
}

/** The query parameters in order. Those that cannot be decoded are skipped. */
function queryOf(url: ParsedUrl): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const pair of url.rawQuery.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const equals = pair.indexOf('=');
    try {
      const key = decode(equals < 0 ? pair : pair.slice(0, equals), 'query');
      const value = equals < 0 ? '' : decode(pair.slice(equals + 1), 'query');
      const known = values.get(key);
      if (known === undefined) values.set(key, [value]);
      else known.push(value);
    } catch (error) {
      if (!(error instanceof UrlError)) throw error;
    }
  }
  return values;
}

function formatUrl(url: ParsedUrl): string {
  let text = url.scheme === '' ? '' : `${url.scheme}:`;
  if (url.opaque !== '') text += url.opaque;
  else {
    const path = escapedPath(url);
    if (url.scheme !== '' || url.host !== '' || url.user !== undefined) {
      if (url.host !== '' || url.path !== '' || url.user !== undefined) text += '//';
      if (url.user !== undefined) text += `${url.user}@`;
      text += encode(url.host, 'host');
    }
    if (path !== '' && !path.startsWith('/') && url.host !== '') text += '/';
    text += path;
  }
  if (url.forceQuery || url.rawQuery !== '') text += `?${url.rawQuery}`;
  return url.fragment === '' ? text : `${text}#${encode(url.fragment, 'fragment')}`;
}

const URL_TYPE = objectType('kubernetes.URL');

class Url extends Opaque {
  readonly typeName = 'kubernetes.URL';
  constructor(readonly parts: ParsedUrl) {
    super();
  }

  equals(other: Value): boolean | CelError {
    chargeWork((this.cost + (other instanceof Url ? other.cost : 0)) * 8);
    return other instanceof Url ? formatUrl(this.parts) === formatUrl(other.parts) : NO_SUCH_OVERLOAD;
  }
}

/** Returns the reason why a string is not a request URI, or undefined if it is one. Not every request URI is a URL: `// a`. */
export function urlProblem(text: string): string | undefined {
  const parsed = checked(text, (uri) => parse(uri, 'request'));
  return typeof parsed === 'string' ? parsed : undefined;
}

function checked(text: string, read = parseUrl): ParsedUrl | string {
  chargeWork(text.length * 8);
  try {
    return read(text);
  } catch (error) {
    if (error instanceof UrlError) return `parse ${quoted(error.text ?? text)}: ${error.message}`;
    throw error;
  }
}

function toUrl(text: string): Value {
  const parsed = checked(text);
  if (typeof parsed !== 'string') return new Url(parsed);
  return new CelError(`URL parse error during conversion from string: ${parsed}`);
}

function query(url: ParsedUrl): Value {
  chargeWork(url.rawQuery.length * 4);
  const map = new EntryMap();
  for (const [key, values] of queryOf(url)) map.insert(key, new ArrayList(values));
  return map;
}

const on =
  (run: (url: ParsedUrl) => Value): Implementation =>
  (value) =>
    value instanceof Url ? run(value.parts) : NO_SUCH_OVERLOAD;

const scheme = (url: ParsedUrl): string => url.scheme;
const host = (url: ParsedUrl): string => url.host;
const isUrl = (text: string): boolean => urlProblem(text) === undefined;

export const URLS_LIBRARY: Library = {
  types: [typeConstant(URL_TYPE)],
  functions: [
    fn('url', overload('string_to_url', [STRING], URL_TYPE, onString(toUrl))),
    fn('getScheme', method('url_get_scheme', [URL_TYPE], STRING, on(scheme))),
    fn('getHost', method('url_get_host', [URL_TYPE], STRING, on(host))),
    fn('getHostname', method('url_get_hostname', [URL_TYPE], STRING, on(hostname))),
    fn('getPort', method('url_get_port', [URL_TYPE], STRING, on(port))),
    fn('getEscapedPath', method('url_get_escaped_path', [URL_TYPE], STRING, on(escapedPath))),
    fn('getQuery', method('url_get_query', [URL_TYPE], mapOf(STRING, listOf(STRING)), on(query))),
    fn('isURL', overload('is_url_string', [STRING], BOOL, onString(isUrl))),
  ],
};
