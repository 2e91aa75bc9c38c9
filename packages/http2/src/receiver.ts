import {
  DEFAULT_FRAME_SIZE,
  ErrorCode,
  Flag,
  flowControlError,
  frameSizeError,
  FrameType,
  LARGEST_WINDOW,
  protocolError,
  Setting,
} from './frames/frame.js';
import { FrameReader } from './frames/frame-reader.js';
import { type HeadBlock, HeadReader } from './heads/head-reader.js';
import { type HeaderField, HpackDecoder } from './hpack/decoder.js';
import type { Lifetime } from './lifetime.js';
import { type Limits, QUANTUM, type Sender, SHUTDOWN_PING } from './sender.js';

/** Handles the frames that concern streams. May throw a ConnectionError. */
export interface FrameHandler {
  /** Called for DATA. The payload includes the padding, which counts for flow control. */
  onData(id: number, flags: number, payload: Buffer): void;
  /** Called for a complete header block. `fields` is undefined if the block exceeds the limit. */
  onHeaders(id: number, fields: readonly HeaderField[] | undefined, endStream: boolean): void;
  onReset(id: number): void;
  onWindowUpdate(id: number, increment: number): void;
  /** Called when the client has changed the initial send window of streams. */
  onInitialWindow(size: number): void;
  /** Called for a frame with an error that ends only its stream. */
  onStreamError(id: number, code: ErrorCode): void;
}

/** Reads the frames of one connection, checks each of them by itself, and answers those that concern no stream. */
export class Receiver {
  private readonly reader: FrameReader;
  private readonly heads: HeadReader;
  private readonly decoder = new HpackDecoder();
  /** True once the first SETTINGS frame was received. */
  private settingsReceived = false;

  constructor(
    private readonly handler: FrameHandler,
    private readonly sender: Sender,
    private readonly lifetime: Lifetime,
    private readonly limits: Limits,
  ) {
    this.reader = new FrameReader(limits.maxFrameBytes, (type, flags, id, payload) => {
      this.onFrame(type, flags, id, payload);
      return !lifetime.isClosed;
    });
    this.heads = new HeadReader(limits.maxHeaderListBytes);
  }

  /** Receives a chunk. Throws a ConnectionError. */
  receive(chunk: Buffer): void {
    this.reader.receive(chunk);
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
        if (id === 0) throw protocolError('DATA on stream 0');
        this.handler.onData(id, flags, payload);
        return;
      case FrameType.headers:
        this.onHead(this.heads.headers(flags, id, payload));
        return;
      case FrameType.priority:
        if (id === 0) throw protocolError('PRIORITY on stream 0');
        if (payload.length !== 5) this.handler.onStreamError(id, ErrorCode.frameSizeError);
        else if ((payload.readUInt32BE(0) & 0x7fffffff) === id) this.handler.onStreamError(id, ErrorCode.protocolError);
        return;
      case FrameType.rstStream:
        if (id === 0) throw protocolError('RST_STREAM on stream 0');
        if (payload.length !== 4) throw frameSizeError('RST_STREAM');
        this.handler.onReset(id);
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
        this.lifetime.shutdown();
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

  private onHead(block: HeadBlock | undefined): void {
    if (block === undefined) return;
    const { maxHeaderListBytes, maxHeaderFields } = this.limits;
    const fields = this.decoder.decode(block.bytes, maxHeaderListBytes, maxHeaderFields);
    this.handler.onHeaders(block.stream, fields, block.endStream);
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
    if (setting === Setting.initialWindowSize) this.handler.onInitialWindow(value);
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
    if (id !== 0) {
      this.handler.onWindowUpdate(id, increment);
      return;
    }
    if (increment === 0) throw protocolError('WINDOW_UPDATE with an increment of 0');
    this.sender.window += increment;
    if (this.sender.window > LARGEST_WINDOW) throw flowControlError('WINDOW_UPDATE');
  }
}

const NOTHING = new Uint8Array();
