import { decodedForm } from '../../../src/storage/encode.js';
import { compacted, StorageError, tooLarge } from '../../../src/storage/errors.js';
import { EventFeed } from '../../../src/storage/event-feed.js';
import {
  type Backend,
  type EventStream,
  HEALTHY,
  type ListOptions,
  type LogEvent,
  type Revision,
  type StoredList,
  type StoredObject,
  type StoreHealth,
  type WriteRequest,
  type WriteResult,
} from '../../../src/storage/interfaces.js';
import { withRevision } from '../../../src/storage/object-bytes.js';
import { encodeRecord, readRecord } from '../../../src/storage/record.js';
import { systemClock, type Clock } from '../../../src/util/clock.js';
import { asError } from '../../../src/util/error-message.js';
import { KeptData, MemoryKept } from './memory-kept.js';

/** The revision of an empty store. 0 has a meaning of its own in requests, so no state has it. */
const FIRST_REVISION = 1;
const HISTORY_MILLIS = 5 * 60_000;
const READ_AHEAD = 200;

/** The data of a store in memory, which backends that are opened one after the other share. */
export class MemoryData {
  /** The current objects of each type, by key. */
  readonly types = new Map<string, Map<string, StoredObject>>();
  /** The events after `oldest`, in order, with their times. */
  log: { readonly event: LogEvent; readonly time: number }[] = [];
  newest: Revision = FIRST_REVISION;
  oldest: Revision = FIRST_REVISION;
  readonly kept = new KeptData();

  objectsOf(resource: string): Map<string, StoredObject> {
    let objects = this.types.get(resource);
    if (objects === undefined) this.types.set(resource, (objects = new Map<string, StoredObject>()));
    return objects;
  }
}

export interface MemoryOptions {
  readonly data?: MemoryData;
  readonly clock?: Clock;
  /** How long past states and the log are kept, in milliseconds. */
  readonly historyMillis?: number;
}

/** A store in memory, for unit tests. It is also the example in docs/design/writing-a-backend.md. */
export class MemoryBackend implements Backend {
  readonly health: StoreHealth = {
    ping: () => promised(() => void this.opened()),
    writing: () => HEALTHY,
    following: undefined,
    same: () => HEALTHY,
  };
  readonly staging = undefined;
  readonly presence = undefined;
  readonly projection = undefined;
  readonly localStates = undefined;
  readonly indexes = undefined;
  readonly knownRevisions = undefined;
  readonly routing = undefined;
  readonly kept: MemoryKept;

  private readonly data: MemoryData;
  private readonly clock: Clock;
  private feed: EventFeed | undefined;
  private trimmed: number | undefined;

  constructor(private readonly options: MemoryOptions = {}) {
    this.data = options.data ?? new MemoryData();
    this.clock = options.clock ?? systemClock;
    const { data } = this;
    this.kept = new MemoryKept(data, this.clock, (resource, key) => data.objectsOf(resource).has(key));
  }

  open(): Promise<void> {
    const readLog = (after: Revision): Promise<LogEvent[]> => promised(() => this.eventsAfter(after));
    this.feed = new EventFeed({ revision: this.data.newest, readLog });
    this.trim();
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.feed?.end(closed());
    this.feed = undefined;
    return Promise.resolve();
  }

  get(resource: string, key: string): Promise<StoredObject | undefined> {
    return promised(() => {
      this.opened();
      return this.data.objectsOf(resource).get(key);
    });
  }

  list(resource: string, { prefix, from, limit, revision }: ListOptions): Promise<StoredList> {
    return promised(() => {
      this.opened();
      const at = revision === 0 ? this.data.newest : revision;
      const found = [...this.stateAt(resource, at).values()]
        .filter(({ key }) => key.startsWith(prefix) && compareKeys(key, from) >= 0)
        .sort((a, b) => compareKeys(a.key, b.key));
      const items = limit === 0 ? found : found.slice(0, limit);
      const remaining = found.length - items.length;
      return { items, revision: at, more: remaining > 0, remaining };
    });
  }

