import type { Clock } from '../../../util/clock.js';
import type { Revision } from '../../interfaces.js';
import type { Change } from './events.js';
import type { State } from '../tree/page.js';

/** Limits for the recent history that a process keeps in memory; older history is read from the backend. */
export interface HistoryLimits {
  readonly maxEvents: number;
  /** The maximum bytes of superseded states. */
  readonly maxBytes: number;
  readonly snapshotMillis: number;
  /** How long changes are kept, in milliseconds. */
  readonly changeMillis: number;
}

interface Entry {
  /** Undefined once the type is gone or was reloaded. */
  change: Change | undefined;
  readonly owner: TypeHistory;
  readonly time: number;
  /** The state before the change, while snapshots are kept. */
  before: State | undefined;
}

/** The number of newer events, of any type, after which the framed bytes of an event are dropped. */
const ENCODED_KEPT = 256;

/** The recent changes of all types in one order: the oldest are dropped first, whatever their type. */
export class History {
  private readonly entries: Deque<Entry> = new Deque<Entry>();
  private bytes = 0;
  /** Sequence numbers in `entries` up to which snapshots and framed bytes were dropped. */
  private stateless = 0;
  private plain = 0;

  constructor(
    private readonly limits: HistoryLimits,
    private readonly clock: Clock,
  ) {}

  add(owner: TypeHistory, change: Change, before: State): void {
    const entry: Entry = { change, owner, time: this.clock.monotonic(), before };
    const sequence = this.entries.push(entry);
    owner.push(entry);
    this.bytes += change.bytes;
    for (; this.plain < sequence - ENCODED_KEPT; this.plain++) this.entries.at(this.plain)?.change?.dropEncoded();
    this.expire(entry.time);
    while (
      this.entries.length > 1 &&
      (this.entries.length > this.limits.maxEvents || this.bytes > this.limits.maxBytes)
    ) {
      this.dropOldest();
    }
  }

  private dropOldest(): void {
    const oldest = this.entries.shift();
    if (oldest?.change === undefined) return;
    this.bytes -= oldest.change.bytes;
    oldest.owner.shift(oldest.change.revision);
  }

  /** Drops the expired changes and snapshots. */
  expire(now: number): void {
    while (now - (this.entries.at(this.entries.start)?.time ?? Infinity) >= this.limits.changeMillis) this.dropOldest();
    this.stateless = Math.max(this.stateless, this.entries.start);
    for (; this.stateless < this.entries.end; this.stateless++) {
      const entry = this.entries.at(this.stateless);
      if (entry !== undefined && now - entry.time < this.limits.snapshotMillis) return;
      if (entry !== undefined) entry.before = undefined;
    }
  }

  /** Drops all changes of a type that is gone or was reloaded. */
  forget(owner: TypeHistory): void {
    for (const entry of owner.close()) {
      this.bytes -= entry.change?.bytes ?? 0;
      entry.change = undefined;
      entry.before = undefined;
    }
  }

  size(): { readonly events: number; readonly bytes: number } {
    return { events: this.entries.length, bytes: this.bytes };
  }
}

/** The recent changes of one type. Positions are sequence numbers that only grow. */
export class TypeHistory {
  private readonly entries: Deque<Entry> = new Deque<Entry>();
  private beforeFirst: Revision;
  private closed = false;

  constructor(revision: Revision) {
    this.beforeFirst = revision;
  }

  /** The revision after which all changes are kept here. */
  get since(): Revision {
    return this.beforeFirst;
  }

  get start(): number {
    return this.entries.start;
  }

  get end(): number {
    return this.entries.end;
  }

  changeAt(position: number): Change | undefined {
    return this.entries.at(position)?.change;
  }

  /** Returns the position of the first change after a revision, which must not be before `since`. */
  positionAfter(revision: Revision): number {
    let low = this.entries.start;
    let high = this.entries.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.entries.at(middle)?.change?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the state at a revision: `current` if nothing has changed since, else the snapshot if it is still kept. */
  stateAt(revision: Revision, current: State): State | undefined {
    if (revision < this.beforeFirst) return undefined;
    const position = this.positionAfter(revision);
    const state = position === this.entries.end ? current : this.entries.at(position)?.before;
    return state === undefined ? undefined : { ...state, revision };
  }

  push(entry: Entry): void {
    if (!this.closed) this.entries.push(entry);
  }

  shift(revision: Revision): void {
    if (this.closed) return;
    this.entries.shift();
    this.beforeFirst = revision;
  }

  /** Stops accepting entries, and returns the existing ones. */
  close(): Entry[] {
    this.closed = true;
    return this.entries.clear();
  }
}

/** A queue whose elements have sequence numbers. */
class Deque<T> {
  private items: (T | undefined)[] = [];
  private offset = 0;
  private base = 0;

  get start(): number {
    return this.base;
  }

  get end(): number {
    return this.base + this.length;
  }

  get length(): number {
    return this.items.length - this.offset;
  }

  /** Adds an item at the end; returns the sequence number of the next one. */
  push(item: T): number {
    this.items.push(item);
    return this.end;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.items[this.offset];
    this.items[this.offset++] = undefined;
    this.base++;
    if (this.offset > 1024 && this.offset * 2 > this.items.length) {
      this.items = this.items.slice(this.offset);
      this.offset = 0;
    }
    return item;
  }

  at(sequence: number): T | undefined {
    return sequence < this.base ? undefined : this.items[sequence - this.base + this.offset];
  }

  /** Removes and returns all items. */
  clear(): T[] {
    const items = this.items.filter((item) => item !== undefined);
    this.base = this.end;
    this.items = [];
    this.offset = 0;
    return items;
  }
}
