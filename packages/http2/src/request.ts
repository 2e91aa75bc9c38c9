import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHead } from './heads/fields.js';

/**
 * The request of a stream. Once `data` has a listener, the body is emitted as `data` and `end`. Until then it is buffered, up to the
 * stream's window. Emits `aborted` if the stream is cut before the end.
 */
export class Http2Request extends EventEmitter {
  readonly method: string;
  /** The request target. A handler may replace it with an equivalent one. */
  url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly httpVersion = '2.0';
  readonly httpVersionMajor = 2;
  readonly httpVersionMinor = 0;
  /** True once the whole body has arrived. */
  complete = false;
  private buffered: Buffer[] | undefined;
  private paused = true;
  private scheduled = false;
  private ended = false;

  constructor(
    head: RequestHead,
    /** Returns flow-control credit for bytes that were consumed. */
    private readonly consumed: (bytes: number) => void,
  ) {
    super();
    this.method = head.method;
    this.url = head.path;
    this.headers = head.headers;
    this.rawHeaders = head.rawHeaders;
  }

  override on(event: string, listener: (...args: unknown[]) => void): this {
    super.on(event, listener);
    if (event === 'data') this.resume();
    return this;
  }

  pause(): this {
    this.paused = true;
    return this;
  }

  resume(): this {
    this.paused = false;
    if (!this.scheduled && (this.buffered !== undefined || this.complete)) {
      this.scheduled = true;
      process.nextTick(this.deliver);
    }
    return this;
  }

  /** Receives a part of the body from the session. */
  receive(chunk: Buffer): void {
    if (this.paused || this.buffered !== undefined) (this.buffered ??= []).push(chunk);
    else this.emitChunk(chunk);
  }

  /** Receives the end of the body from the session. */
  finish(): void {
    this.complete = true;
    if (!this.paused && this.buffered === undefined) this.end();
  }

  /** Called when the stream has ended. */
  close(): void {
    let held = 0;
    for (const chunk of this.buffered ?? []) held += chunk.length;
    this.buffered = undefined;
    if (held > 0) this.consumed(held);
    if (this.complete) return;
    this.emit('aborted');
  }

  private readonly deliver = (): void => {
    this.scheduled = false;
    const chunks = this.buffered;
    this.buffered = undefined;
    if (chunks !== undefined) {
      for (let i = 0; i < chunks.length; i++) {
        if (this.paused) {
          this.buffered = chunks.slice(i);
          return;
        }
        this.emitChunk(chunks[i] as Buffer);
      }
    }
    if (this.complete && !this.paused) this.end();
  };

  private emitChunk(chunk: Buffer): void {
    this.consumed(chunk.length);
    this.emit('data', chunk);
  }

  private end(): void {
    if (this.ended) return;
    this.ended = true;
    this.emit('end');
  }
}
