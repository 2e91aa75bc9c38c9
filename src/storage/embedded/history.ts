import type { ListOptions, Revision, StoredList, StoredObject } from '../interfaces.js';
import { Slicer } from '../../scheduling/slicer.js';
import type { Clock } from '../../util/clock.js';
import { readHeader } from './entry.js';
import { afterPrefix, objectKey, type Environment } from './environment.js';

export interface ListRequest {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly resource: string;
  readonly options: ListOptions;
  /** The revision to list at. The log after it must stay until the list is done. */
  readonly revision: Revision;
  read(key: string, revision: Revision): StoredObject;
  /** Receives the items one by one, instead of the list. */
  visit?(item: StoredObject): void;
}

/** The number of keys examined between two looks at the clock. */
const STEP = 200;

/**
 * A list at exactly one revision, made in slices while writes continue. Objects that have not changed since are read in their current
 * state; for the others, the first log entry after the revision names the previous state.
 */
export class HistoricList {
  private readonly items: StoredObject[] = [];
  private remaining = 0;
  /** For each key that changed after the revision: the object's revision before that, 0 if it did not exist. */
  private readonly changed = new Map<string, Revision>();
  private sorted: Buffer[] = [];
  private logPosition: Revision;
  private readonly base: Buffer;
  private readonly end: Buffer;
  private cursor: Buffer;
  private readonly prefixLength: number;

  constructor(private readonly request: ListRequest) {
    const { resource, options } = request;
    this.base = objectKey(resource, options.prefix);
    this.end = afterPrefix(this.base);
    const from = objectKey(resource, options.from);
    this.cursor = options.from !== '' && from.compare(this.base) > 0 ? from : this.base;
    this.prefixLength = Buffer.byteLength(resource) + 1;
    this.logPosition = request.revision;
  }

  async run(): Promise<StoredList> {
    const { environment, clock } = this.request;
    const slicer = new Slicer(clock);
    let done = false;
    while (!done) {
      environment.refresh();
      let ready = false;
      while (!ready && !slicer.isExhausted) ready = this.readLog();
      while (ready && !done && !slicer.isExhausted) done = this.readObjects();
      if (!done) await slicer.yield();
    }
    return { items: this.items, revision: this.request.revision, more: this.remaining > 0, remaining: this.remaining };
  }

  /** Reads some of the log; true once everything committed by now has been read. */
  private readLog(): boolean {
    let count = 0;
    let grew = false;
    for (const { revision, entry } of this.request.environment.entriesAfter(this.logPosition)) {
      this.logPosition = revision;
      const header = readHeader(entry, revision);
      if (header.resource === this.request.resource && !this.changed.has(header.key)) {
        this.changed.set(header.key, header.previous);
        grew = true;
      }
      if (++count === STEP) break;
    }
    if (grew) this.sortChanged();
    return count < STEP;
  }

  private sortChanged(): void {
    this.sorted = [];
    for (const [key, previous] of this.changed) {
      const id = objectKey(this.request.resource, key);
      if (previous !== 0 && id.compare(this.cursor) >= 0 && id.compare(this.end) < 0) this.sorted.push(id);
    }
    this.sorted.sort((a, b) => a.compare(b));
  }

  /** Reads the next keys; true at the end. Changed keys are merged in from `sorted`. */
  private readObjects(): boolean {
    let last: Buffer | undefined;
    let count = 0;
    for (const { key, revision } of this.request.environment.objectRange(this.cursor, this.end, STEP)) {
      count++;
      last = key;
      this.takeChanged(key);
      const name = this.name(key);
      if (!this.changed.has(name)) this.take(name, revision);
    }
    const next = count < STEP || last === undefined ? undefined : Buffer.concat([last, ZERO]);
    this.cursor = next ?? this.end;
    this.takeChanged(this.cursor);
    return next === undefined;
  }

  /** Takes the changed keys before a key; if the key itself changed, the next call takes it. */
  private takeChanged(before: Buffer): void {
    let taken = 0;
    for (const id of this.sorted) {
      if (id.compare(before) >= 0) break;
      taken++;
      const name = this.name(id);
      this.take(name, this.changed.get(name) ?? 0);
    }
    if (taken > 0) this.sorted.splice(0, taken);
  }

  private take(key: string, revision: Revision): void {
    const { limit } = this.request.options;
    if (limit > 0 && this.items.length >= limit) {
      this.remaining++;
      return;
    }
    const item = this.request.read(key, revision);
    if (this.request.visit === undefined) this.items.push(item);
    else this.request.visit(item);
  }

  private name(id: Buffer): string {
    return id.toString('utf8', this.prefixLength);
  }
}

const ZERO = Buffer.from([0]);
