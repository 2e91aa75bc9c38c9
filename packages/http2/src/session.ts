import type { Socket } from 'node:net';
import type { Clock } from './clock.js';
import { type RequestHead, requestHead } from './heads/fields.js';
import {
  ConnectionError,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  flowControlError,
  LARGEST_WINDOW,
  protocolError,
  unpadded,
} from './frames/frame.js';
import type { FieldValues } from './heads/head.js';
import type { HeaderField } from './hpack/decoder.js';
import { Lifetime, type LifetimeConnection } from './lifetime.js';
import { type FrameHandler, Receiver } from './receiver.js';
import type { Http2Request } from './request.js';
import { type Http2Response, rejectOversizedHead } from './response.js';
import { HIGH_WATER, type Limits, LOW_WATER, QUANTUM, Sender } from './sender.js';
import { Stream, type StreamSession } from './stream.js';
import { UnreadStreams } from './unread.js';

export interface SessionConfig extends Limits {
  readonly clock: Clock;
  /** The time, in milliseconds, after which a connection without streams is closed. */
  readonly idleMillis: number;
  /** Handles a request. The returned promise settles when the work for the request has ended. */
  handle(session: Session, request: Http2Request, response: Http2Response): void | Promise<void>;
  /** Called when the connection fails because of what the client sent. */
  onError(code: ErrorCode, message: string): void;
}

/**
 * The server side of one HTTP/2 connection (RFC 9113). It is optimized for many small responses in one turn of the event loop: there,
 * node:http2 is expensive, because it creates a stream object with all its machinery for each. See ARCHITECTURE.md.
 */
export class Session implements FrameHandler, StreamSession, LifetimeConnection {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  private readonly sender: Sender;
  private readonly receiver: Receiver;
  private readonly streams = new Map<number, Stream>();
  private readonly unread: UnreadStreams;
  /** The streams with queued data that cannot be sent yet. */
  private readonly waiting = new Set<Stream>();
  /** The streams whose response was completed in this turn of the event loop. */
  private completed: Stream[] = [];
  /** The number of running handlers, including those of streams that the client has reset. */
  private running = 0;
  private lastStream = 0;
  private receiveWindow: number;
  private pendingCredit = 0;
  private peerWindow = DEFAULT_WINDOW;
  private readonly lifetime: Lifetime;

