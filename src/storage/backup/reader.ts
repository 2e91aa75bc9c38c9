import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { messageOf } from '../../util/error-message.js';
import {
  BackupError,
  BLOCK_HEADER,
  decodeHeader,
  END,
  isIntactBlock,
  MAX_BLOCK_BYTES,
  MAX_HEADER_BYTES,
  OBJECT_HEADER,
  OBJECTS,
  readBlockHeader,
  storageName,
  type BackupHeader,
  type BackupObject,
} from './format.js';

const decompress = promisify(inflateRaw);
const READ_BYTES = 1 << 20;
const NEWLINE = 0x0a;

/** What a whole backup has. */
export interface Verified {
  readonly header: BackupHeader;
  readonly objects: number;
  /** The newest revision of any object, and of the store. */
  readonly newest: number;
  readonly digest: string;
}

/** Reads a whole backup, and checks all of it. Throws BackupError unless it is as it was written. */
export async function verifyBackup(file: FileHandle, step: (objects: number) => void): Promise<Verified> {
  const reader = new BackupReader(file);
  const header = await reader.header();
  let objects = 0;
  let newest = Math.max(header.revision, ...(header.logs ?? []).map(({ revision }) => revision));
  for await (const batch of reader.objects()) {
    for (const { revision } of batch) newest = Math.max(newest, revision);
    objects += batch.length;
    step(objects);
  }
  return { header, objects, newest, digest: reader.digest };
}

/** Reads a backup from the beginning to the end. Can be used once. */
export class BackupReader {
  /** The digest of all blocks, once all were read. */
  digest = '';
  private readonly hash: Hash = createHash('sha256');
  private readonly input: Input;
  private names: readonly string[] = [];
  private counts: number[] = [];
  private last: { readonly type: number; readonly key: Buffer } = { type: 0, key: Buffer.alloc(0) };

  constructor(file: FileHandle) {
    this.input = new Input(file);
  }

  async header(): Promise<BackupHeader> {
    const line = await this.input.line();
    const header = decodeHeader(line);
    this.hash.update(line);
    this.names = header.types.map(storageName);
    this.counts = header.types.map(({ count }) => count);
    return header;
  }

  /** Yields the objects of one block after the other. Throws BackupError at the end if anything is missing. */
  async *objects(): AsyncGenerator<readonly BackupObject[], void, undefined> {
    for (;;) {
      const before = this.hash.copy();
      const { kind, payload } = await this.block();
      if (kind === END) {
        this.finish(before, payload);
        await this.input.expectEnd();
        return;
      }
      yield this.objectsOf(await inflated(payload));
    }
  }

  private async block(): Promise<{ readonly kind: number; readonly payload: Buffer }> {
    const header = await this.input.read(BLOCK_HEADER);
    const { kind, length } = readBlockHeader(header);
    if ((kind !== OBJECTS && kind !== END) || length > MAX_BLOCK_BYTES) throw this.input.damaged();
    const payload = await this.input.read(length);
    if (!isIntactBlock(header, payload)) throw this.input.damaged();
    this.hash.update(header).update(payload);
    return { kind, payload };
  }

  private finish(hash: Hash, payload: Buffer): void {
    const digest = hash.digest();
    if (!digest.equals(payload)) throw new BackupError('it is damaged: its parts do not belong together');
    if (this.counts.some((count) => count !== 0)) throw new BackupError('it is damaged: objects are missing');
    this.digest = digest.toString('hex');
  }

  private objectsOf(block: Buffer): BackupObject[] {
    const objects: BackupObject[] = [];
    for (let at = 0; at < block.length;) {
      if (at + OBJECT_HEADER > block.length) throw this.input.damaged();
      const index = block.readUInt16LE(at);
      const keyEnd = at + OBJECT_HEADER + block.readUInt16LE(at + 2);
      const end = keyEnd + block.readUInt32LE(at + 4);
      const revision = block.readDoubleLE(at + 8);
      const type = this.names[index];
      if (end > block.length || type === undefined || !Number.isSafeInteger(revision)) throw this.input.damaged();
      const key = block.subarray(at + OBJECT_HEADER, keyEnd);
      this.take(index, key);
      objects.push({ type, key: key.toString('utf8'), revision, record: block.subarray(keyEnd, end) });
      at = end;
    }
    return objects;
  }

  /** Checks that an object follows the one before. */
  private take(type: number, key: Buffer): void {
    const isNext = type > this.last.type || (type === this.last.type && key.compare(this.last.key) > 0);
    const left = (this.counts[type] ?? 0) - 1;
    if (!isNext || left < 0) throw new BackupError('it is damaged: objects are not in order');
    this.counts[type] = left;
    this.last = { type, key };
  }
}

async function inflated(payload: Buffer): Promise<Buffer> {
  try {
    return await decompress(payload, { maxOutputLength: MAX_BLOCK_BYTES });
  } catch (error) {
    throw new BackupError(`it is damaged: ${messageOf(error)}`);
  }
}

/** Reads a file from its beginning. */
class Input {
  private buffer: Buffer = Buffer.alloc(0);
  private position = 0;

  constructor(private readonly file: FileHandle) {}

  damaged(): BackupError {
    return new BackupError(`it is damaged before byte ${this.position - this.buffer.length}`);
  }

  async line(): Promise<Buffer> {
    let searched = 0;
    for (;;) {
      const end = this.buffer.indexOf(NEWLINE, searched);
      if (end >= 0) return this.take(end + 1);
      searched = this.buffer.length;
      if (searched > MAX_HEADER_BYTES || !(await this.fill())) throw new BackupError('it is not a backup of Annex');
    }
  }

  async read(length: number): Promise<Buffer> {
    while (this.buffer.length < length)
      if (!(await this.fill(length - this.buffer.length))) throw new BackupError('it is damaged: its end is missing');
    return this.take(length);
  }

  async expectEnd(): Promise<void> {
    if (this.buffer.length > 0 || (await this.fill()))
      throw new BackupError('it is damaged: something follows its end');
  }

  private take(length: number): Buffer {
    const taken = this.buffer.subarray(0, length);
    this.buffer = this.buffer.subarray(length);
    return taken;
  }

  private async fill(wanted = 0): Promise<boolean> {
    const chunk = Buffer.allocUnsafe(Math.max(READ_BYTES, wanted));
    const { bytesRead } = await this.file.read(chunk, 0, chunk.length, this.position);
    this.position += bytesRead;
    if (bytesRead > 0) this.buffer = Buffer.concat([this.buffer, chunk.subarray(0, bytesRead)]);
    return bytesRead > 0;
  }
}
