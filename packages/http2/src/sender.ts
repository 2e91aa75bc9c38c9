import type { Socket } from 'node:net';
import {
  DEFAULT_FRAME_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FRAME_HEADER,
  FrameType,
  LARGEST_STREAM,
  Setting,
  writeFrameHeader,
  writeUint32,
} from './frames/frame.js';
import { type FieldValues, headBlock } from './heads/head.js';
import { EMPTY_TABLE } from './hpack/encoder.js';
import { Output } from './output.js';

/** The number of unsent bytes at which the streams of a connection stop sending, and at which they resume. */
export const HIGH_WATER = 256 * 1024;
export const LOW_WATER = 64 * 1024;
/** The maximum number of bytes that one stream sends before the next one's turn. */
export const QUANTUM = 64 * 1024;
/** The number of unsent bytes above which the client is disconnected if more replies to its control frames would be queued. */
const MAX_CONTROL_BACKLOG = 2 * HIGH_WATER;

/** The payload of the PING that follows the announcement of a shutdown. Its acknowledgment shows that the client has received both. */
export const SHUTDOWN_PING = Buffer.from('shutdown', 'latin1');

/** The limits that the first frames announce to the client. */
export interface Limits {
  readonly maxConcurrentStreams: number;
  /** The maximum size of a request's header list, in bytes. Every field counts its text plus 32 bytes. */
  readonly maxHeaderListBytes: number;
  /** The maximum number of fields in a request's header list. */
  readonly maxHeaderFields: number;
  readonly maxFrameBytes: number;
  /** The initial receive windows: the bytes that a client may send of one request body, and of all, before they are read. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
}

/** Writes the frames of one connection. */
export class Sender {
  /** The send window of the connection, and the maximum size of a frame that the client accepts, in bytes. */
  window = DEFAULT_WINDOW;
  frameBytes = DEFAULT_FRAME_SIZE;
  private readonly output: Output;
  private tableSizeSent = false;

  constructor(
    socket: Socket,
    written: () => void,
    flushing: () => void,
    /** Called if too many replies to control frames are queued. */
    private readonly onOverflow: () => void,
  ) {
    this.output = new Output(socket, written, flushing);
  }

  /** The number of bytes that are not sent yet. */
  get backlog(): number {
    return this.output.backlog;
  }

  /** Sends the written frames now rather than at the end of the turn. */
  flush(): void {
    this.output.flush();
  }

  /** Schedules a flush at the end of the turn. */
  schedule(): void {
    this.output.schedule();
  }

  /** Ends the connection once the written frames are sent. */
  finish(): void {
    this.output.finish();
  }

  sendSettings(limits: Limits): void {
    const settings: readonly (readonly [number, number])[] = [
      [Setting.maxConcurrentStreams, limits.maxConcurrentStreams],
      [Setting.initialWindowSize, limits.streamWindow],
      [Setting.maxFrameSize, limits.maxFrameBytes],
      [Setting.maxHeaderListSize, limits.maxHeaderListBytes],
    ];
    const payload = Buffer.alloc(settings.length * 6);
    settings.forEach(([setting, value], i) => {
      payload.writeUInt16BE(setting, i * 6);
      payload.writeUInt32BE(value, i * 6 + 2);
    });
    this.frame(FrameType.settings, 0, 0, payload);
    this.windowUpdate(0, limits.connectionWindow - DEFAULT_WINDOW);
    this.flush();
  }

  /** Writes the head of a response. `now` is the time for the Date field; undefined omits the field. */
  head(id: number, status: number, fields: FieldValues, now: number | undefined): void {
    let whole = headBlock(status, fields, now);
    if (!this.tableSizeSent) {
      this.tableSizeSent = true;
      whole = Buffer.concat([Buffer.of(EMPTY_TABLE), whole]);
    }
    if (whole.length <= this.frameBytes) {
      this.frame(FrameType.headers, Flag.endHeaders, id, whole);
      return;
    }
    for (let at = 0; at < whole.length; at += this.frameBytes) {
      const part = whole.subarray(at, at + this.frameBytes);
      const flags = at + part.length === whole.length ? Flag.endHeaders : 0;
      this.frame(at === 0 ? FrameType.headers : FrameType.continuation, flags, id, part);
    }
  }

  /** Writes DATA frames with copies of `parts`, which are `bytes` bytes in total. Frames are filled regardless of where the parts end. */
  data(id: number, parts: readonly Uint8Array[], bytes: number, end: boolean): void {
    if (bytes === 0 && end) this.frameHeader(0, FrameType.data, Flag.endStream, id);
    let room = 0;
    let left = bytes;
    for (const part of parts) {
      for (let from = 0; from < part.length;) {
        if (room === 0) {
          room = Math.min(left, this.frameBytes);
          this.frameHeader(room, FrameType.data, end && room === left ? Flag.endStream : 0, id);
        }
        const to = Math.min(part.length, from + room);
        this.output.append(part, from, to);
        room -= to - from;
        left -= to - from;
        from = to;
      }
    }
    this.window -= bytes;
  }

  /** Writes a reply to a control frame. It is queued like everything else, and a client that lets too many replies pile up is disconnected. */
  control(type: number, flags: number, id: number, payload: Uint8Array): void {
    if (this.backlog > MAX_CONTROL_BACKLOG) this.onOverflow();
    else this.frame(type, flags, id, payload);
  }

  reset(id: number, code: ErrorCode): void {
    const payload = Buffer.allocUnsafe(4);
    writeUint32(payload, 0, code);
    this.control(FrameType.rstStream, 0, id, payload);
  }

  windowUpdate(id: number, increment: number): void {
    const payload = Buffer.allocUnsafe(4);
    writeUint32(payload, 0, increment);
    this.control(FrameType.windowUpdate, 0, id, payload);
  }

  goaway(last: number, code: ErrorCode, message: string): void {
    const text = Buffer.from(message);
    const payload = Buffer.alloc(8 + text.length);
    payload.writeUInt32BE(last, 0);
    payload.writeUInt32BE(code, 4);
    payload.set(text, 8);
    this.frame(FrameType.goaway, 0, 0, payload);
  }

  /** Asks the client to use another connection, while any stream is still accepted. */
  shutdownNotice(): void {
    this.goaway(LARGEST_STREAM, ErrorCode.noError, '');
    this.control(FrameType.ping, 0, 0, SHUTDOWN_PING);
  }

  private frame(type: number, flags: number, id: number, payload: Uint8Array): void {
    this.frameHeader(payload.length, type, flags, id);
    if (payload.length > 0) this.output.append(payload);
  }

  private frameHeader(length: number, type: number, flags: number, id: number): void {
    const { output } = this;
    const out = output.reserve(FRAME_HEADER);
    output.advance(writeFrameHeader(out, output.position, length, type, flags, id));
  }
}
