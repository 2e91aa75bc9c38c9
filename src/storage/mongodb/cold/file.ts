import { chmodSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import type { Clock, Timer } from '../../../util/clock.js';
import { messageOf } from '../../../util/error-message.js';
import { lockDirectory, type DirectoryLock } from '../../directory-lock.js';
import { damageOfLmdbFile, viewAt } from '../../lmdb-file.js';
import { StorageError } from '../../errors.js';
import type { Health, Revision, StoredObject } from '../../interfaces.js';
import { unreadableObject } from '../../object-bytes.js';
import { bootOfMachine, isFromThisBoot, removeMarker, writeMarker } from './marker.js';
import {
  CHECKPOINT,
  checkpointKey,
  decodeCheckpoint,
  decodeRecord,
  encodeCheckpoint,
  SUPERSEDED,
  loadOf,
  loadPrefix,
  LOAD_KINDS,
  RECORD,
  resourceOf,
  revisionKey,
  type Checkpoint,
  type ColdDatabase,
} from './records.js';

export interface ColdFileOptions {
  /** A directory used by this process only; a later process on this machine may resume from its contents. */
  readonly directory: string;
  readonly clock: Clock;
  /** The maximum size of the file in bytes; 0: as much as the disk has. */
  readonly limit?: number;
  /** How long superseded states are kept, in milliseconds: longer than lists of past states are answered from memory. */
  readonly keepMillis?: number;
  /** The number of objects that a save writes at once. */
  readonly savedAtOnce?: number;
  /** Identifies the current boot of the machine; '' if unknown. By default the kernel's boot id. */
  readonly boot?: string;
}

const FILE = 'cold.mdb';
const KEEP_MILLIS = 3 * 60_000;
/** Types that were not requested for this long after the start count as no longer served. */
const UNCLAIMED_MILLIS = 10 * 60_000;
const TICK_MILLIS = 1_000;
const SOON_MILLIS = 20;
const REMOVALS = 500;
const SAVED_AT_ONCE = 100;
/** A page holds several objects. With LMDB's default size, pages would be half empty for objects of 2 KiB. */
const PAGE_BYTES = 16 << 10;
/** Bytes that stay free: LMDB writes new pages even to remove data, so a full file could never shrink. */
const LEAST_ROOM = 32 << 20;
/** Bytes that must be free before a full file accepts data again. */
const ENOUGH_ROOM = 2 * LEAST_ROOM;
/** Bytes written between two checks of the free space. */
const LOOK_EVERY = 4 << 20;
/** With less free space nothing can be removed, so such a file is created again. */
const TOO_LITTLE = 8 << 20;

interface PageCounts {
  readonly lastPageNumber: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

/** A record that will no longer be read after a while. */
interface Superseded {
  readonly load: number;
  readonly revision: Revision;
  readonly since: number;
}

/** A load that another one has replaced, or whose type is gone. */
interface Ended {
  readonly load: number;
  readonly since: number;
  /** The type that may still have a checkpoint of the load. */
  readonly resource: string | undefined;
  /** The number of kinds of its keys that have been removed. */
  kinds: number;
}

/**
 * Objects of a remote store in a local file of this process: the cache puts the bytes here that it has not used recently. Nothing is synced
 * to disk, so the file is only valid until the machine stops (docs/design/cold-file.md).
 */
export class ColdFile {
  private readonly superseded: Superseded[] = [];
  private readonly ended: Ended[] = [];
  private readonly unclaimed = new Map<string, Checkpoint>();
  private openedAt = 0;
  private loads = 0;
  /** The reason why the file accepts no data; empty if it does. */
  private full = '';
  /** Bytes written since the free space was checked. */
  private uncheckedBytes = 0;
  private timer: Timer | undefined;

  private opened: { readonly root: ColdDatabase; readonly lock: DirectoryLock } | undefined;
  private opening: Promise<void> | undefined;
  private users = 0;

  readonly savedAtOnce: number;

  constructor(private readonly options: ColdFileOptions) {
    this.savedAtOnce = options.savedAtOnce ?? SAVED_AT_ONCE;
  }

  /** Opens the file. Called by each of its users: the first call opens it, and the last call of `close` closes it. */
  open(): Promise<void> {
    this.users++;
    return (this.opening ??= this.make());
  }

  private async make(): Promise<void> {
    const { directory, clock, boot = bootOfMachine() } = this.options;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const lock = await lockDirectory(directory);
      this.openedAt = clock.monotonic();
      let root = isFromThisBoot(directory, boot) ? await this.resumed() : undefined;
      if (root === undefined) {
        root = this.empty();
        if (boot !== '') writeMarker(directory, boot);
      }
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

  /** Opens the file of an earlier process; undefined if it cannot be used. */
  private async resumed(): Promise<ColdDatabase | undefined> {
    let root: ColdDatabase | undefined;
    try {
      if (damageOfLmdbFile(this.path) !== undefined) return undefined;
      root = this.environment();
      this.scanLoads(root);
      if (this.roomIn(root) >= TOO_LITTLE) return root;
    } catch {
      // The file is created again.
    }
    this.forget();
    await root?.close();
    return undefined;
  }

  private empty(): ColdDatabase {
    const { directory } = this.options;
    removeMarker(directory);
    rmSync(this.path, { force: true });
    return this.environment();
  }

  private get path(): string {
    return join(this.options.directory, FILE);
  }

  private environment(): ColdDatabase {
    const { path } = this;
    // The lock file belongs to readers that are gone: the directory is locked.
    rmSync(`${path}-lock`, { force: true });
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
    // Its contents are as secret as the store.
    chmodSync(path, 0o600);
    return root;
  }

  /** Finds the data of an earlier process: loads to resume, and loads to remove. */
  private scanLoads(root: ColdDatabase): void {
    const resumable = new Set<number>();
    for (const { key, value } of root.getRange({ start: Buffer.of(CHECKPOINT), end: Buffer.of(CHECKPOINT + 1) })) {
      const checkpoint = decodeCheckpoint(value);
      if (checkpoint === undefined) continue;
      this.unclaimed.set(resourceOf(key), checkpoint);
      resumable.add(checkpoint.load);
    }
    const found = new Set<number>();
    for (const kind of LOAD_KINDS) {
      for (let load = 0; ; load++) {
        const [key] = root.getKeys({ start: loadPrefix(kind, load), end: Buffer.of(kind + 1), limit: 1 });
        if (key === undefined) break;
        load = loadOf(key);
        found.add(load);
      }
    }
    for (const load of found) {
      this.loads = Math.max(this.loads, load);
      if (!resumable.has(load)) this.endLoad(load, undefined);
    }
  }

  async close(): Promise<void> {
    if (--this.users > 0) return;
    const { opened } = this;
    this.opened = this.opening = undefined;
    this.timer?.cancel();
    this.forget();
    await opened?.root.close();
    opened?.lock.release();
  }

  private forget(): void {
    this.superseded.length = this.ended.length = this.loads = 0;
    this.unclaimed.clear();
  }

  /** Reports whether the file accepts data. */
  state(): Health {
    if (this.uncheckedBytes >= LOOK_EVERY) this.checkFreeSpace();
    return { ok: this.full === '', reason: this.full };
  }

  newLoad(): number {
    return ++this.loads;
  }

  /** Ends a load of a type: it is not resumed any more. All of its data is removed after a while, the checkpoint first. */
  endLoad(load: number, resource: string | undefined): void {
    this.ended.push({ load, since: this.options.clock.monotonic(), resource, kinds: 0 });
    if (resource !== undefined) this.write((root) => removeCheckpoint(root, resource, load));
  }

  /** Schedules the removal of a record that no place refers to any more. The `write` that changed the place must have succeeded. */
  supersede(load: number, revision: Revision): void {
    this.superseded.push({ load, revision, since: this.options.clock.monotonic() });
  }

  /** Returns the unclaimed checkpoint of a type from an earlier process. Unclaimed ones are removed a while after the start. */
  unclaimedCheckpoint(resource: string): Checkpoint | undefined {
    return this.unclaimed.get(resource);
  }

  /** Claims the checkpoint of a type; false if it is gone. */
  claim(resource: string): boolean {
    return this.unclaimed.delete(resource);
  }

  /** Stores a checkpoint; false if there is no room. */
  setCheckpoint(resource: string, checkpoint: Checkpoint): boolean {
    return this.write((root) => root.putSync(checkpointKey(resource), encodeCheckpoint(checkpoint)));
  }

  read(load: number, key: string, revision: Revision): StoredObject | undefined {
    const root = this.opened?.root;
    if (root === undefined || load === 0) return undefined;
    const id = revisionKey(RECORD, load, revision);
    let view = viewAt(root, id);
    if (view === undefined) {
      root.resetReadTxn();
      view = viewAt(root, id);
    }
    if (view === undefined) return undefined;
    const record = decodeRecord(view);
    return record === undefined
      ? unreadableObject(key, revision, `its record in ${FILE} is damaged`)
      : { key, revision, ...record };
  }

  /** Returns the current pairs of a range. */
  range(start: Buffer, end: Buffer, limit: number): readonly { readonly key: Buffer; readonly value: Buffer }[] {
    const root = this.opened?.root;
    if (root === undefined) throw new StorageError('closed', 'the file of --cache-dir is closed');
    root.resetReadTxn();
    return [...root.getRange({ start, end, limit })];
  }

  /** Counts stored bytes, so that the free space is checked from time to time. */
  countWritten(bytes: number): void {
    this.uncheckedBytes += bytes;
  }

  /** Runs one transaction; false if nothing was written because the disk is full. */
  write(change: (root: ColdDatabase) => void): boolean {
    const root = this.opened?.root;
    if (root === undefined) return false;
    try {
      root.transactionSync(() => change(root));
      return true;
    } catch (error) {
      this.full = `the file of --cache-dir cannot be written: ${messageOf(error)}`;
      return false;
    }
  }

  private schedule(more = false): void {
    this.timer = this.options.clock.setTimer(more ? SOON_MILLIS : TICK_MILLIS, () => {
      this.opened?.root.resetReadTxn();
      this.endUnclaimed();
      const removed = this.removeSome();
      this.checkFreeSpace();
      if (this.opened !== undefined) this.schedule(removed);
    });
  }

  private endUnclaimed(): void {
    if (this.unclaimed.size === 0 || this.options.clock.monotonic() - this.openedAt < UNCLAIMED_MILLIS) return;
    for (const [resource, { load }] of this.unclaimed) this.endLoad(load, resource);
    this.unclaimed.clear();
  }

  /** Checks the free space. */
  private checkFreeSpace(): void {
    this.uncheckedBytes = 0;
    const root = this.opened?.root;
    const room = root === undefined ? 0 : this.roomIn(root);
    if (room >= (this.full === '' ? LEAST_ROOM : ENOUGH_ROOM)) this.full = '';
    else {
      const mebibytes = Math.max(0, Math.floor(room / (1 << 20)));
      this.full = `only ${mebibytes} MiB are available for --cache-dir (disk or limit); ${LEAST_ROOM >> 20} MiB must stay free`;
    }
  }

  /** Returns the number of bytes that fit: unused pages, and how much the file may grow. Removed pages count as used until no read sees them. */
  private roomIn(root: ColdDatabase): number {
    const { lastPageNumber, treeBranchPageCount, treeLeafPageCount, overflowPages } = root.getStats() as PageCounts;
    const size = lastPageNumber * PAGE_BYTES;
    const used = (treeBranchPageCount + treeLeafPageCount + overflowPages) * PAGE_BYTES;
    const { bavail, bsize } = statfsSync(this.options.directory);
    const growth = Math.min(bavail * bsize, (this.options.limit || Infinity) - size);
    return size - used + growth;
  }

  /** Removes some of the data that is no longer read; true if there may be more. */
  private removeSome(): boolean {
    const due = this.options.clock.monotonic() - (this.options.keepMillis ?? KEEP_MILLIS);
    const gone: Superseded[] = [];
    for (const each of this.superseded) {
      if (each.since > due || gone.length === REMOVALS) break;
      gone.push(each);
    }
    const keys = gone.flatMap(({ load, revision }) => [
      revisionKey(RECORD, load, revision),
      revisionKey(SUPERSEDED, load, revision),
    ]);
    const [ended] = this.ended;
    let isOver = false;
    if (ended !== undefined && ended.since <= due && keys.length < REMOVALS) {
      const found = this.someOf(ended);
      isOver = found.length === 0;
      keys.push(...found);
    }
    if (isOver) this.ended.shift();
    if (keys.length === 0) return isOver;
    const isDone = this.write((root) => {
      // The disk may have been full when the load ended.
      if (ended?.resource !== undefined) removeCheckpoint(root, ended.resource, ended.load);
      for (const key of keys) root.removeSync(key);
    });
    if (isDone) this.superseded.splice(0, gone.length);
    return isDone;
  }

  /** Returns keys of a load that has ended, or none if all are removed. */
  private someOf(ended: Ended): readonly Buffer[] {
    for (let kind = LOAD_KINDS[ended.kinds]; kind !== undefined; kind = LOAD_KINDS[++ended.kinds]) {
      const range = { start: loadPrefix(kind, ended.load), end: loadPrefix(kind, ended.load + 1), limit: REMOVALS };
      const found = [...(this.opened?.root.getKeys(range) ?? [])];
      if (found.length > 0) return found;
    }
    return [];
  }
}

/** Removes the checkpoint of a load, unless the checkpoint is another load's by now. Without it, no process misses removed data of the load. */
function removeCheckpoint(root: ColdDatabase, resource: string, load: number): void {
  const key = checkpointKey(resource);
  const value = root.getBinary(key);
  if (value !== undefined && decodeCheckpoint(value)?.load === load) root.removeSync(key);
}
