import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '../request/context.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/** A listener of any event. It has the type of a method, because the arguments depend on the event. */
type Listener = { on(...args: unknown[]): void }['on'];

/** The part of an HTTP/1.1 (node:http) or HTTP/2 (packages/http2) request that handlers need. */
export interface HttpRequest {
  readonly method?: string | undefined;
  url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Alternating names and values, as received. */
  readonly rawHeaders: string[];
  /** Events: `data`, `end`, `error`, `aborted`. */
  on(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
  pause(): unknown;
}

/** How the messages of a WebSocket carry the data that is written. */
export interface MessageForm {
  /** True if the messages are binary rather than text. */
  readonly binary: boolean;
  /** The number of bytes at the start of each write that only give its length, which messages do not need. */
  readonly prefix: number;
}

/** The part of an HTTP response that handlers need. */
export interface HttpResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** True once the response has been sent or the client is gone. */
  readonly destroyed: boolean;
  setHeader(name: string, value: string | number | readonly string[]): unknown;
  getHeader(name: string): string | number | string[] | undefined;
  getHeaders(): OutgoingHttpHeaders;
  removeHeader(name: string): void;
  writeHead(status: number): unknown;
  flushHeaders(): void;
  writeContinue(): void;
  /** Returns false if the caller must wait for `drain`. */
  write(body: Uint8Array | string): boolean;
  /** Like `write`, for bytes in parts, where that is cheaper than joining them. `last` ends the response. */
  writeParts?(parts: readonly Uint8Array[], last?: boolean): boolean;
  end(body?: Uint8Array | string): unknown;
  /**
   * Present only for WebSocket requests. Returns the message stream to write to instead; undefined if the handshake was rejected
   * and nothing is left to do.
   */
  openMessages?(form: MessageForm): HttpResponse | undefined;
  /** True if each write is a message of its own. */
  readonly messages?: boolean;
  /** Cuts the response off: resets the stream or closes the connection. */
  destroy(): unknown;
  /** Events: `drain`, `close`, `error`. */
  on(event: string, listener: Listener): unknown;
  once(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
}

/** Handles a request that passed the chain. Errors that it throws become a Status. */
export type Handler = (context: RequestContext, request: HttpRequest, response: HttpResponse) => MaybePromise<void>;
