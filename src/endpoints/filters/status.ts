import { stringify } from 'yaml';
import type { ApiError } from '../../apimachinery/errors.js';
import type { HttpResponse } from '../http.js';
import type { Exchange } from './exchange.js';

/** Writes an error as a Status in the representation that the client asked for. */
export type StatusWriter = (exchange: Exchange, error: ApiError) => void;

const PRETTY_AGENTS = /^(curl|Wget|Mozilla\/5\.0)/;

/** Whether people read the answer: by the `pretty` parameter, else by the user agent. */
export function wantsPretty(exchange: Exchange): boolean {
  const match = /(?:^|&)pretty(?:=([^&]*))?(?:&|$)/.exec(exchange.rawQuery);
  if (match !== null) return !['false', '0'].includes((match[1] ?? '').toLowerCase());
  return PRETTY_AGENTS.test(exchange.userAgent);
}

/** JSON, or YAML where the client names it first; everything else is the negotiation's of the handlers. */
export const writePlainStatus: StatusWriter = (exchange, error) => {
  const status = error.status;
  const yaml = (exchange.headers.accept ?? '').trimStart().startsWith('application/yaml');
  const body = yaml
    ? stringify(status, { sortMapEntries: true, lineWidth: 0, singleQuote: true })
    : wantsPretty(exchange)
      ? JSON.stringify(status, undefined, 2)
      : `${JSON.stringify(status)}\n`;
  const retryAfter = error.details?.retryAfterSeconds;
  if (retryAfter !== undefined && retryAfter > 0) exchange.response.setHeader('Retry-After', String(retryAfter));
  send(exchange.response, error.code, yaml ? 'application/yaml' : 'application/json', body);
};

/** Go's http.Error: a line of plain text. */
export function writeText(response: HttpResponse, code: number, text: string): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  send(response, code, 'text/plain; charset=utf-8', `${text}\n`);
}

export function send(response: HttpResponse, code: number, contentType: string, body: string | Buffer): void {
  response.statusCode = code;
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  if ('stream' in response) response.end(body);
  else response.end(body);
}
