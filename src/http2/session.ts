import type { Socket } from 'node:net';
import type { Clock, Timer } from '../util/clock.js';
import { type HeaderField, HpackDecoder } from './hpack/decoder.js';
import { EMPTY_TABLE } from './hpack/encoder.js';
import { HpackError } from './hpack/error.js';
import { type RequestHead, requestHead } from './fields.js';
import {
  ConnectionError,
  DEFAULT_FRAME_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FRAME_HEADER,
  FrameType,
  LARGEST_STREAM,
  LARGEST_WINDOW,
  PREFACE,
  Setting,
  writeFrameHeader,
  writeUint32,
} from './frame.js';
import { type FieldValues, headBlock } from './head.js';
import { Output } from './output.js';
import type { Http2Request } from './request.js';
import type { Http2Response } from './response.js';
import { Stream, type StreamSession } from './stream.js';

/** Bytes that may wait for a client before its streams have to wait, and where they go on. */
const HIGH_WATER = 256 * 1024;
const LOW_WATER = 64 * 1024;
/** What one stream sends before the next one's turn. */
const QUANTUM = 64 * 1024;
/** How many answers to control frames may wait for a client that does not read. */
const MOST_CONTROL_BYTES = HIGH_WATER + 64 * 1024;
/** How long a client has to say what it is, to see the first notice of a shutdown, and to close after the last frame. */
const PREFACE_MILLIS = 10_000;
const NOTICE_MILLIS = 1000;
const LINGER_MILLIS = 1000;
const SHUTDOWN_PING = Buffer.from('shutdown', 'latin1');

export interface SessionConfig {
  readonly clock: Clock;
  /** Streams that may be open at once. */
  readonly maxConcurrentStreams: number;
  /** Of one request, each field counted with 32 bytes besides its text. */
  readonly maxHeaderListBytes: number;
  readonly maxFrameBytes: number;
  /** What a client may send of one body, and of all, before they are read. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
  /** A connection without streams is closed after this time. */
  readonly idleMillis: number;
  /** Answers a request; what it returns settles when its work is over. */
  handle(session: Session, request: Http2Request, response: Http2Response): void | Promise<void>;
  /** A connection that ends because of what the client sent. */
  failed(code: ErrorCode, message: string): void;
}

/**
 * The server's side of one HTTP/2 connection (RFC 9113). Written for many small answers in one turn of the event loop, which node:http2
 * makes dear by a stream object with its machinery for each: see ARCHITECTURE.md.
 */
export class Session implements StreamSession {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
  private readonly output: Output;
  private readonly decoder = new HpackDecoder();
  private readonly streams = new Map<number, Stream>();
  /** Streams with something to send that could not go yet. */
  private readonly waiting = new Set<Stream>();
  /** Answered in this turn. */
  private answered: Stream[] = [];
  /** Handlers at work, also for streams that the client has reset. */
  private running = 0;
  /** The preface has come, and the SETTINGS after it. */
  private prefaced = false;
  private greeted = false;
  private tableSaid = false;
  private readonly partial: Buffer[] = [];
  private partialBytes = 0;
  /** Bytes without which nothing can be done. */
  private needed = PREFACE.length;
  /** The header block that is under way. */
  private block: { stream: number; endStream: boolean; parts: Buffer[]; bytes: number } | undefined;
  private lastStream = 0;
  private receiveWindow: number;
  private taken = 0;
  private sendWindow = DEFAULT_WINDOW;
  private peerWindow = DEFAULT_WINDOW;
  private peerFrameBytes = DEFAULT_FRAME_SIZE;
  /** serving; told to go elsewhere; takes nothing more; over. */
  private phase: 'open' | 'noticed' | 'closing' | 'closed' = 'open';
  private timer: Timer | undefined;
  private idleSince: number;

