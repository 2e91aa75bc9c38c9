import type { Clock } from '../../../util/clock.js';
import { Slicer } from '../../../scheduling/slicer.js';
import type { LocalStates, KeptState, NewestStates, Revision, StoredObject, WalkedObject } from '../../interfaces.js';
import type { ColdFile } from './file.js';
import { Resumption } from './resumption.js';
import {
  encodePlace,
  encodeRecord,
  tombstoneAt,
  isTombstone,
  AFTER_SAVE,
  SUPERSEDED,
  placeKey,
  RECORD,
  revisionKey,
  type Checkpoint,
  type ColdDatabase,
  placeAt,
} from './records.js';

/** The store that a type in the file comes from. */
export interface ColdSource {
  readonly resource: string;
  readonly clock: Clock;
  /** Visits its newest state, object by object in the order of their keys, and returns the revision. */
  walk(visit: (object: StoredObject) => void): Promise<Revision>;
  /** Returns the name of the log's batch that contains a revision, or undefined if it is gone. */
  batchAt(revision: Revision): Promise<string | undefined>;
  /** Returns the changes of the type after a checkpoint, or undefined if the log does not have all of them. */
  changesAfter(checkpoint: Checkpoint): Promise<Changes | undefined>;
}

/** The last state of each changed object; undefined if it is gone. */
export interface Changes {
  readonly states: ReadonlyMap<string, StoredObject | undefined>;
  readonly revision: Revision;
}

const SAVE_MILLIS = 30_000;
const MAX_DIRTY_KEYS = 50_000;
const MARK = Buffer.of(1);

/** One type of a `ColdFile`: what its cache has stored there, and how far a later process could resume from it. */
export class ColdType {
  readonly states: LocalStates;
  private load: number;
  /** The previous load, which readers of past states may still need. */
  private before = 0;
  /** True if the load has stored anything. */
  private isUsed = false;
  /** The keys of objects that changed since they were written, once `isUsed`. */
  private dirtyKeys = new Set<string>();
  /** True if everything in memory has been written at least once. */
  private isWhole = false;
  private isSaving = false;
  private savedAt: number;

  constructor(
    private readonly file: ColdFile,
    private readonly source: ColdSource,
  ) {
    this.load = file.newLoad();
    this.savedAt = source.clock.monotonic();
    this.states = {
      read: (key, revision) => this.read(key, revision),
      walk: (visit) => this.walk(visit),
      copy: {
        keep: (states) => this.keep(states),
        changed: (key) => {
          if (this.isUsed) this.dirtyKeys.add(key);
        },
        save: (states) => {
          if (this.isDue()) void this.save(states);
        },
        drop: () => this.endLoad(),
      },
    };
  }

  private read(key: string, revision: Revision): StoredObject | undefined {
    return this.file.read(this.load, key, revision) ?? this.file.read(this.before, key, revision);
  }

  private async walk(visit: (object: WalkedObject) => void): Promise<Revision> {
    const resumed = await this.resume(visit);
    if (resumed !== undefined) return resumed;
    this.endLoad();
    return this.source.walk(visit);
  }

  /** Resumes from the data of an earlier process, which is used only once: the reason for another load may lie in that data. */
  private async resume(visit: (object: WalkedObject) => void): Promise<Revision | undefined> {
    const { file, source } = this;
    const checkpoint = file.unclaimedCheckpoint(source.resource);
    if (checkpoint === undefined) return undefined;
    const changes = await source.changesAfter(checkpoint);
    if (!file.claim(source.resource)) return undefined;
    this.load = checkpoint.load;
    this.isUsed = true;
    if (changes === undefined) return undefined;
    this.dirtyKeys = new Set(changes.states.keys());
    this.isWhole = true;
    await new Resumption(file, checkpoint, changes.states, source.clock).run(visit);
    return changes.revision;
  }

  /** Ends the load, removing its checkpoint first: data stored from now on belongs to another load. */
  private endLoad(): void {
    if (this.isUsed) this.file.endLoad(this.load, this.source.resource);
    this.before = this.load;
    this.load = this.file.newLoad();
    this.isUsed = this.isWhole = false;
    this.dirtyKeys = new Set();
  }

  private keep(states: Iterable<KeptState>): boolean {
    if (!this.file.state().ok) return false;
    this.isUsed = true;
    return this.change((root, left) => {
      for (const state of states) this.put(root, state, left);
    });
  }

