import type { Socket } from 'node:net';

/** Memory that is used again and again, over all connections: fresh memory outside of the heap makes V8 collect garbage. */
class Pool {
  private readonly free: Buffer[] = [];

  constructor(
    readonly bytes: number,
    private readonly most: number,
  ) {}

  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
  }

  give(buffer: Buffer): void {
    if (this.free.length < this.most) this.free.push(buffer);
  }
}

const CHUNKS = new Pool(64 * 1024, 64);
/** What one write takes at most. One buffer a write: Node copies several into fresh memory before it encrypts them. */
const WRITES = new Pool(128 * 1024, 32);
/** Payloads from here on are not copied until they are written. */
export const LARGE = 8 * 1024;

/** What goes to a socket: frames are written one after another into shared memory, and handed over as rarely as can be. */
export class Output {
  private chunk: Buffer | undefined;
  /** What of the chunk has been cut off, and what is filled. */
  private start = 0;
  private end = 0;
  /** What comes before the rest of the chunk. */
  private pieces: Uint8Array[] = [];
  private pieceBytes = 0;
  /** Full chunks; they are free when their pieces are written. */
  private spent: Buffer[] = [];
  private scheduled = false;
  /** A write is under way; the next one waits for it. */
  private writing = false;
  private gathered: Buffer | undefined;
  private ending = false;

  constructor(
    private readonly socket: Socket,
    /** After bytes have gone into the kernel. */
    private readonly written: () => void,
    /** Before what has been written is handed over. */
    private readonly flushing: () => void,
  ) {}

  /** Bytes that wait here and in the socket. */
  get backlog(): number {
    return this.socket.writableLength + this.pieceBytes + this.end - this.start;
  }

  /** Memory with room for so many bytes, few, from `position` on. */
  reserve(bytes: number): Buffer {
    let { chunk } = this;
    if (chunk === undefined || chunk.length - this.end < bytes) {
      this.cut();
      if (chunk !== undefined) this.spent.push(chunk);
      chunk = CHUNKS.take();
      this.chunk = chunk;
      this.start = this.end = 0;
    }
    return chunk;
  }

  get position(): number {
    return this.end;
  }

  /** What has been filled ends here now; it goes out at the end of this turn of the event loop. */
  advance(to: number): void {
    this.end = to;
    this.schedule();
  }

  /** Adds bytes that do not change any more. */
  append(bytes: Uint8Array): void {
    if (bytes.length < LARGE) {
      this.reserve(bytes.length).set(bytes, this.end);
      this.advance(this.end + bytes.length);
      return;
    }
    this.cut();
    this.pieces.push(bytes);
    this.pieceBytes += bytes.length;
    this.schedule();
  }

  flush(): void {
    this.flushing();
    this.write();
  }

  /** Ends the socket after what has been written. */
  finish(): void {
    this.ending = true;
    this.flush();
  }

  private write(): void {
    if (this.writing) return;
    this.cut();
    const { socket } = this;
    if (this.pieces.length === 0) {
      if (this.ending) socket.end();
      return;
    }
    const bytes = this.gather();
    if (socket.destroyed || socket.writableEnded) return;
    this.writing = true;
    socket.write(bytes, this.onWritten);
  }

  /** As much of the pieces as one write takes, in one buffer. */
  private gather(): Uint8Array {
    const first = this.pieces[0] as Uint8Array;
    if (this.pieces.length === 1 && first.length <= WRITES.bytes) {
      this.pieces = [];
      this.pieceBytes = 0;
      return first;
    }
    const out = WRITES.take();
    this.gathered = out;
    let at = 0;
    let i = 0;
    for (; i < this.pieces.length && at < out.length; i++) {
      const piece = this.pieces[i] as Uint8Array;
      const room = out.length - at;
      if (piece.length > room) {
        out.set(piece.subarray(0, room), at);
        this.pieces[i] = piece.subarray(room);
        at = out.length;
        break;
      }
      out.set(piece, at);
      at += piece.length;
    }
    this.pieces = this.pieces.slice(i);
    this.pieceBytes -= at;
    return out.subarray(0, at);
  }

  private readonly onWritten = (error?: Error | null): void => {
    this.writing = false;
    const { gathered, spent } = this;
    this.gathered = undefined;
    // Of a socket that failed it is not known what still reads them.
    if (error === undefined || error === null) {
      if (gathered !== undefined) WRITES.give(gathered);
      if (this.pieces.length === 0 && spent.length > 0) {
        this.spent = [];
        for (const chunk of spent) CHUNKS.give(chunk);
      }
    }
    this.written();
    this.write();
  };

  /** Makes a piece of what is filled. */
  private cut(): void {
    if (this.chunk === undefined || this.end === this.start) return;
    this.pieces.push(this.chunk.subarray(this.start, this.end));
    this.pieceBytes += this.end - this.start;
    this.start = this.end;
  }

  /** Sees to a flush at the end of this turn. */
  schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(this.onTurn);
  }

  private readonly onTurn = (): void => {
    this.scheduled = false;
    this.flush();
  };
}
