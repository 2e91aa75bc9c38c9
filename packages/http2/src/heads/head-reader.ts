import { ConnectionError, ErrorCode, Flag, frameSizeError, protocolError, unpadded } from '../frames/frame.js';

/** A header block as it came, whole. */
export interface HeadBlock {
  readonly stream: number;
  readonly endStream: boolean;
  readonly bytes: Buffer;
}

/** Joins HEADERS with the CONTINUATION frames that follow. */
export class HeadReader {
  private under: { stream: number; endStream: boolean; parts: Buffer[]; bytes: number } | undefined;

  /** `mostBytes`: of a list of fields. */
  constructor(private readonly mostBytes: number) {}

  /** The stream whose block is under way; nothing else may come before its end. */
  get stream(): number | undefined {
    return this.under?.stream;
  }

  headers(flags: number, stream: number, payload: Buffer): HeadBlock | undefined {
    if (stream % 2 === 0) throw protocolError('HEADERS of a stream that is not the client’s');
    let fragment = unpadded(flags, payload);
    if ((flags & Flag.priority) !== 0) {
      if (fragment.length < 5) throw frameSizeError('HEADERS');
      if ((fragment.readUInt32BE(0) & 0x7fffffff) === stream) throw protocolError('a stream depends on itself');
      fragment = fragment.subarray(5);
    }
    const endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return { stream, endStream, bytes: fragment };
    this.under = { stream, endStream, parts: [fragment], bytes: fragment.length };
    return undefined;
  }

  continuation(flags: number, payload: Buffer): HeadBlock | undefined {
    const { under } = this;
    if (under === undefined) throw protocolError('CONTINUATION of nothing');
    under.parts.push(payload);
    under.bytes += payload.length;
    // What is a little too large is decoded, so that it can be answered. Each part costs, also an empty one.
    if (under.bytes > 1.5 * this.mostBytes || under.parts.length > this.mostBytes / 1024) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header block does not end');
    }
    if ((flags & Flag.endHeaders) === 0) return undefined;
    this.under = undefined;
    return { stream: under.stream, endStream: under.endStream, bytes: Buffer.concat(under.parts, under.bytes) };
  }
}