  /** Compares and writes in one step of the event loop, so nothing comes in between. */
  write({ resource, key, expected, value, author }: WriteRequest): Promise<WriteResult> {
    return promised(() => {
      const feed = this.opened();
      const objects = this.data.objectsOf(resource);
      const previous = objects.get(key);
      if ((previous?.revision ?? 0) !== expected) return { outcome: 'conflict', current: previous };
      const revision = this.data.newest + 1;
      let object: StoredObject;
      if (value !== undefined) {
        object = { key, revision, ...readRecord(encodeRecord(value, revision)), ...decodedForm(value) };
        objects.set(key, object);
      } else if (previous !== undefined) {
        object = { ...previous, revision, bytes: withRevision(previous.bytes, revision) };
        objects.delete(key);
      } else return { outcome: 'conflict', current: undefined };
      const type = value === undefined ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED';
      const event: LogEvent = { revision, resource, key, type, object, previous };
      this.data.newest = revision;
      this.data.log.push({ event, time: this.clock.now() });
      this.kept.record(event, author);
      this.trim();
      feed.push([event]);
      return { outcome: 'committed', object };
    });
  }

  currentRevision(): Promise<Revision> {
    return promised(() => this.revisionNow());
  }

  revisionNow(): Revision {
    this.opened();
    return this.data.newest;
  }

  compactedRevision(): Revision {
    return this.data.oldest;
  }

  trimmedAt(): number | undefined {
    return this.trimmed;
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    const feed = this.opened();
    this.checkRevision(after);
    return feed.read(after, signal);
  }

  compact(revision: Revision): Promise<void> {
    return promised(() => {
      this.opened();
      if (revision > this.data.newest) throw tooLarge(revision, this.data.newest);
      this.forget(revision);
      this.trim();
    });
  }

  raise(above: Revision): Promise<void> {
    return promised(() => {
      const feed = this.opened();
      const first = Math.max(above, this.data.newest) + 1;
      this.data.newest = first;
      this.forget(first);
      feed.skipTo(first);
    });
  }

  private opened(): EventFeed {
    if (this.feed === undefined) throw closed();
    return this.feed;
  }

  private checkRevision(revision: Revision): void {
    const { oldest, newest } = this.data;
    if (revision < oldest) throw compacted(revision, oldest);
    if (revision > newest) throw tooLarge(revision, newest);
  }

  /** Returns the objects of a type at a revision: the current ones without the later writes. */
  private stateAt(resource: string, revision: Revision): ReadonlyMap<string, StoredObject> {
    this.checkRevision(revision);
    const state = new Map(this.data.objectsOf(resource));
    for (const { event } of this.data.log.toReversed()) {
      if (event.revision <= revision) break;
      if (event.resource !== resource) continue;
      if (event.previous === undefined) state.delete(event.key);
      else state.set(event.key, event.previous);
    }
    return state;
  }

  private eventsAfter(after: Revision): LogEvent[] {
    if (after < this.data.oldest) throw compacted(after, this.data.oldest);
    const events = this.data.log.flatMap(({ event }) => (event.revision > after ? [event] : []));
    return events.slice(0, READ_AHEAD);
  }

  /** Forgets what is older than the history window. */
  private trim(): void {
    const now = this.clock.now();
    const cutoff = now - (this.options.historyMillis ?? HISTORY_MILLIS);
    const kept = this.data.log.findIndex(({ time }) => time >= cutoff);
    const expired = this.data.log.at(kept < 0 ? -1 : kept - 1);
    if (kept !== 0 && expired !== undefined) this.forget(expired.event.revision);
    this.trimmed = now;
  }

  private forget(upTo: Revision): void {
    this.data.oldest = Math.max(this.data.oldest, upTo);
    const first = this.data.log.findIndex(({ event }) => event.revision > this.data.oldest);
    this.data.log.splice(0, first < 0 ? this.data.log.length : first);
  }
}

/** Orders keys by their UTF-8 bytes. */
const compareKeys = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const closed = (): StorageError => new StorageError('closed', 'the store is closed');

function promised<T>(action: () => T): Promise<T> {
  try {
    return Promise.resolve(action());
  } catch (error) {
    return Promise.reject(asError(error));
  }
}
