import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHead } from './heads/fields.js';

/** Returns flow-control credit for bytes that have been taken. */
type Consumed = (bytes: number) => void;

/**
 * A request on a stream. Its body comes by `data` and `end`, once somebody listens to `data`; what nobody has asked for waits, at
 * most the stream's window. `aborted` where the stream is cut before the end.
 */
export class Http2Request extends EventEmitter {
  readonly method: string;
  /** Routes may put another way to write the same in its place. */
  url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly httpVersion = '2.0';
  readonly httpVersionMajor = 2;
  readonly httpVersionMinor = 0;
  /** The whole body has come. */
  complete = false;
  private waiting: Buffer[] | undefined;
  private paused = true;
  private scheduled = false;
  private ended = false;

  constructor(
    head: RequestHead,
    private readonly consumed: Consumed,
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
    if (!this.scheduled && (this.waiting !== undefined || this.complete)) {
      this.scheduled = true;
      process.nextTick(this.deliver);
    }
    return this;
  }

  /** Part of the body, from the session. */
  receive(chunk: Buffer): void {
    if (this.paused || this.waiting !== undefined) (this.waiting ??= []).push(chunk);
    else this.hand(chunk);
  }

  /** The end of the body, from the session. */
  finish(): void {
    this.complete = true;
    if (!this.paused && this.waiting === undefined) this.end();
  }

  /** The stream is gone. */
  cut(): void {
    let held = 0;
    for (const chunk of this.waiting ?? []) held += chunk.length;
    this.waiting = undefined;
    if (held > 0) this.consumed(held);
    if (this.complete) return;
    this.emit('aborted');
  }

  private readonly deliver = (): void => {
    this.scheduled = false;
    const chunks = this.waiting;
    this.waiting = undefined;
    if (chunks !== undefined) {
      for (let i = 0; i < chunks.length; i++) {
        if (this.paused) {
          this.waiting = chunks.slice(i);
          return;
        }
        this.hand(chunks[i] as Buffer);
      }
    }
    if (this.complete && !this.paused) this.end();
  };

  private hand(chunk: Buffer): void {
    this.consumed(chunk.length);
    this.emit('data', chunk);
  }

  private end(): void {
    if (this.ended) return;
    this.ended = true;
    this.emit('end');
  }
}