  /** Runs one transaction. The records that it leaves without a place are removed later. */
  private change(how: (root: ColdDatabase, left: Revision[]) => void): boolean {
    const { load } = this;
    const left: Revision[] = [];
    const isDone = this.file.write((root) => {
      how(root, left);
      for (const revision of left) root.putSync(revisionKey(SUPERSEDED, load, revision), MARK);
    });
    if (isDone) for (const revision of left) this.file.supersede(load, revision);
    return isDone;
  }

  /** Stores a state. `left` receives the revision of the record that no place refers to any more, if there is one. */
  private put(root: ColdDatabase, state: KeptState, left: Revision[]): void {
    const { load, file } = this;
    const { key, revision, flags } = state;
    const id = placeKey(load, key);
    const place = placeAt(root, id);
    const before = place === undefined || isTombstone(place) ? undefined : place.revision;
    if (before === revision) return;
    const { bytes } = state;
    const record = encodeRecord({ flags, bytes });
    root.putSync(revisionKey(RECORD, load, revision), record);
    root.putSync(id, encodePlace(id, { revision, flags, length: bytes.length }));
    file.countWritten(record.length);
    if (before !== undefined) left.push(before);
  }

  private isDue(): boolean {
    if (!this.isUsed || this.isSaving) return false;
    return this.dirtyKeys.size >= MAX_DIRTY_KEYS || this.source.clock.monotonic() - this.savedAt >= SAVE_MILLIS;
  }

  /** Stores what has changed. After that, the file has the whole type up to the revision. */
  private async save(states: NewestStates): Promise<void> {
    this.isSaving = true;
    const { load } = this;
    const keys = this.dirtyKeys;
    this.dirtyKeys = new Set();
    try {
      if (!this.isWhole) for (const key of states.inMemory()) keys.add(key);
      const isAll = await this.inSlices(keys, (some) => states.isCurrent() && this.saveSome(some, states));
      if (load !== this.load) return;
      this.isWhole = isAll;
      if (!isAll) for (const key of keys) this.dirtyKeys.add(key);
      else if (await this.mark(states.revision)) await this.inSlices(keys, (some) => this.clear(some, states.revision));
    } catch {
      // MongoDB did not return the batch; the next save tries again.
    } finally {
      this.isSaving = false;
      this.savedAt = this.source.clock.monotonic();
    }
  }

  /** Passes the keys to `take` in slices. Returns false if `take` did for one slice, or the load has ended. */
  private async inSlices(keys: ReadonlySet<string>, take: (some: readonly string[]) => boolean): Promise<boolean> {
    const { load } = this;
    const slicer = new Slicer(this.source.clock);
    let isAll = true;
    let some: string[] = [];
    for (const key of keys) {
      some.push(key);
      if (some.length < this.file.savedAtOnce) continue;
      isAll = take(some) && isAll;
      some = [];
      if (slicer.isExhausted) await slicer.yield();
      if (load !== this.load) return false;
    }
    return take(some) && isAll;
  }

  /** Stores some states; false if one of them could not be stored. */
  private saveSome(keys: readonly string[], states: NewestStates): boolean {
    const { load } = this;
    const hasRoom = this.file.state().ok;
    let isAll = true;
    const isDone = this.change((root, left) => {
      for (const key of keys) {
        const state = states.stateOf(key);
        if (state !== undefined && hasRoom && !state.undecodable && state.unreadable === undefined) {
          this.put(root, state, left);
          continue;
        }
        if (state !== undefined) isAll = false;
        // If the state cannot be stored, at least free the space of the previous one.
        const id = placeKey(load, key);
        const place = placeAt(root, id);
        if (place === undefined || place.revision === state?.revision) continue;
        const at = state === undefined && !this.dirtyKeys.has(key) ? states.revision : AFTER_SAVE;
        root.putSync(id, encodePlace(id, tombstoneAt(at)));
        if (!isTombstone(place)) left.push(place.revision);
      }
    });
    return isDone && isAll;
  }

  /** Stores the checkpoint: the file has the whole type up to a revision. */
  private async mark(revision: Revision): Promise<boolean> {
    const { load, source, file } = this;
    const batch = await source.batchAt(revision);
    return batch !== undefined && load === this.load && file.setCheckpoint(source.resource, { load, revision, batch });
  }

  /** Removes the places of objects that were gone at the checkpoint. */
  private clear(keys: readonly string[], revision: Revision): boolean {
    const { load } = this;
    return this.file.write((root) => {
      for (const key of keys) {
        const id = placeKey(load, key);
        const place = placeAt(root, id);
        if (place !== undefined && isTombstone(place) && place.revision <= revision) root.removeSync(id);
      }
    });
  }
}
