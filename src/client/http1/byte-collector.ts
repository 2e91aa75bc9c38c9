/** Shorter pieces are copied together: each piece that is kept costs about 100 bytes, and keeps all of what was received with it. */
const SHORT = 4096;
const BLOCK = 64 << 10;
const EMPTY = Buffer.alloc(0);

/** Collects the pieces of a body. However the sender cuts it, the memory is proportional to its length. */
export class ByteCollector {
  /** The number of bytes. */
  length = 0;
  private readonly pieces: Buffer[] = [];
  private block = EMPTY;
  private used = 0;

  /** The number of separate pieces kept. */
  get kept(): number {
    return this.pieces.length + (this.used > 0 ? 1 : 0);
  }

  add(piece: Buffer): void {
    this.length += piece.length;
    // A body of a single piece, which most are, is not copied.
    if (piece.length >= SHORT || (this.length === piece.length && piece.length > 1)) {
      this.flush();
      this.pieces.push(piece);
      return;
    }
    if (this.used + piece.length > this.block.length) {
      this.flush();
      this.block = Buffer.allocUnsafeSlow(Math.max(SHORT, Math.min(BLOCK, this.length)));
    }
    piece.copy(this.block, this.used);
    this.used += piece.length;
  }

  text(): string {
    this.flush();
    const [first = EMPTY] = this.pieces;
    return (this.pieces.length <= 1 ? first : Buffer.concat(this.pieces)).toString('utf8');
  }

  /** Keeps what is in the block. The rest of the block takes more pieces. */
  private flush(): void {
    if (this.used === 0) return;
    this.pieces.push(this.block.subarray(0, this.used));
    this.block = this.block.subarray(this.used);
    this.used = 0;
  }
}
