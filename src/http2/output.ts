import type { Socket } from 'node:net';

const CHUNK_BYTES = 32 * 1024;
/** Payloads from here on are handed over as they are, not copied. */
export const LARGE = 8 * 1024;
/** Chunks that are kept to be used again, over all connections: fresh memory outside of the heap makes V8 collect garbage. */
const MOST_FREE = 128;
const FREE: Buffer[] = [];

/** What goes to a socket: frames are written one after another into shared memory, and handed over as rarely as can be. */
export class Output {
  private chunk: Buffer | undefined;
  /** What of the chunk has been handed over, and what is filled. */
  private start = 0;
  private end = 0;
  /** What comes before the rest of the chunk. */
  private pieces: Uint8Array[] = [];
  private pieceBytes = 0;
  /** Full chunks; they are free when all of their pieces are written. */
  private spent: Buffer[] = [];
  private scheduled = false;

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

  /** Memory with room for so many bytes from `position` on. */
  reserve(bytes: number): Buffer {
    let { chunk } = this;
    if (chunk === undefined || chunk.length - this.end < bytes) {
      this.cut();
      if (chunk?.length === CHUNK_BYTES) this.spent.push(chunk);
      chunk = bytes > CHUNK_BYTES ? Buffer.allocUnsafeSlow(bytes) : (FREE.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES));
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
    this.cut();
    const { pieces, spent, socket } = this;
    if (pieces.length === 0) return;
    this.pieces = [];
    this.pieceBytes = 0;
    this.spent = [];
    if (socket.destroyed || socket.writableEnded) return;
    const done = spent.length === 0 ? this.written : this.recycle(spent);
    const last = pieces.length - 1;
    if (last > 0) {
      socket.cork();
      for (let i = 0; i < last; i++) socket.write(pieces[i] as Uint8Array);
    }
    socket.write(pieces[last] as Uint8Array, done);
    if (last > 0) socket.uncork();
  }

  private recycle(spent: readonly Buffer[]): (error?: Error | null) => void {
    return (error) => {
      // Of a socket that failed it is not known what still reads them.
      if (error === undefined || error === null) {
        for (const chunk of spent) if (FREE.length < MOST_FREE) FREE.push(chunk);
      }
      this.written();
    };
  }

  /** Makes a piece of what is filled. */
  private cut(): void {
    if (this.chunk === undefined || this.end === this.start) return;
    this.pieces.push(this.chunk.subarray(this.start, this.end));
    this.pieceBytes += this.end - this.start;
    this.start = this.end;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(this.onTurn);
  }

  private readonly onTurn = (): void => {
    this.scheduled = false;
    this.flush();
  };
}
