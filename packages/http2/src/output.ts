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

/** Size for a connection that has little to say, of which there may be many; also the most that one write takes. */
const SMALL = new Pool(16 * 1024, 512);
const LARGE = new Pool(128 * 1024, 48);

/**
 * What goes to a socket: frames are written one after another into shared memory, and handed over as rarely as can be, one buffer a
 * write: Node copies several into fresh memory before it encrypts them.
 */
export class Output {
  /** What is being filled, up to `end`; a connection that has nothing to say has none. */
  private chunk: Buffer | undefined;
  private end = 0;
  /** Filled ones that wait for their turn, each with its length. */
  private readonly filled: [chunk: Buffer, length: number][] = [];
  private filledBytes = 0;
  /** What is being written; the next write waits for it. */
  private writing: Buffer | undefined;
  private scheduled = false;
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
    return this.socket.writableLength + this.filledBytes + this.end;
  }

  /** Memory with room for so many bytes, few, from `position` on. */
  reserve(bytes: number): Buffer {
    const { chunk } = this;
    return chunk !== undefined && chunk.length - this.end >= bytes ? chunk : this.more();
  }

  get position(): number {
    return this.end;
  }

  /** What has been filled ends here now; it goes out at the end of this turn of the event loop. */
  advance(to: number): void {
    this.end = to;
    this.schedule();
  }

  /** Adds a copy of bytes, from a place on to before another. */
  append(bytes: Uint8Array, from = 0, to = bytes.length): void {
    for (let at = from; at < to;) {
      const chunk = this.reserve(1);
      const until = Math.min(to, at + chunk.length - this.end);
      chunk.set(at === 0 && until === bytes.length ? bytes : bytes.subarray(at, until), this.end);
      this.end += until - at;
      at = until;
    }
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

  /** The next chunk to fill: a small one first, then what it holds goes on in a large one. */
  private more(): Buffer {
    const { chunk, end } = this;
    if (chunk === undefined) return (this.chunk = SMALL.take());
    const next = LARGE.take();
    this.chunk = next;
    if (chunk.length === SMALL.bytes) {
      next.set(chunk.subarray(0, end));
      SMALL.give(chunk);
    } else {
      this.filled.push([chunk, end]);
      this.filledBytes += end;
      this.end = 0;
    }
    return next;
  }

  private write(): void {
    const { socket, chunk, end } = this;
    if (this.writing !== undefined || socket.destroyed || socket.writableEnded) return;
    const first = this.filled.shift();
    let bytes: Buffer;
    if (first !== undefined) {
      this.filledBytes -= first[1];
      this.writing = first[0];
      bytes = first[0].subarray(0, first[1]);
    } else if (chunk !== undefined && end > 0) {
      this.writing = chunk;
      bytes = chunk.subarray(0, end);
      this.chunk = undefined;
      this.end = 0;
    } else {
      if (this.ending) socket.end();
      return;
    }
    socket.write(bytes, this.onWritten);
  }

  private readonly onWritten = (error?: Error | null): void => {
    const written = this.writing as Buffer;
    this.writing = undefined;
    // After a socket failed it is unknown what still reads the buffer.
    if (error === undefined || error === null) (written.length === SMALL.bytes ? SMALL : LARGE).give(written);
    this.written();
    this.write();
  };

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
