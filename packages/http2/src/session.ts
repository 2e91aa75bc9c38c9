import type { Socket } from 'node:net';
import type { Clock } from './clock.js';
import { type HeaderField, HpackDecoder } from './hpack/decoder.js';
import { HpackError } from './hpack/error.js';
import { contentLength, type RequestHead, requestHead } from './heads/fields.js';
import {
  ConnectionError,
  DEFAULT_FRAME_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  frameSizeError,
  FrameType,
  LARGEST_STREAM,
  LARGEST_WINDOW,
  protocolError,
  Setting,
  unpadded,
} from './frames/frame.js';
import { FrameReader } from './frames/frame-reader.js';
import { type HeadBlock, HeadReader } from './heads/head-reader.js';
import type { FieldValues } from './heads/head.js';
import { Lifetime, type LifetimeConnection } from './lifetime.js';
import type { Http2Request } from './request.js';
import { type Http2Response, rejectOversizedHead } from './response.js';
import { HIGH_WATER, LOW_WATER, QUANTUM, Sender } from './sender.js';
import { Stream, type StreamSession } from './stream.js';
import { UnreadStreams } from './unread.js';

const SHUTDOWN_PING = Buffer.from('shutdown', 'latin1');

export interface SessionConfig {
  readonly clock: Clock;
  /** The maximum number of concurrent streams. */
  readonly maxConcurrentStreams: number;
  /** The maximum size of a request's header list, in bytes. Every field counts its text plus 32 bytes. */
  readonly maxHeaderListBytes: number;
  readonly maxFrameBytes: number;
  /** The initial receive windows: the bytes that a client may send of one request body, and of all, before they are read. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
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
export class Session implements StreamSession, LifetimeConnection {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  private readonly sender: Sender;
  private readonly decoder = new HpackDecoder();
  private readonly streams = new Map<number, Stream>();
  private readonly unread: UnreadStreams;
  /** The streams with queued data that cannot be sent yet. */
  private readonly waiting = new Set<Stream>();
  /** The streams whose response was completed in this turn of the event loop. */
  private completed: Stream[] = [];
  /** The number of running handlers, including those of streams that the client has reset. */
  private running = 0;
  /** True once the first SETTINGS frame was received. */
  private settingsReceived = false;
  private readonly reader: FrameReader;
  private readonly heads: HeadReader;
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
    this.reader = new FrameReader(config.maxFrameBytes, (type, flags, id, payload) => {
      this.onFrame(type, flags, id, payload);
      return !this.lifetime.isClosed;
    });
    this.heads = new HeadReader(config.maxHeaderListBytes);
    this.receiveWindow = config.connectionWindow;
    this.unread = new UnreadStreams(config.clock, config.maxConcurrentStreams, (id) => {
      // The client need not send the rest of the body (RFC 9113, section 8.1).
      this.sender.reset(id, ErrorCode.noError);
      this.sender.schedule();
    });
    this.lifetime = new Lifetime(this, config.clock, config.idleMillis);
    this.sender.sendSettings(config);
    socket.on('data', (chunk: Buffer) => {
      this.receive(chunk);
    });
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
   * has acknowledged the first, the last stream (RFC 9113, section 6.8). With `atOnce`, only the second one is sent.
   */
  shutdown(atOnce = false): void {
    this.lifetime.shutdown(atOnce);
  }

  /** Closes the connection immediately. */
  destroy(): void {
    this.socket.destroy();
  }

  // --- Mortal, for Lifetime

  sendShutdownNotice(): void {
    this.sender.goaway(LARGEST_STREAM, ErrorCode.noError, '');
    this.sender.control(FrameType.ping, 0, 0, SHUTDOWN_PING);
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
    this.unread.clear();
    for (const stream of [...this.streams.values()]) this.remove(stream);
  }

  private onSocketClose(): void {
    this.lifetime.onSocketClose();
    this.unread.clear();
    for (const stream of [...this.streams.values()]) this.remove(stream);
    this.onClose();
  }

  // --- received frames

