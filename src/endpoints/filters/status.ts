import type { ApiError } from '../../apimachinery/meta/errors.js';
import type { HttpResponse } from '../http.js';
import type { Exchange } from './exchange.js';

/** Writes an error as a Status in the representation that the client asked for. */
export type StatusWriter = (exchange: Exchange, error: ApiError) => void;

/** Writes a line of plain text, like Go's http.Error. */
export function writeText(response: HttpResponse, code: number, text: string): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  send(response, code, 'text/plain; charset=utf-8', `${text}\n`);
}

export function send(response: HttpResponse, code: number, contentType: string, body: string | Buffer): void {
  response.statusCode = code;
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}
