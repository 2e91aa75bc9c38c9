import { EventEmitter } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import type { FieldValue, FieldValues } from './heads/head.js';

/** The stream that a response is sent on. */
export interface ResponseStream {
  sendHead(status: number, fields: FieldValues): void;
  sendContinue(): void;
  /** Sends data. Returns false if data is queued. */
  send(parts: readonly Uint8Array[], end: boolean): boolean;
  cancel(): void;
}

/** The lower-case forms of header names. There are few, because handlers use few. */
const LOWER = new Map<string, string>();
const MOST_NAMES = 256;

function lower(name: string): string {
  let found = LOWER.get(name);
  if (found === undefined) {
    found = name.toLowerCase();
    if (LOWER.size < MOST_NAMES) LOWER.set(name, found);
  }
  return found;
}

const bytesOf = (body: Uint8Array | string): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body);

/** Reports whether responses with this status never have a body. */
const bodyless = (status: number): boolean => status === 204 || status === 304;

/**
 * The response to a request, with the part of the interface of ServerResponse of node:http that handlers use. It emits `drain` when more
 * may be written after `write` returned false, and `close` when the response was sent or the stream was cut. It never emits `error`.
 */
export class Http2Response extends EventEmitter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  /** True if the stream has ended: the response was sent, or the stream was cut. */
  destroyed = false;
  private readonly fields = new Map<string, FieldValue>();
  /** True if no body is sent, whatever is written. */
  private omitBody: boolean;

  constructor(
    private readonly stream: ResponseStream,
    head: boolean,
  ) {
    super();
    this.omitBody = head;
  }

  setHeader(name: string, value: FieldValue): this {
    if (!this.headersSent) this.fields.set(lower(name), value);
    return this;
  }

  getHeader(name: string): number | string | string[] | undefined {
    const value = this.fields.get(lower(name));
    return typeof value === 'object' ? [...value] : value;
  }

  hasHeader(name: string): boolean {
    return this.fields.has(lower(name));
  }

  removeHeader(name: string): void {
    this.fields.delete(lower(name));
  }

  getHeaderNames(): string[] {
    return [...this.fields.keys()];
  }

  getHeaders(): OutgoingHttpHeaders {
    return Object.fromEntries(this.fields) as OutgoingHttpHeaders;
  }

  writeHead(status: number): this {
    if (this.headersSent) return this;
    this.statusCode = status;
    this.headersSent = true;
    this.omitBody ||= bodyless(status);
    if (!this.destroyed) this.stream.sendHead(status, this.fields);
    return this;
  }

  flushHeaders(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }

  writeContinue(): void {
    if (!this.headersSent && !this.destroyed) this.stream.sendContinue();
  }

  /** Writes a part of the body. If it returns false, wait for `drain` before writing more. If the stream has ended, the data is discarded. */
  write(body: Uint8Array | string): boolean {
    return this.writeParts([bytesOf(body)]);
  }

  /** Like `write` for several parts, or like `end` if they are the last: this makes fewer frames, and the parts need not be joined first. */
  writeParts(parts: readonly Uint8Array[], last = false): boolean {
    if (this.writableEnded) return true;
    this.flushHeaders();
    this.writableEnded = last;
    if (this.destroyed || (this.omitBody && !last)) return true;
    return this.stream.send(this.omitBody ? [] : parts, last);
  }

  end(body?: Uint8Array | string): this {
    this.writeParts(body === undefined ? [] : [bytesOf(body)], true);
    return this;
  }

  /** Aborts the response. */
  destroy(): this {
    this.stream.cancel();
    return this;
  }

  /** Called when the stream has ended. */
  close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

/** Responds like Go's server to a request whose head is too large. */
export function rejectOversizedHead(response: Http2Response): void {
  response.statusCode = 431;
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end('<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>');
}
