import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HttpResponse } from '../endpoints/http.js';
import { RereadRequest } from './reread.js';

/** The path and query of a target that is not just these. */
export function urlOf(method: string | undefined, target: string): string {
  // What CONNECT names is no path.
  if (method === 'CONNECT') return '';
  const rest = target === '*' ? '' : /^[a-z][a-z0-9+.-]*:(.*)$/i.exec(target)?.[1];
  if (rest === undefined || rest.startsWith('//[')) return target;
  const path = rest.startsWith('//') ? rest.replace(/^\/\/[^/?]*/, '') : rest;
  return path.startsWith('/') ? path : '';
}

/** Refuses a request in a version that is not HTTP/1, and gives one that was read again its own method and target back. */
export function isPlainRequest(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.httpVersionMajor !== 1) {
    refuse(response, 505, '505 HTTP Version Not Supported: unsupported protocol version');
    return false;
  }
  const socket: Duplex = request.socket;
  if (socket instanceof RereadRequest) {
    request.method = socket.method;
    request.url = socket.target;
    response.shouldKeepAlive = false;
  }
  return true;
}

/** As Go's server answers before any handler does. */
export function refuse(response: HttpResponse, code: number, text: string): void {
  // HTTP/2 has neither, and its connection stays.
  if (response instanceof ServerResponse) {
    response.statusMessage = text.slice(4);
    response.setHeader('Connection', 'close');
  }
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.writeHead(code);
  response.end(text);
}

/** Answers what is no HTTP request, as Go's server does. */
export function refuseUnreadable(error: Error, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const overflow = 'code' in error && error.code === 'HPE_HEADER_OVERFLOW';
  const text = overflow ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${text}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${text}`);
}
