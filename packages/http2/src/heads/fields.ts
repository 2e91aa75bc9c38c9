import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderField } from '../hpack/decoder.js';

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as received, without the pseudo-headers. */
  readonly rawHeaders: string[];
  /** The announced length of the body, or -1 if there is none. */
  readonly contentLength: number;
}

/** Connection-specific fields of HTTP/1.1, which are not allowed here (RFC 9113, section 8.2.2). */
const CONNECTION_SPECIFIC_FIELDS = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
/** Fields of which only the first value is kept, as in node:http. */
const SINGLE = new Set([
  'age',
  'authorization',
  'content-length',
  'content-type',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
]);

interface Pseudo {
  ':method'?: string;
  ':scheme'?: string;
  ':path'?: string;
  ':authority'?: string;
}

const isPseudo = (name: string): name is keyof Pseudo =>
  name === ':method' || name === ':scheme' || name === ':path' || name === ':authority';

function add(headers: IncomingHttpHeaders, name: string, value: string): void {
  const before = headers[name];
  if (before === undefined) headers[name] = name === 'set-cookie' ? [value] : value;
  else if (Array.isArray(before)) before.push(value);
  else if (!SINGLE.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
}

/** Builds the request head from its fields. Returns undefined if the request is malformed (RFC 9113, sections 8.1.1 to 8.3.1). */
export function requestHead(fields: readonly HeaderField[]): RequestHead | undefined {
  const pseudo: Pseudo = {};
  const headers = Object.create(null) as IncomingHttpHeaders;
  const rawHeaders: string[] = [];
  let regular = false;
  for (const { name, value, valid } of fields) {
    if (!valid) return undefined;
    if (name.charCodeAt(0) === 0x3a) {
      if (regular || !isPseudo(name) || pseudo[name] !== undefined) return undefined;
      pseudo[name] = value;
      continue;
    }
    regular = true;
    if (CONNECTION_SPECIFIC_FIELDS.has(name) || (name === 'te' && value !== 'trailers')) return undefined;
    rawHeaders.push(name, value);
    add(headers, name, value);
  }
  const { ':method': method, ':scheme': scheme, ':path': path, ':authority': authority } = pseudo;
  if (method === undefined || method === '') return undefined;
  if (authority !== undefined) headers.host = authority;
  const announced = headers['content-length'];
  if (announced !== undefined && !/^\d{1,15}$/.test(announced)) return undefined;
  const contentLength = announced === undefined ? -1 : Number(announced);
  if (method === 'CONNECT') {
    // CONNECT has an authority and nothing else (section 8.5).
    if (scheme !== undefined || path !== undefined || authority === undefined) return undefined;
    return { method, path: authority, headers, rawHeaders, contentLength };
  }
  if (scheme === undefined || path === undefined || path === '') return undefined;
  return { method, path: escaped(path), headers, rawHeaders, contentLength };
}

const ABOVE_ASCII = /[\x80-\xff]/g;

/** Percent-encodes the bytes above ASCII, as the client should have done: the code that reads the path decodes the escapes as UTF-8. */
const escaped = (path: string): string =>
  path.replace(ABOVE_ASCII, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
