import { ConnectionError, ErrorCode, Flag, frameSizeError, protocolError, unpadded } from '../frames/frame.js';

/** A complete header block. */
export interface HeadBlock {
  readonly stream: number;
  readonly endStream: boolean;
  readonly bytes: Buffer;
}

/** Joins a HEADERS frame with the CONTINUATION frames that follow it. */
export class HeadReader {
  private partial: { stream: number; endStream: boolean; parts: Buffer[]; bytes: number } | undefined;

  /** `mostBytes` is the maximum size of a header list. */
  constructor(private readonly mostBytes: number) {}

  /** The stream of the header block being received. No other frame may be received before the block ends. */
  get stream(): number | undefined {
    return this.partial?.stream;
  }

  headers(flags: number, stream: number, payload: Buffer): HeadBlock | undefined {
    if (stream % 2 === 0) throw protocolError('HEADERS on a stream ID that clients cannot use');
    let fragment = unpadded(flags, payload);
    if ((flags & Flag.priority) !== 0) {
      if (fragment.length < 5) throw frameSizeError('HEADERS');
      if ((fragment.readUInt32BE(0) & 0x7fffffff) === stream) throw protocolError('a stream depends on itself');
      fragment = fragment.subarray(5);
    }
    const endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return { stream, endStream, bytes: fragment };
    this.partial = { stream, endStream, parts: [fragment], bytes: fragment.length };
    return undefined;
  }

  continuation(flags: number, payload: Buffer): HeadBlock | undefined {
    const { partial } = this;
    if (partial === undefined) throw protocolError('CONTINUATION without a preceding HEADERS frame');
    partial.parts.push(payload);
    partial.bytes += payload.length;
    // A block that is only a little too large is decoded, so that it can be answered. Every part has a cost, even an empty one.
    if (partial.bytes > 1.5 * this.mostBytes || partial.parts.length > this.mostBytes / 1024) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header block is too large or has too many fragments');
    }
    if ((flags & Flag.endHeaders) === 0) return undefined;
    this.partial = undefined;
    return { stream: partial.stream, endStream: partial.endStream, bytes: Buffer.concat(partial.parts, partial.bytes) };
  }
}
