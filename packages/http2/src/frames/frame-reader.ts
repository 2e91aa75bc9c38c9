import { ConnectionError, ErrorCode, FRAME_HEADER, PREFACE } from './frame.js';

/** Splits the received bytes into frames. */
export class FrameReader {
  private prefaced = false;
  private readonly partial: Buffer[] = [];
  private partialBytes = 0;
  /** The number of bytes needed before anything more can be read. */
  private needed = PREFACE.length;

  constructor(
    private readonly maxFrameBytes: number,
    /** Takes a frame. Returns false to stop reading. The payload is valid as long as the chunk that it is part of. */
    private readonly onFrame: (type: number, flags: number, stream: number, payload: Buffer) => boolean,
  ) {}

  /** Receives a chunk. Throws a ConnectionError if it is not HTTP/2. */
  receive(chunk: Buffer): void {
    let bytes = chunk;
    if (this.partialBytes > 0) {
      this.partial.push(chunk);
      this.partialBytes += chunk.length;
      if (this.partialBytes < this.needed) return;
      bytes = Buffer.concat(this.partial, this.partialBytes);
      this.partial.length = 0;
      this.partialBytes = 0;
    }
    const at = this.frames(bytes, this.preface(bytes));
    if (at >= bytes.length) return;
    this.partial.push(at === 0 ? bytes : bytes.subarray(at));
    this.partialBytes = bytes.length - at;
  }

  /** Checks the connection preface. Returns the offset of the first frame. */
  private preface(bytes: Buffer): number {
    if (this.prefaced) return 0;
    const some = Math.min(bytes.length, PREFACE.length);
    if (bytes.compare(PREFACE, 0, some, 0, some) !== 0) {
      throw new ConnectionError(ErrorCode.protocolError, 'missing HTTP/2 connection preface');
    }
    this.prefaced = some === PREFACE.length;
    return this.prefaced ? some : 0;
  }

  /** Takes all complete frames. Returns the offset of the remaining bytes. */
  private frames(bytes: Buffer, from: number): number {
    if (!this.prefaced) return from;
    let at = from;
    for (;;) {
      if (bytes.length - at < FRAME_HEADER) {
        this.needed = FRAME_HEADER;
        return at;
      }
      const length = bytes.readUIntBE(at, 3);
      if (length > this.maxFrameBytes) {
        throw new ConnectionError(
          ErrorCode.frameSizeError,
          `a frame of ${length} bytes exceeds the maximum frame size`,
        );
      }
      const end = at + FRAME_HEADER + length;
      if (end > bytes.length) {
        this.needed = FRAME_HEADER + length;
        return at;
      }
      const stream = bytes.readUInt32BE(at + 5) & 0x7fffffff;
      const payload = bytes.subarray(at + FRAME_HEADER, end);
      if (!this.onFrame(bytes[at + 3] as number, bytes[at + 4] as number, stream, payload)) return bytes.length;
      at = end;
    }
  }
}
