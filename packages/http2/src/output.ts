import type { Socket } from 'node:net';

/** A pool of buffers that all connections share: allocating memory outside of the heap makes V8 collect garbage. */
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

/** Small buffers are for connections with little output, of which there may be many. A large one is also the most that one write takes. */
const SMALL = new Pool(16 * 1024, 512);
const LARGE = new Pool(128 * 1024, 48);

/**
 * The output of a connection. Frames are written one after another into pooled buffers, and handed to the socket as rarely as possible,
 * one buffer per write: Node copies several buffers into newly allocated memory before it encrypts them.
 */
export class Output {
  /** The buffer being filled, up to `end`. A connection without output has none. */
  private chunk: Buffer | undefined;
  private end = 0;
  /** The filled buffers that wait to be written, each with its length. */
  private readonly filled: [chunk: Buffer, length: number][] = [];
  private filledBytes = 0;
  /** The buffer being written. The next write waits until this one is done. */
  private writing: Buffer | undefined;
  private scheduled = false;
  private ending = false;

  constructor(
    private readonly socket: Socket,
    /** Called after bytes were passed to the kernel. */
    private readonly written: () => void,
    /** Called before the output is handed to the socket. */
    private readonly beforeFlush: () => void,
  ) {}

  /** The number of bytes queued here and in the socket. */
  get backlog(): number {
    return this.socket.writableLength + this.filledBytes + this.end;
  }

  /** Returns a buffer with room for at least `bytes` bytes from `position` on. The number must be small. */
  reserve(bytes: number): Buffer {
    const { chunk } = this;
    return chunk !== undefined && chunk.length - this.end >= bytes ? chunk : this.nextChunk();
  }

  get position(): number {
    return this.end;
  }

  /** Sets the end of the written bytes, and schedules a flush at the end of this turn of the event loop. */
  advance(to: number): void {
    this.end = to;
    this.schedule();
  }

  /** Appends a copy of the bytes from `from` up to `to`, exclusive. */
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
    this.beforeFlush();
    this.write();
  }

  /** Ends the socket once the output is written. */
  finish(): void {
    this.ending = true;
    this.flush();
  }

  /** Returns the next buffer to fill. The first one is small; when it is full, its content moves to a large one. */
  private nextChunk(): Buffer {
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
    const afterWrite = this.writing as Buffer;
    this.writing = undefined;
    // If the socket failed, something may still read the buffer, so it is not reused.
    if (error === undefined || error === null) (afterWrite.length === SMALL.bytes ? SMALL : LARGE).give(afterWrite);
    this.written();
    this.write();
  };

  /** Schedules a flush at the end of this turn. */
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
