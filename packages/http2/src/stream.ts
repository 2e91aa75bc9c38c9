import { Http2Request } from './request.js';
import { Http2Response, type ResponseStream } from './response.js';
import type { RequestHead } from './heads/fields.js';
import type { FieldValues } from './heads/head.js';
import { ErrorCode } from './frames/frame.js';
import { QUANTUM } from './sender.js';

/** The operations that a stream needs of its connection. */
export interface StreamSession {
  /** True if data may be written now, because the backlog of the connection is small. */
  readonly writable: boolean;
  /** The remaining send window of the connection, in bytes. */
  readonly window: number;
  writeHead(stream: Stream, status: number, fields: FieldValues): void;
  writeContinue(stream: Stream): void;
  /** Writes `parts`, which are `bytes` bytes in total and must fit into the windows. */
  writeData(stream: Stream, parts: readonly Uint8Array[], bytes: number, end: boolean): void;
  /** Registers the stream, so that `sendQueued` is called as soon as data can be sent. */
  awaitWritable(stream: Stream): void;
  reset(stream: Stream, code: ErrorCode): void;
  onConsumed(stream: Stream, bytes: number): void;
}

/** A request and its response: a stream in the sense of RFC 9113, section 5.1. */
export class Stream implements ResponseStream {
  readonly request: Http2Request;
  readonly response: Http2Response;
  /** True if the client has ended its side. */
  remoteEnded = false;
  /** True if the whole response has been written. */
  localEnded = false;
  closed = false;
  /** The remaining receive window, and the consumed bytes for which the client has not got credit again. */
  receiveWindow: number;
  pendingCredit = 0;
  /** The number of bytes of the request body received so far, and in total, or -1 if the client has not announced it. */
  private received = 0;
  private readonly contentLength: number;
  private queue: Uint8Array[] = [];
  private ending = false;

  constructor(
    readonly id: number,
    head: RequestHead,
    private readonly session: StreamSession,
    receiveWindow: number,
    /** The remaining send window of the stream, in bytes. */
    public sendWindow: number,
  ) {
    this.receiveWindow = receiveWindow;
    this.contentLength = head.contentLength;
    this.request = new Http2Request(head, (bytes) => session.onConsumed(this, bytes));
    this.response = new Http2Response(this, head.method === 'HEAD');
  }

  /** True if the client has announced more of the body than it has sent. */
  get isIncomplete(): boolean {
    return this.received < this.contentLength;
  }

  /** Counts received DATA: the payload, and the part of the body in it. Returns the error of the client, if any. */
  countData(payloadBytes: number, bodyBytes: number, end: boolean): ErrorCode | undefined {
    this.receiveWindow -= payloadBytes;
    this.received += bodyBytes;
    const isTooLong = this.contentLength >= 0 && this.received > this.contentLength;
    if (isTooLong || (end && this.isIncomplete)) return ErrorCode.protocolError;
    return this.receiveWindow < 0 ? ErrorCode.flowControlError : undefined;
  }

  get hasQueued(): boolean {
    return this.queue.length > 0 || (this.ending && !this.localEnded);
  }

  sendHead(status: number, fields: FieldValues): void {
    this.session.writeHead(this, status, fields);
  }

  sendContinue(): void {
    this.session.writeContinue(this);
  }

  /** Sends the parts, or queues them if the windows or the backlog do not allow that now. Returns false if data is queued. */
  send(parts: readonly Uint8Array[], end: boolean): boolean {
    let bytes = 0;
    for (const part of parts) bytes += part.length;
    if (!this.hasQueued && this.fits(bytes)) {
      this.session.writeData(this, parts, bytes, end);
      return true;
    }
    for (const part of parts) if (part.length > 0) this.queue.push(part);
    this.ending ||= end;
    this.session.awaitWritable(this);
    return false;
  }

  private fits(bytes: number): boolean {
    if (bytes === 0) return true;
    // Large amounts are sent bit by bit, so that the backlog of the connection is bounded and other streams get their turn.
    return bytes <= QUANTUM && this.session.writable && bytes <= this.sendWindow && bytes <= this.session.window;
  }

  /** Sends at most `most` bytes of the queue, as far as the windows allow. */
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

  /** Ends the stream. The request and the response are notified. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.queue = [];
    this.request.close();
    this.response.close();
  }
}
