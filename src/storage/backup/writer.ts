import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';
import {
  BLOCK_BYTES,
  encodeBlockHeader,
  encodeHeader,
  END,
  OBJECT_HEADER,
  OBJECTS,
  storageName,
  type BackupObject,
} from './format.js';
import type { BackupSource } from './interfaces.js';

const compress = promisify(deflateRaw);
/** Higher levels cost twice the time and more, for a tenth of the size. */
const LEVEL = constants.Z_BEST_SPEED;
/** The number of blocks that are compressed at the same time. */
const CONCURRENT = 2;

/** What a backup has written. */
export interface Written {
  readonly objects: number;
  /** The size of the objects' records. */
  readonly bytes: number;
  /** The size of the file. */
  readonly fileBytes: number;
  /** The SHA-256 of the whole file before its last block, which has it. */
  readonly digest: string;
}

/** Writes a backup. `write` must resolve when it can take more. `step` is called with the number of objects so far. */
export async function writeBackup(
  source: BackupSource,
  write: (bytes: Buffer) => Promise<void>,
  step: (objects: number) => void,
): Promise<Written> {
  const output = new Output(write);
  await output.write(encodeHeader(source.header));
  const indexes = new Map(source.header.types.map((type, i) => [storageName(type), i]));
  let block = new Block();
  let [objects, bytes] = [0, 0];
  for await (const batch of source.objects()) {
    for (const object of batch) {
      if (!block.hasRoomFor(object)) {
        await output.add(block.bytes);
        block = new Block(object);
      }
      block.add(object, indexes.get(object.type) ?? 0);
      objects++;
      bytes += object.record.length;
    }
    step(objects);
  }
  if (block.bytes.length > 0) await output.add(block.bytes);
  const digest = await output.end();
  return { objects, bytes, fileBytes: output.length, digest };
}

/** The uncompressed payload of a block. */
class Block {
  private readonly buffer: Buffer;
  private length = 0;

  /** `first`: the first object, which may be larger than a block otherwise is. */
  constructor(first?: BackupObject) {
    this.buffer = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, first === undefined ? 0 : lengthOf(first)));
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  hasRoomFor(object: BackupObject): boolean {
    return this.length + lengthOf(object) <= this.buffer.length;
  }

  add(object: BackupObject, type: number): void {
    const { key, revision, record } = object;
    const at = this.length;
    const keyLength = this.buffer.write(key, at + OBJECT_HEADER);
    this.buffer.writeUInt16LE(type, at);
    this.buffer.writeUInt16LE(keyLength, at + 2);
    this.buffer.writeUInt32LE(record.length, at + 4);
    this.buffer.writeDoubleLE(revision, at + 8);
    this.buffer.set(record, at + OBJECT_HEADER + keyLength);
    this.length = at + OBJECT_HEADER + keyLength + record.length;
  }
}

const lengthOf = ({ key, record }: BackupObject): number => OBJECT_HEADER + Buffer.byteLength(key) + record.length;

/** Compresses blocks, and writes them in their order. */
class Output {
  length = 0;
  private readonly digest = createHash('sha256');
  private readonly waiting: Promise<Buffer>[] = [];

  constructor(private readonly sink: (bytes: Buffer) => Promise<void>) {}

  async add(block: Buffer): Promise<void> {
    const compressed = compress(block, { level: LEVEL });
    // Whoever takes it from the queue sees the error.
    compressed.catch(() => undefined);
    this.waiting.push(compressed);
    if (this.waiting.length >= CONCURRENT) await this.writeNext();
  }

  /** Writes what is left, and the last block; returns the digest in it. */
  async end(): Promise<string> {
    while (this.waiting.length > 0) await this.writeNext();
    const digest = this.digest.copy().digest();
    await this.write(Buffer.concat([encodeBlockHeader(END, digest), digest]));
    return digest.toString('hex');
  }

  async write(bytes: Buffer): Promise<void> {
    this.digest.update(bytes);
    this.length += bytes.length;
    await this.sink(bytes);
  }

  private async writeNext(): Promise<void> {
    const payload = await this.waiting.shift();
    if (payload === undefined) return;
    await this.write(encodeBlockHeader(OBJECTS, payload));
    await this.write(payload);
  }
}
