import { chmodSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { open, type RootDatabase } from 'lmdb';
import type { Clock, Timer } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { lockDirectory, type DirectoryLock } from '../../directory-lock.js';
import { StorageError } from '../../errors.js';
import type { AtHand, KeptState, Revision, StoredObject } from '../../interfaces.js';

export interface ColdFileOptions {
  /** A directory of this process alone; what another process left in it goes. */
  readonly directory: string;
  readonly clock: Clock;
  /** Bytes that the file may take of the disk; 0 leaves it to the disk. */
  readonly limit?: number;
  /** How long superseded states are kept: longer than lists of the past are answered from memory. */
  readonly keepMillis?: number;
}

type Walk = AtHand['walk'];

const FILE = 'cold.mdb';
/** Of a record: CRC-32 of everything else in it, and the object's flags. */
const FLAGS = 4;
const HEADER = 5;
const KEY = 12;
const KEEP_MILLIS = 3 * 60_000;
const TICK_MILLIS = 1_000;
const SOON_MILLIS = 20;
const REMOVALS = 500;
/** A page holds several objects; one of LMDB's default size is half empty with objects of 2 KiB. */
const PAGE_BYTES = 16 << 10;
/** Bytes that stay free: LMDB writes pages anew to remove anything, so a file without room never shrinks. */
const LEAST_ROOM = 32 << 20;
/** What a file that was full must have free before it takes anything again. */
const ENOUGH_ROOM = 2 * LEAST_ROOM;
/** How much is written before the room is looked at again. */
const LOOK_EVERY = 4 << 20;
const NOTHING = new Uint8Array();

interface PageCounts {
  readonly lastPageNumber: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

interface Superseded {
  readonly key: Buffer;
  readonly since: number;
}

/**
 * Objects of a store that is elsewhere, in a file of this process: where the cache puts the bytes of what it has not used lately.
 * Nothing in it is needed after a start, so it begins empty, and nothing waits for the disk.
 */
export class ColdFile {
  private readonly superseded: Superseded[] = [];
  /** Loads of types that another one took the place of; their records are to go. */
  private readonly ended: { readonly load: number; readonly since: number }[] = [];
  private loads = 0;
  /** Why it takes nothing. */
  private full = '';
  /** Bytes taken in since the room was looked at. */
  private unseen = 0;
  private timer: Timer | undefined;

  private opened: { readonly root: RootDatabase<Buffer, Buffer>; readonly lock: DirectoryLock } | undefined;
  private opening: Promise<void> | undefined;
  private users = 0;

  constructor(private readonly options: ColdFileOptions) {}

  /** By each of its users; the first one makes it, and the last one that closes it ends it. */
  open(): Promise<void> {
    this.users++;
    return (this.opening ??= this.make());
  }

  private async make(): Promise<void> {
    const { directory } = this.options;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const lock = await lockDirectory(directory);
      const path = join(directory, FILE);
      for (const left of [path, `${path}-lock`]) rmSync(left, { force: true });
      const root = open<Buffer, Buffer>(path, {
        encoding: 'binary',
        keyEncoding: 'binary',
        cache: false,
        noSubdir: true,
        noSync: true,
        noMetaSync: true,
        overlappingSync: false,
        pageSize: PAGE_BYTES,
      });
      // What it holds is as secret as the store.
      chmodSync(path, 0o600);
      this.opened = { root, lock };
      this.schedule();
    } catch (error) {
      throw new StorageError(
        'unusable',
        `the directory ${directory} of --cache-dir cannot be used: ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  async close(): Promise<void> {
    if (--this.users > 0) return;
    const { opened } = this;
    this.opened = this.opening = undefined;
    this.timer?.cancel();
    this.superseded.length = this.ended.length = 0;
    await opened?.root.close();
    opened?.lock.release();
  }

  /** Whether it takes what memory has no room for. */
  state(): { readonly ok: boolean; readonly reason: string } {
    return { ok: this.full === '', reason: this.full };
  }

  /** The states of one type, which `walk` reads from the store. Each walk begins anew; what the one before kept goes a while later. */
  typeOf(walk: Walk): AtHand {
    let load = ++this.loads;
    let before = 0;
    let isUsed = false;
    return {
      read: (key, revision) => this.read(load, key, revision) ?? this.read(before, key, revision),
      walk: (visit) => {
        if (isUsed) this.ended.push({ load, since: this.options.clock.monotonic() });
        before = load;
        load = ++this.loads;
        isUsed = false;
        return walk(visit);
      },
      keep: (states) => {
        isUsed = true;
        return this.keep(load, states);
      },
      forget: (revision) => {
        const since = this.options.clock.monotonic();
        if (isUsed) this.superseded.push({ key: recordKey(load, revision), since });
      },
    };
  }

  private read(load: number, key: string, revision: Revision): StoredObject | undefined {
    const root = this.opened?.root;
    if (root === undefined || load === 0) return undefined;
    const id = recordKey(load, revision);
    let shared = root.getBinaryFast(id);
    if (shared === undefined) {
      root.resetReadTxn();
      shared = root.getBinaryFast(id);
    }
    if (shared === undefined) return undefined;
    // Its length says how much of it is the record, and not all of Node's functions go by that.
    const record = Buffer.from(shared.buffer, shared.byteOffset, shared.length);
    if (record.length < HEADER || record.readUInt32LE(0) !== crc32(record.subarray(FLAGS)))
      return { key, revision, bytes: NOTHING, flags: 0, unreadable: `its record in ${FILE} is damaged` };
    return { key, revision, bytes: record.subarray(HEADER), flags: record[FLAGS] ?? 0 };
  }

  private keep(load: number, states: Iterable<KeptState>): boolean {
    if (this.unseen >= LOOK_EVERY) this.look();
    if (this.full !== '') return false;
    return this.commit((root) => {
      for (const { revision, flags, bytes } of states) {
        const record = Buffer.allocUnsafe(HEADER + bytes.length);
        record[FLAGS] = flags;
        record.set(bytes, HEADER);
        record.writeUInt32LE(crc32(record.subarray(FLAGS)), 0);
        root.putSync(recordKey(load, revision), record);
        this.unseen += record.length;
      }
    });
  }

  /** False where nothing of it was written: the disk has no room. */
  private commit(write: (root: RootDatabase<Buffer, Buffer>) => void): boolean {
    const root = this.opened?.root;
    if (root === undefined) return false;
    try {
      root.transactionSync(() => {
        write(root);
      });
      return true;
    } catch (error) {
      this.full = `the file of --cache-dir cannot be written: ${messageOf(error)}`;
      return false;
    }
  }

  private schedule(more = false): void {
    this.timer = this.options.clock.setTimer(more ? SOON_MILLIS : TICK_MILLIS, () => {
      this.opened?.root.resetReadTxn();
      const removed = this.removeSome();
      this.look();
      if (this.opened !== undefined) this.schedule(removed);
    });
  }

  /** Whether there is room. */
  private look(): void {
    this.unseen = 0;
    const room = this.room();
    if (room >= (this.full === '' ? LEAST_ROOM : ENOUGH_ROOM)) this.full = '';
    else {
      const mebibytes = Math.max(0, Math.floor(room / (1 << 20)));
      this.full = `the disk or the limit of --cache-dir leaves ${mebibytes} MiB, of which ${LEAST_ROOM >> 20} MiB stay free`;
    }
  }

  /** Bytes that fit: pages of the file that hold nothing, and by how much it may grow. Pages that were removed hold something until no read sees them. */
  private room(): number {
    const { root } = this.opened ?? {};
    if (root === undefined) return 0;
    const { lastPageNumber, treeBranchPageCount, treeLeafPageCount, overflowPages } = root.getStats() as PageCounts;
    const size = lastPageNumber * PAGE_BYTES;
    const used = (treeBranchPageCount + treeLeafPageCount + overflowPages) * PAGE_BYTES;
    const { bavail, bsize } = statfsSync(this.options.directory);
    const growth = Math.min(bavail * bsize, (this.options.limit || Infinity) - size);
    return size - used + growth;
  }

  /** Removes some of what nobody reads any more; true where there may be more. */
  private removeSome(): boolean {
    const due = this.options.clock.monotonic() - (this.options.keepMillis ?? KEEP_MILLIS);
    const keys: Buffer[] = [];
    for (const { key, since } of this.superseded) {
      if (since > due || keys.length === REMOVALS) break;
      keys.push(key);
    }
    this.superseded.splice(0, keys.length);
    const [ended] = this.ended;
    if (ended !== undefined && ended.since <= due && keys.length < REMOVALS) {
      const range = { start: recordKey(ended.load, 0), end: recordKey(ended.load + 1, 0), limit: REMOVALS };
      const found = [...(this.opened?.root.getKeys(range) ?? [])];
      if (found.length < REMOVALS) this.ended.shift();
      keys.push(...found);
    }
    if (keys.length === 0) return false;
    const isDone = this.commit((root) => {
      for (const key of keys) root.removeSync(key);
    });
    if (!isDone) this.superseded.unshift(...keys.map((key) => ({ key, since: due })));
    return isDone;
  }
}

function recordKey(load: number, revision: Revision): Buffer {
  const key = Buffer.allocUnsafe(KEY);
  key.writeUInt32BE(load, 0);
  key.writeUInt32BE(Math.floor(revision / 0x1_0000_0000), 4);
  key.writeUInt32BE(revision % 0x1_0000_0000, 8);
  return key;
}