  private receive(chunk: Buffer): void {
    if (this.lifetime.isClosed) return;
    try {
      this.reader.receive(chunk);
    } catch (error) {
      if (error instanceof ConnectionError) this.fail(error);
      else if (error instanceof HpackError) this.fail(new ConnectionError(ErrorCode.compressionError, error.message));
      else throw error;
    }
    this.sender.flush();
  }

  private onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    if (!this.settingsReceived) {
      if (type !== FrameType.settings || (flags & Flag.ack) !== 0) throw protocolError('no SETTINGS after the preface');
      this.settingsReceived = true;
      this.lifetime.onFirstSettings();
    }
    if (this.heads.stream !== undefined && (type !== FrameType.continuation || id !== this.heads.stream)) {
      throw protocolError('a header block is interrupted by another frame');
    }
    switch (type) {
      case FrameType.data:
        this.onData(flags, id, payload);
        return;
      case FrameType.headers:
        this.onHead(this.heads.headers(flags, id, payload));
        return;
      case FrameType.priority:
        if (id === 0) throw protocolError('PRIORITY on stream 0');
        if (payload.length !== 5) this.resetId(id, ErrorCode.frameSizeError);
        else if ((payload.readUInt32BE(0) & 0x7fffffff) === id) this.resetId(id, ErrorCode.protocolError);
        return;
      case FrameType.rstStream:
        this.onReset(id, payload);
        return;
      case FrameType.settings:
        this.onSettings(flags, id, payload);
        return;
      case FrameType.pushPromise:
        throw protocolError('PUSH_PROMISE from a client');
      case FrameType.ping:
        this.onPing(flags, id, payload);
        return;
      case FrameType.goaway:
        if (id !== 0) throw protocolError('GOAWAY on a nonzero stream');
        if (payload.length < 8) throw frameSizeError('GOAWAY');
        this.shutdown();
        return;
      case FrameType.windowUpdate:
        this.onWindowUpdate(id, payload);
        return;
      case FrameType.continuation:
        this.onHead(this.heads.continuation(flags, payload));
        return;
      default:
      // Frames of unknown types are ignored, as they may belong to extensions (RFC 9113, section 5.5).
    }
  }

  private onData(flags: number, id: number, payload: Buffer): void {
    if (id === 0) throw protocolError('DATA on stream 0');
    this.receiveWindow -= payload.length;
    if (this.receiveWindow < 0) throw new ConnectionError(ErrorCode.flowControlError, 'the window is exceeded');
    if (this.isAfterGoaway(id)) {
      this.returnCredit(payload.length);
      return;
    }
    const body = unpadded(flags, payload);
    const stream = this.receivingStream(id);
    if (stream === undefined || stream.remoteEnded) {
      this.returnCredit(payload.length);
      if (stream === undefined || !stream.localEnded) this.resetId(id, ErrorCode.streamClosed);
      return;
    }
    stream.receiveWindow -= payload.length;
    stream.received += body.length;
    const end = (flags & Flag.endStream) !== 0;
    const wrongLength =
      stream.contentLength >= 0 &&
      (stream.received > stream.contentLength || (end && stream.received < stream.contentLength));
    if (stream.receiveWindow < 0 || wrongLength) {
      this.returnCredit(payload.length);
      this.reset(stream, wrongLength ? ErrorCode.protocolError : ErrorCode.flowControlError);
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

  private onHead(block: HeadBlock | undefined): void {
    if (block === undefined) return;
    const fields = this.decoder.decode(block.bytes, this.config.maxHeaderListBytes);
    if (block.stream <= this.lastStream) this.onTrailers(block.stream, block.endStream);
    else if (this.lifetime.acceptsStreams) this.open(block.stream, fields, block.endStream);
  }

  /** Ends the request. The trailers themselves are ignored. */
  private onTrailers(id: number, endStream: boolean): void {
    const stream = this.receivingStream(id);
    if (stream === undefined) throw new ConnectionError(ErrorCode.streamClosed, 'HEADERS on a closed stream');
    if (stream.remoteEnded) this.reset(stream, ErrorCode.streamClosed);
    else if (!endStream || (stream.contentLength >= 0 && stream.received < stream.contentLength)) {
      this.reset(stream, ErrorCode.protocolError);
    } else {
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
    const announced = head === undefined ? undefined : contentLength(head);
    if (head === undefined || announced === undefined || (endStream && announced > 0)) {
      this.sender.reset(id, ErrorCode.protocolError);
      return;
    }
    const stream = new Stream(id, head, this, config.streamWindow, this.peerWindow);
    this.streams.set(id, stream);
    this.lifetime.onStream();
    stream.contentLength = announced;
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

  private onReset(id: number, payload: Buffer): void {
    if (id === 0) throw protocolError('RST_STREAM on stream 0');
    if (payload.length !== 4) throw frameSizeError('RST_STREAM');
    if (this.isAfterGoaway(id)) return;
    const stream = this.receivingStream(id);
    if (stream === undefined) return;
    this.unread.delete(id);
    this.remove(stream);
  }

  private onSettings(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw protocolError('SETTINGS on a nonzero stream');
    if ((flags & Flag.ack) !== 0) {
      if (payload.length > 0) throw frameSizeError('SETTINGS');
      return;
    }
    if (payload.length % 6 !== 0) throw frameSizeError('SETTINGS');
    for (let at = 0; at < payload.length; at += 6) this.apply(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.sender.control(FrameType.settings, Flag.ack, 0, NOTHING);
  }

  private apply(setting: number, value: number): void {
    if (setting === Setting.enablePush && value > 1) throw protocolError('SETTINGS_ENABLE_PUSH');
    if (setting === Setting.maxFrameSize) {
      if (value < DEFAULT_FRAME_SIZE || value > 0xffffff) throw protocolError('SETTINGS_MAX_FRAME_SIZE');
      // Larger frames would be of no benefit, and would delay small responses.
      this.sender.frameBytes = Math.min(value, QUANTUM);
    }
    if (setting === Setting.initialWindowSize) {
      const wrong = new ConnectionError(ErrorCode.flowControlError, 'SETTINGS_INITIAL_WINDOW_SIZE');
      if (value > LARGEST_WINDOW) throw wrong;
      for (const stream of this.streams.values()) {
        stream.sendWindow += value - this.peerWindow;
        if (stream.sendWindow > LARGEST_WINDOW) throw wrong;
      }
      this.peerWindow = value;
    }
  }

  private onPing(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw protocolError('PING on a nonzero stream');
    if (payload.length !== 8) throw frameSizeError('PING');
    if ((flags & Flag.ack) === 0) this.sender.control(FrameType.ping, Flag.ack, 0, payload);
    else if (payload.equals(SHUTDOWN_PING)) this.lifetime.onNoticeAcknowledged();
  }

  private onWindowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw frameSizeError('WINDOW_UPDATE');
    const increment = payload.readUInt32BE(0) & 0x7fffffff;
    if (id === 0) {
      if (increment === 0) throw protocolError('WINDOW_UPDATE with an increment of 0');
      this.sender.window += increment;
      if (this.sender.window > LARGEST_WINDOW) throw new ConnectionError(ErrorCode.flowControlError, 'WINDOW_UPDATE');
    } else {
      if (this.isAfterGoaway(id)) return;
      const stream = this.receivingStream(id);
      if (stream === undefined) return;
      stream.sendWindow += increment;
      if (increment === 0) this.reset(stream, ErrorCode.protocolError);
      else if (stream.sendWindow > LARGEST_WINDOW) this.reset(stream, ErrorCode.flowControlError);
    }
  }

  private resetId(id: number, code: ErrorCode): void {
    const stream = this.receivingStream(id);
    if (stream === undefined) this.sender.reset(id, code);
    else this.reset(stream, code);
  }
}

const NOTHING = new Uint8Array();
const TOO_LARGE: RequestHead = { method: 'GET', path: '/', headers: {}, rawHeaders: [] };
