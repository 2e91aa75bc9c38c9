import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HttpResponse } from '../../endpoints/http.js';
import { ReparsedRequest } from './reparse.js';

/** Returns the path and query of a request target that is not in origin form. */
export function urlOf(method: string | undefined, target: string): string {
  // CONNECT names a host, not a path.
  if (method === 'CONNECT') return '';
  const rest = target === '*' ? '' : /^[a-z][a-z0-9+.-]*:(.*)$/i.exec(target)?.[1];
  if (rest === undefined || rest.startsWith('//[')) return target;
  const path = rest.startsWith('//') ? rest.replace(/^\/\/[^/?]*/, '') : rest;
  return path.startsWith('/') ? path : '';
}

/** The characters of a host and a port, and those that the URL syntax reserves for future hosts. */
const HOST = /^[!$%&'()*+,\-.:;=[\]_~0-9A-Za-z]*$/;
const UNSUPPORTED_ENCODING = 'Unsupported transfer encoding';

/**
 * The maximum number of header fields. Go's server has none but their bytes; each field costs a few microseconds wherever headers are
 * read one by one, and no client sends a thousand.
 */
export const HEADER_FIELDS = 4096;

/** Returns the problem with the number of headers, the transfer encoding or the Host header, if any. */
function problemOf({ headers, rawHeaders, httpVersionMinor, method }: IncomingMessage): Refusal | undefined {
  if (rawHeaders.length > 2 * HEADER_FIELDS) return { code: 431, text: '431 Request Header Fields Too Large' };
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    return { code: 501, text: '501 Not Implemented', body: UNSUPPORTED_ENCODING };
  const hosts = rawHeaders.filter(
    (name, i) => i % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host',
  ).length;
  if (hosts > 1) return { code: 400, text: '400 Bad Request' };
  if (hosts === 0 && httpVersionMinor >= 1 && method !== 'CONNECT')
    return { code: 400, text: '400 Bad Request: missing required Host header' };
  if (!HOST.test(headers.host ?? '')) return { code: 400, text: '400 Bad Request: malformed Host header' };
  return undefined;
}

interface Refusal {
  readonly code: number;
  readonly text: string;
  readonly body?: string;
}

/**
 * Reports whether a request can be handled. If its head is invalid or its version is not HTTP/1, refuses it. Restores the method
 * and target of a request that was parsed again.
 */
export function isPlainRequest(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.httpVersionMajor !== 1) {
    refuse(response, 505, '505 HTTP Version Not Supported: unsupported protocol version');
    return false;
  }
  // The parser itself reports that it cannot find the end of such a body.
  if (!(request.headers['transfer-encoding'] ?? 'chunked').toLowerCase().endsWith('chunked')) return false;
  const problem = problemOf(request);
  if (problem !== undefined) {
    refuse(response, problem.code, problem.text, problem.body);
    return false;
  }
  const socket: Duplex = request.socket;
  if (socket instanceof ReparsedRequest) {
    request.method = socket.method;
    request.url = socket.target;
    response.shouldKeepAlive = false;
  }
  return true;
}

/** Responds as Go's server does before any handler runs. */
export function refuse(response: HttpResponse, code: number, text: string, body = text): void {
  // HTTP/2 has neither, and its connection stays open.
  if (response instanceof ServerResponse) {
    response.statusMessage = text.slice(4);
    response.setHeader('Connection', 'close');
  }
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.writeHead(code);
  response.end(body);
}

/** The responses to errors of node:http's parser: the status, and the body if it is another text. */
const UNREADABLE: Readonly<Record<string, readonly [text: string, body?: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large'],
  HPE_INVALID_TRANSFER_ENCODING: ['501 Not Implemented', UNSUPPORTED_ENCODING],
};

/** Answers bytes that are not an HTTP request, as Go's server does. Sends no answer if the connection failed or no head arrived in time. */
export function refuseUnreadable(error: Error, socket: Duplex): void {
  const code = 'code' in error ? String(error.code) : '';
  if (!socket.writable || !code.startsWith('HPE_')) {
    socket.destroy();
    return;
  }
  const [text, body = text] = UNREADABLE[code] ?? ['400 Bad Request'];
  socket.end(`HTTP/1.1 ${text}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${body}`);
}
