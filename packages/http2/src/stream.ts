import { Http2Request } from './request.js';
import { Http2Response, type ResponseStream } from './response.js';
import type { RequestHead } from './heads/fields.js';
import { ErrorCode } from './frames/frame.js';
import { QUANTUM } from './sender.js';

/** What a stream needs of its connection. */
export interface StreamSession {
  /** Whether data may be written now: the connection's window is open and the client takes what it gets. */
  readonly writable: boolean;
  /** What the window of the connection has left. */
  readonly window: number;
  writeHead(stream: Stream, status: number, fields: ReadonlyMap<string, string | number | readonly string[]>): void;
  writeContinue(stream: Stream): void;
  /** So many bytes in parts, within the windows. */
  writeData(stream: Stream, parts: readonly Uint8Array[], bytes: number, end: boolean): void;
  /** Calls `sendQueued` as soon as something can be sent. */
  wait(stream: Stream): void;
  reset(stream: Stream, code: ErrorCode): void;
  consumed(stream: Stream, bytes: number): void;
}

/** One request with its answer, in the terms of RFC 9113, section 5.1. */
export class Stream implements ResponseStream {
  readonly request: Http2Request;
  readonly response: Http2Response;
  /** The client has sent all. */
  remoteEnded = false;
  /** All of the answer has been written. */
  localEnded = false;
  closed = false;
  /** What the client may still send, and what has been consumed of it but not yet allowed again. */
  receiveWindow: number;
  taken = 0;
  /** Length of the request's body: as announced, -1 without, and as received. */
  announced = -1;
  received = 0;
  private queue: Uint8Array[] = [];
  private ending = false;

  constructor(
    readonly id: number,
    head: RequestHead,
    private readonly session: StreamSession,
    receiveWindow: number,
    /** What we may still send. */
    public sendWindow: number,
  ) {
    this.receiveWindow = receiveWindow;
    this.request = new Http2Request(head, (bytes) => {
      session.consumed(this, bytes);
    });
    this.response = new Http2Response(this, head.method === 'HEAD');
  }

  get hasQueued(): boolean {
    return this.queue.length > 0 || (this.ending && !this.localEnded);
  }

  sendHead(status: number, fields: ReadonlyMap<string, string | number | readonly string[]>): void {
    this.session.writeHead(this, status, fields);
  }

  sendContinue(): void {
    this.session.writeContinue(this);
  }

  /** Sends or, where windows or the client do not allow it now, queues; false where something is queued. */
  send(parts: readonly Uint8Array[], end: boolean): boolean {
    let bytes = 0;
    for (const part of parts) bytes += part.length;
    if (!this.hasQueued && this.fits(bytes)) {
      this.session.writeData(this, parts, bytes, end);
      return true;
    }
    for (const part of parts) if (part.length > 0) this.queue.push(part);
    this.ending ||= end;
    this.session.wait(this);
    return false;
  }

  private fits(bytes: number): boolean {
    if (bytes === 0) return true;
    // Much at once is sent bit by bit: what waits in the connection is bounded, and others have their turn.
    return bytes <= QUANTUM && this.session.writable && bytes <= this.sendWindow && bytes <= this.session.window;
  }

  /** Sends so many bytes of the queue at most, as far as the windows allow. */
  sendQueued(most: number): void {
    const limit = Math.min(most, this.sendWindow, this.session.window);
    const parts: Uint8Array[] = [];
    let bytes = 0;
    while (bytes < limit && this.queue.length > 0) {
      const first = this.queue[0] as Uint8Array;
      const part = first.length <= limit - bytes ? first : first.subarray(0, limit - bytes);
      if (part === first) this.queue.shift();
      else this.queue[0] = first.subarray(part.length);
      parts.push(part);
      bytes += part.length;
    }
    this.session.writeData(this, parts, bytes, this.ending && this.queue.length === 0 && !this.localEnded);
  }

  cancel(): void {
    if (!this.closed) this.session.reset(this, ErrorCode.cancel);
  }

  /** The stream is over; who still waits for it hears of it. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.queue = [];
    this.request.cut();
    this.response.close();
  }
}
