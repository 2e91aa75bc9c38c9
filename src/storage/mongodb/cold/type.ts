import type { Clock } from '../../../util/clock.js';
import { Slicer } from '../../../scheduling/slicer.js';
import type { AtHand, KeptState, NewestStates, Revision, StoredObject, WalkedObject } from '../../interfaces.js';
import type { ColdFile } from './file.js';
import { placeAt, type Database } from './places.js';
import { Resumption } from './resumption.js';
import {
  encodePlace,
  encodeRecord,
  goneAt,
  isGone,
  LATER,
  LEFT,
  placeKey,
  RECORD,
  revisionKey,
  type Checkpoint,
} from './records.js';

/** The store that a type of the file comes from. */
export interface ColdSource {
  readonly resource: string;
  readonly clock: Clock;
  /** Its newest state, object by object in the order of their keys, and its revision. */
  walk(visit: (object: StoredObject) => void): Promise<Revision>;
  /** The name of the batch of the log that has a revision; undefined where it is no longer there. */
  batchAt(revision: Revision): Promise<string | undefined>;
  /** What happened to the type after a checkpoint; undefined where the log does not tell all of it. */
  changesAfter(checkpoint: Checkpoint): Promise<Changes | undefined>;
}

/** The last state that each changed object has; undefined: it is gone. */
export interface Changes {
  readonly states: ReadonlyMap<string, StoredObject | undefined>;
  readonly revision: Revision;
}

const SAVE_MILLIS = 30_000;
const MAX_NOTED = 50_000;
const MARK = Buffer.of(1);

/** One type of a `ColdFile`: what its cache has put there, and how far a later process could go on with it. */
export class ColdType {
  readonly atHand: AtHand;
  private load: number;
  /** The load before, which readers of past states may still need. */
  private before = 0;
  /** Whether the load has put anything there. */
  private isUsed = false;
  /** Keys of objects that changed since they were written, once `isUsed`. */
  private noted = new Set<string>();
  /** Whether what is in memory has been written at least once. */
  private isWhole = false;
  private isSaving = false;
  private savedAt: number;

  constructor(
    private readonly file: ColdFile,
    private readonly source: ColdSource,
  ) {
    this.load = file.newLoad();
    this.savedAt = source.clock.monotonic();
    this.atHand = {
      read: (key, revision) => this.read(key, revision),
      walk: (visit) => this.walk(visit),
      keep: (states) => this.keep(states),
      changed: (key) => {
        if (this.isUsed) this.noted.add(key);
      },
      save: (states) => {
        if (this.isDue()) void this.save(states);
      },
      drop: () => {
        this.endLoad();
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

  /** What is left of a process before is used once: whatever makes another load necessary may lie in it. */
  private async resume(visit: (object: WalkedObject) => void): Promise<Revision | undefined> {
    const { file, source } = this;
    const checkpoint = file.leftOf(source.resource);
    if (checkpoint === undefined) return undefined;
    const changes = await source.changesAfter(checkpoint);
    if (!file.claim(source.resource)) return undefined;
    this.load = checkpoint.load;
    this.isUsed = true;
    if (changes === undefined) return undefined;
    this.noted = new Set(changes.states.keys());
    this.isWhole = true;
    await new Resumption(file, checkpoint, changes.states, source.clock).run(visit);
    return changes.revision;
  }

  /** Without a checkpoint first: what is put there from now on is another load's. */
  private endLoad(): void {
    if (this.isUsed) this.file.endLoad(this.load, this.source.resource);
    this.before = this.load;
    this.load = this.file.newLoad();
    this.isUsed = this.isWhole = false;
    this.noted = new Set();
  }

  private keep(states: Iterable<KeptState>): boolean {
    if (!this.file.state().ok) return false;
    this.isUsed = true;
    return this.change((root, left) => {
      for (const state of states) this.put(root, state, left);
    });
  }

  /** One transaction; the records that it leaves without a place go later. */
  private change(how: (root: Database, left: Revision[]) => void): boolean {
    const { load } = this;
    const left: Revision[] = [];
    const isDone = this.file.write((root) => {
      how(root, left);
      for (const revision of left) root.putSync(revisionKey(LEFT, load, revision), MARK);
    });
    if (isDone) for (const revision of left) this.file.supersede(load, revision);
    return isDone;
  }

  /** `left`: gets the revision whose record has no place any more, if there is one. */
  private put(root: Database, state: KeptState, left: Revision[]): void {
    const { load, file } = this;
    const { key, revision, flags } = state;
    const id = placeKey(load, key);
    const place = placeAt(root, id);
    const before = place === undefined || isGone(place) ? undefined : place.revision;
    if (before === revision) return;
    const { bytes } = state;
    const record = encodeRecord({ flags, bytes });
    root.putSync(revisionKey(RECORD, load, revision), record);
    root.putSync(id, encodePlace(id, { revision, flags, length: bytes.length }));
    file.took(record.length);
    if (before !== undefined) left.push(before);
  }

  private isDue(): boolean {
    if (!this.isUsed || this.isSaving) return false;
    return this.noted.size >= MAX_NOTED || this.source.clock.monotonic() - this.savedAt >= SAVE_MILLIS;
  }

  /** Takes in what changed; then all of the type up to the revision is there. */
  private async save(states: NewestStates): Promise<void> {
    this.isSaving = true;
    const { load } = this;
    const keys = this.noted;
    this.noted = new Set();
    try {
      if (!this.isWhole) for (const key of states.inMemory()) keys.add(key);
      const isAll = await this.inSlices(keys, (some) => states.isCurrent() && this.saveSome(some, states));
      if (load !== this.load) return;
      this.isWhole = isAll;
      if (!isAll) for (const key of keys) this.noted.add(key);
      else if (await this.mark(states.revision)) await this.inSlices(keys, (some) => this.clear(some, states.revision));
    } catch {
      // MongoDB does not tell the batch: another time.
    } finally {
      this.isSaving = false;
      this.savedAt = this.source.clock.monotonic();
    }
  }

  /** False where it is of one slice, or the load has ended. */
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
      if (slicer.isOver) await slicer.yield();
      if (load !== this.load) return false;
    }
    return take(some) && isAll;
  }

  /** False where a state could not be taken in. */
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
        // Where the state cannot be taken in, at least the one before makes room.
        const id = placeKey(load, key);
        const place = placeAt(root, id);
        if (place === undefined || place.revision === state?.revision) continue;
        const at = state === undefined && !this.noted.has(key) ? states.revision : LATER;
        root.putSync(id, encodePlace(id, goneAt(at)));
        if (!isGone(place)) left.push(place.revision);
      }
    });
    return isDone && isAll;
  }

  /** All of the type up to a revision is there. */
  private async mark(revision: Revision): Promise<boolean> {
    const { load, source, file } = this;
    const batch = await source.batchAt(revision);
    return batch !== undefined && load === this.load && file.setCheckpoint(source.resource, { load, revision, batch });
  }

  /** Objects that were gone at the checkpoint need no place. */
  private clear(keys: readonly string[], revision: Revision): boolean {
    const { load } = this;
    return this.file.write((root) => {
      for (const key of keys) {
        const id = placeKey(load, key);
        const place = placeAt(root, id);
        if (place !== undefined && isGone(place) && place.revision <= revision) root.removeSync(id);
      }
    });
  }
}