  constructor(
    private readonly socket: Socket,
    private readonly config: SessionConfig,
    /** After the connection has ended. */
    private readonly onClose: () => void,
  ) {
    this.output = new Output(
      socket,
      () => {
        if (this.waiting.size > 0 && this.output.backlog <= LOW_WATER) this.pump();
      },
      () => {
        this.settle();
      },
    );
    this.receiveWindow = config.connectionWindow;
    this.idleSince = config.clock.monotonic();
    this.arm(PREFACE_MILLIS);
    this.greet();
    socket.on('data', (chunk: Buffer) => {
      this.receive(chunk);
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.ended();
        resolve();
      });
    });
  }

  /** Open streams. */
  get size(): number {
    return this.streams.size;
  }

  /**
   * Sends the client elsewhere for its next requests; those that it has sent before it hears of this are answered too: GOAWAY names
   * the largest stream first, and the last one a round trip later (RFC 9113, section 6.8). `atOnce`: they are not.
   */
  shutdown(atOnce = false): void {
    if (this.phase !== 'open') return;
    this.phase = 'noticed';
    if (atOnce) {
      this.close();
      return;
    }
    this.writeGoaway(LARGEST_STREAM, ErrorCode.noError, '');
    this.writeControl(FrameType.ping, 0, 0, SHUTDOWN_PING);
    this.arm(NOTICE_MILLIS);
  }

  /** Cuts the connection. */
  destroy(): void {
    this.socket.destroy();
  }

  // What streams ask for.

  get writable(): boolean {
    return this.output.backlog < HIGH_WATER;
  }

  get window(): number {
    return this.sendWindow;
  }

  writeHead(stream: Stream, status: number, fields: FieldValues): void {
    const block = headBlock(status, fields, this.config.clock.now());
    const first = this.tableSaid ? 0 : 1;
    const { length } = block;
    if (length + first <= this.peerFrameBytes) {
      const out = this.output.reserve(FRAME_HEADER + length + first);
      let at = this.output.position;
      at = writeFrameHeader(out, at, length + first, FrameType.headers, Flag.endHeaders, stream.id);
      if (first === 1) out[at++] = EMPTY_TABLE;
      this.tableSaid = true;
      block.copy(out, at);
      this.output.advance(at + length);
      return;
    }
    this.tableSaid = true;
    const whole = first === 0 ? block : Buffer.concat([Buffer.of(EMPTY_TABLE), block]);
    for (let at = 0; at < whole.length; at += this.peerFrameBytes) {
      const part = whole.subarray(at, at + this.peerFrameBytes);
      const flags = at + part.length === whole.length ? Flag.endHeaders : 0;
      this.writeFrame(at === 0 ? FrameType.headers : FrameType.continuation, flags, stream.id, part);
    }
  }

  writeContinue(stream: Stream): void {
    const block = headBlock(100, new Map(), undefined);
    const whole = this.tableSaid ? block : Buffer.concat([Buffer.of(EMPTY_TABLE), block]);
    this.tableSaid = true;
    this.writeFrame(FrameType.headers, Flag.endHeaders, stream.id, whole);
  }

  writeData(stream: Stream, bytes: Uint8Array, end: boolean): void {
    const { length } = bytes;
    if (length > 0 || end) {
      const most = this.peerFrameBytes;
      let from = 0;
      do {
        const part = from === 0 && length <= most ? bytes : bytes.subarray(from, from + most);
        from += part.length;
        const flags = end && from === length ? Flag.endStream : 0;
        this.writeFrame(FrameType.data, flags, stream.id, part);
      } while (from < length);
      this.sendWindow -= length;
      stream.sendWindow -= length;
    }
    if (!end) return;
    stream.localEnded = true;
    // The rest of the body is not wanted (RFC 9113, section 8.1).
    if (!stream.remoteEnded) this.writeReset(stream.id, ErrorCode.noError);
    this.answered.push(stream);
  }

  wait(stream: Stream): void {
    this.waiting.add(stream);
  }

  reset(stream: Stream, code: ErrorCode): void {
    this.writeReset(stream.id, code);
    this.remove(stream);
  }

  consumed(stream: Stream, bytes: number): void {
    this.give(bytes);
    if (stream.remoteEnded || stream.closed) return;
    stream.taken += bytes;
    if (stream.taken * 2 < this.config.streamWindow) return;
    stream.receiveWindow += stream.taken;
    this.writeWindowUpdate(stream.id, stream.taken);
    stream.taken = 0;
  }

  // Streams.

  /** Allows the client to send so much more on the connection. */
  private give(bytes: number): void {
    this.taken += bytes;
    if (this.taken * 2 < this.config.connectionWindow) return;
    this.receiveWindow += this.taken;
    this.writeWindowUpdate(0, this.taken);
    this.taken = 0;
  }

  /** Lets what waits go out, in turn. */
  private pump(): void {
    for (const stream of this.waiting) {
      if (!this.writable) return;
      if (this.sendWindow <= 0) return;
      if (stream.sendWindow <= 0) continue;
      this.waiting.delete(stream);
      stream.sendQueued(QUANTUM);
      if (stream.hasQueued) this.waiting.add(stream);
      else if (!stream.localEnded) stream.response.emit('drain');
    }
  }

  /** Streams whose answer has been written are over. */
  private settle(): void {
    if (this.answered.length === 0) return;
    const answered = this.answered;
    this.answered = [];
    for (const stream of answered) this.remove(stream);
  }

  private remove(stream: Stream): void {
    if (!this.streams.delete(stream.id)) return;
    this.waiting.delete(stream);
    stream.close();
    if (this.streams.size === 0) this.rest();
  }

  /** Nothing is open: the connection may go, now or later. */
  private rest(): void {
    this.idleSince = this.config.clock.monotonic();
    if (this.phase === 'closing') this.finish();
    else if (this.phase === 'open' && this.timer === undefined) this.arm(this.config.idleMillis);
  }

  private arm(millis: number): void {
    this.timer?.cancel();
    this.timer = this.config.clock.setTimer(millis, this.onTime);
  }

  private readonly onTime = (): void => {
    this.timer = undefined;
    switch (this.phase) {
      case 'open': {
        if (!this.greeted) this.destroy();
        else if (this.streams.size === 0) {
          const left = this.idleSince + this.config.idleMillis - this.config.clock.monotonic();
          if (left > 0) this.arm(left);
          else this.shutdown();
        }
        return;
      }
      case 'noticed':
        this.close();
        return;
      case 'closing':
      case 'closed':
        this.destroy();
    }
  };

  /** Takes no further streams; the connection ends with the last one. */
  private close(): void {
    if (this.phase !== 'noticed') return;
    this.phase = 'closing';
    this.timer?.cancel();
    this.timer = undefined;
    this.writeGoaway(this.lastStream, ErrorCode.noError, '');
    if (this.streams.size === 0) this.finish();
  }

  /** Closes once what has been written is out. */
  private finish(): void {
    this.phase = 'closed';
    this.output.flush();
    this.socket.end();
    this.arm(LINGER_MILLIS);
  }

  private fail(error: ConnectionError): void {
    if (this.phase === 'closed') return;
    this.config.failed(error.code, error.message);
    this.writeGoaway(this.lastStream, error.code, error.message);
    this.finish();
    for (const stream of [...this.streams.values()]) this.remove(stream);
  }

  private ended(): void {
    this.phase = 'closed';
    this.timer?.cancel();
    this.timer = undefined;
    for (const stream of [...this.streams.values()]) this.remove(stream);
    this.onClose();
  }

  // What comes in.

  private receive(chunk: Buffer): void {
    if (this.phase === 'closed') return;
    let bytes = chunk;
    if (this.partialBytes > 0) {
      this.partial.push(chunk);
      this.partialBytes += chunk.length;
      if (this.partialBytes < this.needed) return;
      bytes = Buffer.concat(this.partial, this.partialBytes);
      this.partial.length = 0;
      this.partialBytes = 0;
    }
    try {
      const at = this.frames(bytes);
      // A failed connection has no use for the rest.
      if (at < bytes.length && this.isOpen()) {
        this.partial.push(at === 0 ? bytes : bytes.subarray(at));
        this.partialBytes = bytes.length - at;
      }
    } catch (error) {
      if (error instanceof ConnectionError) this.fail(error);
      else if (error instanceof HpackError) this.fail(new ConnectionError(ErrorCode.compressionError, error.message));
      else throw error;
    }
    this.output.flush();
  }

  private isOpen(): boolean {
    return this.phase !== 'closed';
  }

  /** Takes all whole frames; returns where the rest begins. */
  private frames(bytes: Buffer): number {
    let at = 0;
    if (!this.prefaced) {
      const some = Math.min(bytes.length, PREFACE.length);
      if (bytes.compare(PREFACE, 0, some, 0, some) !== 0) {
        throw new ConnectionError(ErrorCode.protocolError, 'no preface of HTTP/2');
      }
      if (bytes.length < PREFACE.length) return 0;
      this.prefaced = true;
      at = PREFACE.length;
    }
    while (this.isOpen()) {
      if (bytes.length - at < FRAME_HEADER) {
        this.needed = FRAME_HEADER;
        return at;
      }
      const length = bytes.readUIntBE(at, 3);
      if (length > this.config.maxFrameBytes) {
        throw new ConnectionError(ErrorCode.frameSizeError, `a frame of ${length} bytes`);
      }
      const end = at + FRAME_HEADER + length;
      if (end > bytes.length) {
        this.needed = FRAME_HEADER + length;
        return at;
      }
      const type = bytes[at + 3] as number;
      const flags = bytes[at + 4] as number;
      const id = bytes.readUInt32BE(at + 5) & 0x7fffffff;
      this.frame(type, flags, id, bytes.subarray(at + FRAME_HEADER, end));
      at = end;
    }
    return bytes.length;
  }

  private frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (!this.greeted) {
      if (type !== FrameType.settings || (flags & Flag.ack) !== 0) throw protocolError('no SETTINGS after the preface');
      this.greeted = true;
      this.arm(this.config.idleMillis);
    }
    if (this.block !== undefined && (type !== FrameType.continuation || id !== this.block.stream)) {
      throw protocolError('a header block is interrupted');
    }
    switch (type) {
      case FrameType.data:
        this.onData(flags, id, payload);
        return;
      case FrameType.headers:
        this.onHeaders(flags, id, payload);
        return;
      case FrameType.priority:
        if (id === 0) throw protocolError('PRIORITY of no stream');
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
        if (id !== 0) throw protocolError('GOAWAY of a stream');
        if (payload.length < 8) throw frameSizeError('GOAWAY');
        this.shutdown();
        return;
      case FrameType.windowUpdate:
        this.onWindowUpdate(id, payload);
        return;
      case FrameType.continuation:
        this.onContinuation(flags, payload);
        return;
      default:
      // Unknown frames are for extensions (RFC 9113, section 5.5).
    }
  }

  private onData(flags: number, id: number, payload: Buffer): void {
    if (id === 0 || id > this.lastStream) throw protocolError('DATA of a stream that is not open');
    this.receiveWindow -= payload.length;
    if (this.receiveWindow < 0) throw new ConnectionError(ErrorCode.flowControlError, 'the window is exceeded');
    const body = unpadded(flags, payload);
    const stream = this.streams.get(id);
    if (stream === undefined || stream.remoteEnded) {
      this.give(payload.length);
      if (stream === undefined || !stream.localEnded) this.resetId(id, ErrorCode.streamClosed);
      return;
    }
    stream.receiveWindow -= payload.length;
    stream.received += body.length;
    const end = (flags & Flag.endStream) !== 0;
    const wrongLength =
      stream.announced >= 0 && (stream.received > stream.announced || (end && stream.received < stream.announced));
    if (stream.receiveWindow < 0 || wrongLength) {
      this.give(payload.length);
      this.reset(stream, wrongLength ? ErrorCode.protocolError : ErrorCode.flowControlError);
      return;
    }
    stream.remoteEnded ||= end;
    if (payload.length > body.length) this.consumed(stream, payload.length - body.length);
    if (body.length > 0) {
      if (stream.localEnded) this.consumed(stream, body.length);
      else stream.request.receive(body);
    }
    if (end) stream.request.finish();
  }

  private onHeaders(flags: number, id: number, payload: Buffer): void {
    if (id % 2 === 0) throw protocolError('HEADERS of a stream that is not the client’s');
    let fragment = unpadded(flags, payload);
    if ((flags & Flag.priority) !== 0) {
      if (fragment.length < 5) throw frameSizeError('HEADERS');
      if ((fragment.readUInt32BE(0) & 0x7fffffff) === id) throw protocolError('a stream depends on itself');
      fragment = fragment.subarray(5);
    }
    this.block = { stream: id, endStream: (flags & Flag.endStream) !== 0, parts: [fragment], bytes: fragment.length };
    if ((flags & Flag.endHeaders) !== 0) this.endBlock();
  }

  private onContinuation(flags: number, payload: Buffer): void {
    const { block } = this;
    if (block === undefined) throw protocolError('CONTINUATION of nothing');
    block.parts.push(payload);
    block.bytes += payload.length;
    // What is a little too large is decoded, so that it can be answered. Each part costs, also an empty one.
    if (
      block.bytes > 1.5 * this.config.maxHeaderListBytes ||
      block.parts.length > this.config.maxHeaderListBytes / 1024
    ) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header block does not end');
    }
    if ((flags & Flag.endHeaders) !== 0) this.endBlock();
  }

  private endBlock(): void {
    const { block } = this;
    if (block === undefined) return;
    this.block = undefined;
    const bytes = block.parts.length === 1 ? (block.parts[0] as Buffer) : Buffer.concat(block.parts, block.bytes);
    const fields = this.decoder.decode(bytes, this.config.maxHeaderListBytes);
    if (block.stream <= this.lastStream) this.onTrailers(block.stream, block.endStream);
    else if (this.phase !== 'closing') this.open(block.stream, fields, block.endStream);
  }

  /** Trailers mean nothing to anyone here; they end the request. */
  private onTrailers(id: number, endStream: boolean): void {
    const stream = this.streams.get(id);
    if (stream === undefined) throw new ConnectionError(ErrorCode.streamClosed, 'HEADERS of a stream that is closed');
    if (stream.remoteEnded) this.reset(stream, ErrorCode.streamClosed);
    else if (!endStream || (stream.announced >= 0 && stream.received < stream.announced)) {
      this.reset(stream, ErrorCode.protocolError);
    } else {
      stream.remoteEnded = true;
      stream.request.finish();
    }
  }

  private open(id: number, fields: readonly HeaderField[] | undefined, endStream: boolean): void {
    this.lastStream = id;
    const { config } = this;
    if (this.streams.size - this.answered.length >= config.maxConcurrentStreams) {
      this.writeReset(id, ErrorCode.refusedStream);
      return;
    }
    const head = fields === undefined ? TOO_LARGE : requestHead(fields);
    const announced = head === undefined ? undefined : contentLength(head.headers['content-length']);
    if (head === undefined || announced === undefined || (endStream && announced > 0)) {
      this.writeReset(id, ErrorCode.protocolError);
      return;
    }
    const stream = new Stream(id, head, this, config.streamWindow, this.peerWindow);
    this.streams.set(id, stream);
    stream.announced = announced;
    if (endStream) {
      stream.remoteEnded = true;
      stream.request.finish();
    }
    if (fields === undefined) {
      refuseHead(stream.response);
      return;
    }
    // Resetting streams does not stop their handlers at once: a client could have any number of them at work.
    if (this.running >= 4 * config.maxConcurrentStreams) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many requests are reset');
    }
    const running = config.handle(this, stream.request, stream.response);
    if (running === undefined) return;
    this.running++;
    void running.then(this.onHandled, this.onHandled);
  }

  private readonly onHandled = (): void => {
    this.running--;
  };

  private onReset(id: number, payload: Buffer): void {
    if (id === 0 || id > this.lastStream) throw protocolError('RST_STREAM of a stream that is not open');
    if (payload.length !== 4) throw frameSizeError('RST_STREAM');
    const stream = this.streams.get(id);
    if (stream !== undefined) this.remove(stream);
  }

  private onSettings(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw protocolError('SETTINGS of a stream');
    if ((flags & Flag.ack) !== 0) {
      if (payload.length > 0) throw frameSizeError('SETTINGS');
      return;
    }
    if (payload.length % 6 !== 0) throw frameSizeError('SETTINGS');
    for (let at = 0; at < payload.length; at += 6) this.apply(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.writeControl(FrameType.settings, Flag.ack, 0, NOTHING);
    this.pump();
  }

  private apply(setting: number, value: number): void {
    if (setting === Setting.enablePush && value > 1) throw protocolError('SETTINGS_ENABLE_PUSH');
    if (setting === Setting.maxFrameSize) {
      if (value < DEFAULT_FRAME_SIZE || value > 0xffffff) throw protocolError('SETTINGS_MAX_FRAME_SIZE');
      // Larger frames would gain nothing, and keep small answers waiting.
      this.peerFrameBytes = Math.min(value, QUANTUM);
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
    if (id !== 0) throw protocolError('PING of a stream');
    if (payload.length !== 8) throw frameSizeError('PING');
    if ((flags & Flag.ack) === 0) this.writeControl(FrameType.ping, Flag.ack, 0, payload);
    else if (payload.equals(SHUTDOWN_PING)) this.close();
  }

  private onWindowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw frameSizeError('WINDOW_UPDATE');
    const increment = payload.readUInt32BE(0) & 0x7fffffff;
    if (id === 0) {
      if (increment === 0) throw protocolError('WINDOW_UPDATE of 0');
      this.sendWindow += increment;
      if (this.sendWindow > LARGEST_WINDOW) throw new ConnectionError(ErrorCode.flowControlError, 'WINDOW_UPDATE');
    } else {
      if (id > this.lastStream) throw protocolError('WINDOW_UPDATE of a stream that is not open');
      const stream = this.streams.get(id);
      if (stream === undefined) return;
      stream.sendWindow += increment;
      if (increment === 0) this.reset(stream, ErrorCode.protocolError);
      else if (stream.sendWindow > LARGEST_WINDOW) this.reset(stream, ErrorCode.flowControlError);
    }
    if (this.waiting.size > 0) this.pump();
  }

  private resetId(id: number, code: ErrorCode): void {
    const stream = this.streams.get(id);
    if (stream === undefined) this.writeReset(id, code);
    else this.reset(stream, code);
  }

  // What goes out.

  private greet(): void {
    const { config } = this;
    const settings: readonly (readonly [number, number])[] = [
      [Setting.maxConcurrentStreams, config.maxConcurrentStreams],
      [Setting.initialWindowSize, config.streamWindow],
      [Setting.maxFrameSize, config.maxFrameBytes],
      [Setting.maxHeaderListSize, config.maxHeaderListBytes],
    ];
    const payload = Buffer.alloc(settings.length * 6);
    settings.forEach(([setting, value], i) => {
      payload.writeUInt16BE(setting, i * 6);
      payload.writeUInt32BE(value, i * 6 + 2);
    });
    this.writeFrame(FrameType.settings, 0, 0, payload);
    this.writeWindowUpdate(0, config.connectionWindow - DEFAULT_WINDOW);
    this.output.flush();
  }

  private writeFrame(type: number, flags: number, id: number, payload: Uint8Array): void {
    const { output } = this;
    const out = output.reserve(FRAME_HEADER);
    output.advance(writeFrameHeader(out, output.position, payload.length, type, flags, id));
    if (payload.length > 0) output.append(payload);
  }

  /** Answers to what a client sends wait for it as everything else does; a client that does not take them is cut. */
  private writeControl(type: number, flags: number, id: number, payload: Uint8Array): void {
    if (this.output.backlog > MOST_CONTROL_BYTES) this.destroy();
    else this.writeFrame(type, flags, id, payload);
  }

  private writeReset(id: number, code: ErrorCode): void {
    const payload = Buffer.allocUnsafe(4);
    writeUint32(payload, 0, code);
    this.writeControl(FrameType.rstStream, 0, id, payload);
  }

  private writeWindowUpdate(id: number, increment: number): void {
    const payload = Buffer.allocUnsafe(4);
    writeUint32(payload, 0, increment);
    this.writeControl(FrameType.windowUpdate, 0, id, payload);
  }

  private writeGoaway(last: number, code: ErrorCode, message: string): void {
    const text = Buffer.from(message);
    const payload = Buffer.alloc(8 + text.length);
    payload.writeUInt32BE(last, 0);
    payload.writeUInt32BE(code, 4);
    payload.set(text, 8);
    this.writeFrame(FrameType.goaway, 0, 0, payload);
  }
}

const NOTHING = new Uint8Array();
const TOO_LARGE: RequestHead = { method: 'GET', path: '/', headers: {}, rawHeaders: [] };

const protocolError = (message: string): ConnectionError => new ConnectionError(ErrorCode.protocolError, message);
const frameSizeError = (frame: string): ConnectionError =>
  new ConnectionError(ErrorCode.frameSizeError, `a ${frame} frame has a wrong size`);

function unpadded(flags: number, payload: Buffer): Buffer {
  if ((flags & Flag.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined) throw frameSizeError('padded');
  if (padding >= payload.length) throw protocolError('more padding than payload');
  return payload.subarray(1, payload.length - padding);
}

/** -1 where there is none; undefined where it is no length. */
function contentLength(text: string | undefined): number | undefined {
  if (text === undefined) return -1;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** As Go's server answers a request whose head is too large. */
function refuseHead(response: Http2Response): void {
  response.statusCode = 431;
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end('<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>');
}
