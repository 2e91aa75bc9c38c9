import { EventEmitter } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';

type Value = string | number | readonly string[];

/** Where an answer goes. */
export interface ResponseStream {
  sendHead(status: number, fields: ReadonlyMap<string, Value>): void;
  sendContinue(): void;
  /** False where something is queued. */
  send(parts: readonly Uint8Array[], end: boolean): boolean;
  cancel(): void;
}

/** Lower-case forms of header names; few, as handlers have few. */
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

/** Answers without a body, whatever is written. */
const bodyless = (status: number): boolean => status === 204 || status === 304;

/**
 * The answer to a request, with the part of node:http's ServerResponse that handlers use. `drain` when more may be written after
 * `write` returned false, `close` when the answer has gone out or the stream was cut; never an `error`.
 */
export class Http2Response extends EventEmitter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  /** The stream is over: answered or cut. */
  destroyed = false;
  private readonly fields = new Map<string, Value>();
  /** Nothing of the body is sent. */
  private silent: boolean;

  constructor(
    private readonly stream: ResponseStream,
    head: boolean,
  ) {
    super();
    this.silent = head;
  }

  setHeader(name: string, value: Value): this {
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
    this.silent ||= bodyless(status);
    if (!this.destroyed) this.stream.sendHead(status, this.fields);
    return this;
  }

  flushHeaders(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }

  writeContinue(): void {
    if (!this.headersSent && !this.destroyed) this.stream.sendContinue();
  }

  /** False: wait for `drain` before more is written. What is written to a stream that is over goes nowhere. */
  write(body: Uint8Array | string): boolean {
    return this.writeParts([bytesOf(body)]);
  }

  /** `write` for bytes in parts, or `end` where they are the last: few frames, and nothing is joined before. */
  writeParts(parts: readonly Uint8Array[], last = false): boolean {
    if (this.writableEnded) return true;
    this.flushHeaders();
    this.writableEnded = last;
    if (this.destroyed || (this.silent && !last)) return true;
    return this.stream.send(this.silent ? [] : parts, last);
  }

  end(body?: Uint8Array | string): this {
    this.writeParts(body === undefined ? [] : [bytesOf(body)], true);
    return this;
  }

  /** Cuts the answer off. */
  destroy(): this {
    this.stream.cancel();
    return this;
  }

  /** The stream is over. */
  close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

/** As Go's server answers a request whose head is too large. */
export function refuseHead(response: Http2Response): void {
  response.statusCode = 431;
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end('<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>');
}