  constructor(
    private readonly socket: Socket,
    private readonly config: SessionConfig,
    /** Called after the connection has ended. */
    private readonly onClose: () => void,
  ) {
    this.sender = new Sender(
      socket,
      () => {
        if (this.waiting.size > 0 && this.sender.backlog <= LOW_WATER) this.pump();
      },
      () => {
        if (this.waiting.size > 0) this.pump();
        this.closeCompleted();
      },
      () => {
        if (socket.destroyed) return;
        config.onError(ErrorCode.enhanceYourCalm, 'the client does not read the replies to its control frames');
        this.destroy();
      },
    );
    this.lifetime = new Lifetime(this, config.clock, config.idleMillis);
    this.receiver = new Receiver(this, this.sender, this.lifetime, config);
    this.receiveWindow = config.connectionWindow;
    this.unread = new UnreadStreams(config.clock, config.maxConcurrentStreams, (id) => {
      // The client need not send the rest of the body (RFC 9113, section 8.1).
      this.sender.reset(id, ErrorCode.noError);
      this.sender.schedule();
    });
    this.sender.sendSettings(config);
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.onSocketClose();
        resolve();
      });
    });
  }

  /** The number of open streams. */
  get size(): number {
    return this.streams.size;
  }

  /**
   * Starts a graceful shutdown, so that the client uses another connection for further requests. Requests that it sends before it
   * receives the notice are still handled: a first GOAWAY names the largest possible stream, and a second one, soon after the client
   * has acknowledged the first, the last stream (RFC 9113, section 6.8).
   */
  shutdown(): void {
    this.lifetime.shutdown();
  }

  /** Like `shutdown`, but accepts no further requests: only the second GOAWAY is sent. */
  shutdownAtOnce(): void {
    this.lifetime.shutdownAtOnce();
  }

  /** Closes the connection immediately. */
  destroy(): void {
    this.socket.destroy();
  }

  // --- LifetimeConnection, for Lifetime

  sendShutdownNotice(): void {
    this.sender.shutdownNotice();
  }

  sendFinalGoaway(): void {
    this.sender.goaway(this.lastStream, ErrorCode.noError, '');
  }

  end(flushed: () => void): void {
    this.socket.once('finish', flushed);
    this.sender.finish();
  }

  // --- StreamSession, for Stream

  get writable(): boolean {
    return this.sender.backlog < HIGH_WATER;
  }

  get window(): number {
    return this.sender.window;
  }

  writeHead(stream: Stream, status: number, fields: FieldValues): void {
    this.sender.head(stream.id, status, fields, this.config.clock.now());
  }

  writeContinue(stream: Stream): void {
    this.sender.head(stream.id, 100, new Map(), undefined);
  }

  writeData(stream: Stream, parts: readonly Uint8Array[], bytes: number, end: boolean): void {
    this.sender.data(stream.id, parts, bytes, end);
    stream.sendWindow -= bytes;
    if (!end) return;
    stream.localEnded = true;
    this.completed.push(stream);
  }

  awaitWritable(stream: Stream): void {
    this.waiting.add(stream);
    // Part of the data may fit into the windows now. Nothing else may trigger a flush.
    this.sender.schedule();
  }

  reset(stream: Stream, code: ErrorCode): void {
    this.sender.reset(stream.id, code);
    this.unread.delete(stream.id);
    this.remove(stream);
  }

  onConsumed(stream: Stream, bytes: number): void {
    this.returnCredit(bytes);
    if (stream.remoteEnded || stream.closed) return;
    stream.pendingCredit += bytes;
    if (stream.pendingCredit * 2 < this.config.streamWindow) return;
    stream.receiveWindow += stream.pendingCredit;
    this.sender.windowUpdate(stream.id, stream.pendingCredit);
    stream.pendingCredit = 0;
  }

  // --- streams

  /** Grants the client flow-control credit on the connection. */
  private returnCredit(bytes: number): void {
    this.pendingCredit += bytes;
    if (this.pendingCredit * 2 < this.config.connectionWindow) return;
    this.receiveWindow += this.pendingCredit;
    this.sender.windowUpdate(0, this.pendingCredit);
    this.pendingCredit = 0;
  }

  /** Sends queued data of the waiting streams, in turn. */
  private pump(): void {
    for (const stream of this.waiting) {
      if (!this.writable) return;
      if (this.sender.window <= 0) return;
      if (stream.sendWindow <= 0) continue;
      this.waiting.delete(stream);
      stream.sendQueued(QUANTUM);
      if (stream.hasQueued) this.waiting.add(stream);
      else if (!stream.localEnded) stream.response.emit('drain');
    }
  }

  /** Closes the streams whose response has been written. */
  private closeCompleted(): void {
    if (this.completed.length === 0) return;
    const answered = this.completed;
    this.completed = [];
    for (const stream of answered) {
      if (!stream.remoteEnded && this.streams.has(stream.id)) this.unread.add(stream);
      this.remove(stream);
    }
  }

  /** Returns the stream of a request whose body may still be arriving. */
  private receivingStream(id: number): Stream | undefined {
    return this.streams.get(id) ?? this.unread.get(id);
  }

  private remove(stream: Stream): void {
    if (!this.streams.delete(stream.id)) return;
    this.waiting.delete(stream);
    stream.close();
    if (this.streams.size === 0) this.lifetime.onIdle();
  }

  private fail(error: ConnectionError): void {
    if (this.lifetime.isClosed) return;
    this.config.onError(error.code, error.message);
    this.sender.goaway(this.lastStream, error.code, error.message);
    this.lifetime.finish();
    this.closeStreams();
  }

  private closeStreams(): void {
    this.unread.clear();
    for (const stream of [...this.streams.values()]) this.remove(stream);
  }

  private onSocketClose(): void {
    this.lifetime.onSocketClose();
    this.closeStreams();
    this.onClose();
  }

  // --- FrameHandler, for Receiver

  onData(id: number, flags: number, payload: Buffer): void {
    this.receiveWindow -= payload.length;
    if (this.receiveWindow < 0) throw flowControlError('the window is exceeded');
    if (this.isAfterGoaway(id)) {
      this.returnCredit(payload.length);
      return;
    }
    const body = unpadded(flags, payload);
    const stream = this.receivingStream(id);
    if (stream === undefined || stream.remoteEnded) {
      this.returnCredit(payload.length);
      if (stream === undefined || !stream.localEnded) this.onStreamError(id, ErrorCode.streamClosed);
      return;
    }
    const end = (flags & Flag.endStream) !== 0;
    const error = stream.countData(payload.length, body.length, end);
    if (error !== undefined) {
      this.returnCredit(payload.length);
      this.reset(stream, error);
      return;
    }
    stream.remoteEnded ||= end;
    if (end) this.unread.delete(id);
    else if (stream.receiveWindow === 0) this.unread.end(id);
    if (payload.length > body.length) this.onConsumed(stream, payload.length - body.length);
    if (body.length > 0) {
      if (stream.localEnded) this.onConsumed(stream, body.length);
      else stream.request.receive(body);
    }
    if (end) stream.request.finish();
  }

  onHeaders(id: number, fields: readonly HeaderField[] | undefined, endStream: boolean): void {
    if (id <= this.lastStream) this.onTrailers(id, endStream);
    else if (this.lifetime.acceptsStreams) this.open(id, fields, endStream);
  }

  onReset(id: number): void {
    if (this.isAfterGoaway(id)) return;
    const stream = this.receivingStream(id);
    if (stream === undefined) return;
    this.unread.delete(id);
    this.remove(stream);
  }

  onInitialWindow(size: number): void {
    const message = 'SETTINGS_INITIAL_WINDOW_SIZE';
    if (size > LARGEST_WINDOW) throw flowControlError(message);
    for (const stream of this.streams.values()) {
      stream.sendWindow += size - this.peerWindow;
      if (stream.sendWindow > LARGEST_WINDOW) throw flowControlError(message);
    }
    this.peerWindow = size;
  }

  onWindowUpdate(id: number, increment: number): void {
    if (this.isAfterGoaway(id)) return;
    const stream = this.receivingStream(id);
    if (stream === undefined) return;
    stream.sendWindow += increment;
    if (increment === 0) this.reset(stream, ErrorCode.protocolError);
    else if (stream.sendWindow > LARGEST_WINDOW) this.reset(stream, ErrorCode.flowControlError);
  }

  onStreamError(id: number, code: ErrorCode): void {
    const stream = this.receivingStream(id);
    if (stream === undefined) this.sender.reset(id, code);
    else this.reset(stream, code);
  }

  // --- requests

  private receive(chunk: Buffer): void {
    if (this.lifetime.isClosed) return;
    try {
      this.receiver.receive(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.fail(error);
    }
    this.sender.flush();
  }

  /** Ends the request. The trailers themselves are ignored. */
  private onTrailers(id: number, endStream: boolean): void {
    const stream = this.receivingStream(id);
    if (stream === undefined) throw new ConnectionError(ErrorCode.streamClosed, 'HEADERS on a closed stream');
    if (stream.remoteEnded) this.reset(stream, ErrorCode.streamClosed);
    else if (!endStream || stream.isIncomplete) this.reset(stream, ErrorCode.protocolError);
    else {
      stream.remoteEnded = true;
      this.unread.delete(id);
      stream.request.finish();
    }
  }

  private open(id: number, fields: readonly HeaderField[] | undefined, endStream: boolean): void {
    this.lastStream = id;
    const { config } = this;
    if (this.streams.size - this.completed.length >= config.maxConcurrentStreams) {
      this.sender.reset(id, ErrorCode.refusedStream);
      return;
    }
    const head = fields === undefined ? TOO_LARGE : requestHead(fields);
    if (head === undefined || (endStream && head.contentLength > 0)) {
      this.sender.reset(id, ErrorCode.protocolError);
      return;
    }
    const stream = new Stream(id, head, this, config.streamWindow, this.peerWindow);
    this.streams.set(id, stream);
    this.lifetime.onStream();
    if (endStream) {
      stream.remoteEnded = true;
      stream.request.finish();
    }
    if (fields === undefined) {
      rejectOversizedHead(stream.response);
      return;
    }
    // Resetting a stream does not stop its handler at once, so a client could otherwise have any number of handlers running.
    if (this.running >= 4 * config.maxConcurrentStreams) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'the client has reset too many requests');
    }
    const running = config.handle(this, stream.request, stream.response);
    if (running === undefined) return;
    this.running++;
    void running.then(this.onHandled, this.onHandled);
  }

  private readonly onHandled = (): void => {
    this.running--;
  };

  /** Reports whether a stream was opened after the last GOAWAY, by a client that had not received it yet. Throws if the stream was never opened. */
  private isAfterGoaway(id: number): boolean {
    if (id <= this.lastStream) return false;
    if (this.lifetime.acceptsStreams) throw protocolError(`frame on stream ${id}, which is not open`);
    return true;
  }
}

const TOO_LARGE: RequestHead = { method: 'GET', path: '/', headers: {}, rawHeaders: [], contentLength: -1 };
