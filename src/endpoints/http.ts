import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { RequestContext } from '../request/context.js';
import type { MaybePromise } from '../util/maybe-promise.js';

/** Listener of any event; a method's type, because what arrives depends on the event. */
type Listener = { on(...args: unknown[]): void }['on'];

/** A request of HTTP/1.1 (node:http) or HTTP/2 (packages/http2), as far as handlers need it. */
export interface HttpRequest {
  readonly method?: string | undefined;
  url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: string[];
  /** `data`, `end`, `error`, `aborted`. */
  on(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
  pause(): unknown;
}

/** How the messages of a WebSocket carry what is written. */
export interface MessageForm {
  /** They are no text. */
  readonly binary: boolean;
  /** So many bytes in front of each write only say how long it is, as messages do by themselves. */
  readonly prefix: number;
}

/** The answer to it. */
export interface HttpResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** The answer has gone out, or the client. */
  readonly destroyed: boolean;
  setHeader(name: string, value: string | number | readonly string[]): unknown;
  getHeader(name: string): string | number | string[] | undefined;
  getHeaders(): OutgoingHttpHeaders;
  removeHeader(name: string): void;
  writeHead(status: number): unknown;
  flushHeaders(): void;
  writeContinue(): void;
  /** False: wait for `drain`. */
  write(body: Uint8Array | string): boolean;
  /** The same for bytes in parts, where that is cheaper than to join them; `last`: nothing follows. */
  writeParts?(parts: readonly Uint8Array[], last?: boolean): boolean;
  end(body?: Uint8Array | string): unknown;
  /**
   * Of requests for a WebSocket only: the stream of messages that is written to instead; undefined where the handshake is refused, and
   * nothing is left to do.
   */
  openMessages?(form: MessageForm): HttpResponse | undefined;
  /** Each write is a message of its own. */
  readonly messages?: boolean;
  /** Cuts it off: resets the stream or closes the connection. */
  destroy(): unknown;
  /** `drain`, `close`, `error`. */
  on(event: string, listener: Listener): unknown;
  once(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
}

/** Answers a request that passed the chain. What it throws becomes a Status. */
export type Handler = (context: RequestContext, request: HttpRequest, response: HttpResponse) => MaybePromise<void>;
