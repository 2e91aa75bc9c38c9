import { systemClock, type Clock, type Timer } from '../../util/clock.js';
import { asError } from '../../util/error-message.js';
import { compacted, StorageError, tooLarge } from '../errors.js';
import { EventFeed } from '../event-feed.js';
import type {
  Backend,
  EventStream,
  ListOptions,
  LocalStateSource,
  LogEvent,
  Revision,
  StoredList,
  StoredObject,
  StoreHealth,
  WriteRequest,
  WriteResult,
} from '../interfaces.js';
import { unreadableObject, withRevision } from '../object-bytes.js';
import { readRecord } from '../record.js';
import { yieldNow } from '../../scheduling/slicer.js';
import { Committer } from './committer.js';
import { beginFormat, checkDirectory, finishFormat, prepareDirectory, unknownFormat } from './directory.js';
import { lockDirectory, lockWithin, type DirectoryLock } from '../directory-lock.js';
import { damaged, isIntact, readHeader } from './entry.js';
import { COMPACTED, Environment, FIRST_REVISION, objectKey, type Operation } from './environment.js';
import { HistoricList, type ListRequest } from './history.js';
import { type Step, verifyRecords, type Verification } from './verify.js';

export interface EmbeddedOptions {
  /** The directory, used by this store only. */
  readonly directory: string;
  readonly clock?: Clock;
  /** How long superseded states and the log are kept, in milliseconds. */
  readonly historyMillis?: number;
  readonly maxObjectBytes?: number;
  /** How long to wait for another process to release the directory, in milliseconds, and what to call when the wait begins. */
  readonly lockWait?: { readonly millis: number; began(): void };
}

interface Opened {
  readonly environment: Environment;
  readonly committer: Committer;
  readonly feed: EventFeed;
  readonly lock: DirectoryLock;
}

const HISTORY_MILLIS = 5 * 60_000;
const MAX_OBJECT_BYTES = 16 << 20;
const READ_AHEAD = 200;
const REMOVALS_PER_COMMIT = 500;

/** The store in a local directory, on LMDB. Only one process may use it at a time. */
export class EmbeddedBackend implements Backend {
  private opened: Opened | undefined;
  private closing = false;
  /** The reason why nothing is written any more: the directory now holds a store of another format. */
  private formatError: string | undefined;
  private readonly clock: Clock;
  private readonly historyMillis: number;
  private trimmed: number | undefined;
  /** History up to here is compacted; some of it may still be on the disk. */
  private oldest: Revision = FIRST_REVISION;
  /** History up to here is removed from the disk. */
  private removed: Revision = FIRST_REVISION;
  /** The revisions of lists in progress. */
  private readonly pins = new Map<symbol, Revision>();
  private timer: Timer | undefined;

  readonly health: StoreHealth = {
    ping: () => promised(() => void this.store()),
    writing: () => ({ ok: this.formatError === undefined, reason: this.formatError ?? '' }),
    following: undefined,
    same: () => ({ ok: true, reason: '' }),
  };
  readonly localStates: LocalStateSource = {
    of: (resource) => ({
      read: (key, revision) => this.view(key, revision),
      walk: async (visit) => {
        const all = { prefix: '', from: '', limit: 0, revision: 0 };
        const read = (key: string, at: Revision): StoredObject => this.view(key, at) ?? damagedObject(key, at);
        return (await this.listWith(resource, all, { read, visit })).revision;
      },
      copy: undefined,
    }),
  };
  readonly staging = undefined;
  readonly presence = undefined;
  readonly projection = undefined;
  readonly indexes = undefined;
  readonly knownRevisions = undefined;
  readonly routing = undefined;
  readonly kept = undefined;

  constructor(private readonly options: EmbeddedOptions) {
    this.clock = options.clock ?? systemClock;
    this.historyMillis = options.historyMillis ?? HISTORY_MILLIS;
  }

  async open(): Promise<void> {
    const { directory, lockWait } = this.options;
    checkDirectory(directory);
    prepareDirectory(directory);
    const lock = await (lockWait === undefined
      ? lockDirectory(directory)
      : lockWithin(directory, this.clock, lockWait));
    try {
      checkDirectory(directory);
      beginFormat(directory);
      this.opened = this.openStore(lock);
      finishFormat(directory);
      this.closing = false;
    } catch (error) {
      lock.release();
      throw error instanceof StorageError
        ? error
        : new StorageError('unusable', `the data directory ${directory} cannot be used: ${String(error)}`, {
            cause: error,
          });
    }
    this.scheduleHousekeeping();
  }

  private openStore(lock: DirectoryLock): Opened {
    const environment = Environment.open(this.options.directory);
    this.oldest = this.removed = environment.metaNumber(COMPACTED) ?? FIRST_REVISION;
    this.trimmed = this.clock.now();
    const last = environment.lastLogRevision();
    const entry = last === 0 ? undefined : environment.entry(last);
    const revision = Math.max(last, this.removed);
    const feed = new EventFeed({
      revision,
      readLog: (after) => Promise.resolve(this.readLog(after)),
    });
    const committer = new Committer({
      environment,
      clock: this.clock,
      revision,
      time: entry === undefined ? 0 : readHeader(entry, last).time,
      maxObjectBytes: this.options.maxObjectBytes ?? MAX_OBJECT_BYTES,
      read: (key, at) => this.read(key, at),
      committed: (events) => feed.push(events),
      housekeep: () => this.removeSome(),
    });
    return { environment, committer, feed, lock };
  }

  async close(): Promise<void> {
    const opened = this.opened;
    if (opened === undefined || this.closing) return;
    this.closing = true;
    this.timer?.cancel();
    opened.feed.end(closed());
    await opened.committer.idle();
    this.opened = undefined;
    await opened.environment.close();
    opened.lock.release();
  }

  write(request: WriteRequest): Promise<WriteResult> {
    if (this.opened === undefined || this.closing) return Promise.reject(closed());
    if (this.formatError !== undefined) return Promise.reject(new StorageError('unusable', this.formatError));
    return this.opened.committer.write(request);
  }

  get(resource: string, key: string): Promise<StoredObject | undefined> {
    return promised(() => {
      const { environment } = this.store();
      environment.refresh();
      const revision = environment.objectRevision(objectKey(resource, key));
      return revision === 0 ? undefined : this.read(key, revision);
    });
  }

  list(resource: string, options: ListOptions): Promise<StoredList> {
    return this.listWith(resource, options, { read: (key, at) => this.read(key, at) });
  }

  private async listWith(
    resource: string,
    options: ListOptions,
    how: Pick<ListRequest, 'read' | 'visit'>,
  ): Promise<StoredList> {
    const { environment, committer } = this.store();
    const revision = options.revision === 0 ? committer.revision : options.revision;
    if (revision > committer.revision) throw tooLarge(revision, committer.revision);
    if (revision < this.oldest) throw compacted(revision, this.oldest);
    const pin = Symbol();
    this.pins.set(pin, revision);
    try {
      const list = new HistoricList({
        environment,
        clock: this.clock,
        resource,
        options,
        revision,
        ...how,
      });
      return await list.run();
    } finally {
      this.pins.delete(pin);
    }
  }

  currentRevision(): Promise<Revision> {
    return promised(() => this.store().committer.revision);
  }

  revisionNow(): Revision {
    return this.store().committer.revision;
  }

  compactedRevision(): Revision {
    return this.oldest;
  }

  trimmedAt(): number | undefined {
    return this.trimmed;
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    const { feed, committer } = this.store();
    if (after < this.oldest) throw compacted(after, this.oldest);
    if (after > committer.revision) throw tooLarge(after, committer.revision);
    return feed.read(after, signal);
  }

  async compact(revision: Revision): Promise<void> {
    const { committer } = this.store();
    if (revision > committer.revision) throw tooLarge(revision, committer.revision);
    this.oldest = Math.max(this.oldest, revision);
    committer.requestHousekeeping();
    await committer.idle();
  }

  async raise(above: Revision): Promise<void> {
    const { committer, environment, feed } = this.store();
    await committer.raise(async () => {
      const newest = committer.revision;
      this.oldest = newest;
      // Lists in progress need the history below their own revision.
      while (Math.min(...this.pins.values()) < newest) await yieldNow();
      while (await this.removeOld());
      const first = Math.max(above, newest) + 1;
      await environment.commit([{ table: 'meta', key: COMPACTED, value: first }]);
      this.oldest = this.removed = first;
      feed.skipTo(first);
      return first;
    });
  }

  /** Reads every record. Blocks until it is done: for a store without other users. */
  verify(step: Step): Verification {
    return verifyRecords(this.store().environment, step);
  }

  private store(): Opened {
    if (this.opened === undefined || this.closing) throw closed();
    return this.opened;
  }

  /** Returns the environment, even while closing, for the writes still in progress. */
  private environment(): Environment {
    if (this.opened === undefined) throw closed();
    return this.opened.environment;
  }

  private read(key: string, revision: Revision): StoredObject {
    const entry = this.environment().entry(revision);
    if (entry === undefined) throw damaged(revision);
    return { key, revision, ...readRecord(entry, readHeader(entry, revision).offset) };
  }

  /** Returns the state without a copy: its bytes are valid until the next read. */
  private view(key: string, revision: Revision): StoredObject | undefined {
    const environment = this.environment();
    let entry = environment.viewOfEntry(revision);
    if (entry === undefined) {
      environment.refresh();
      entry = environment.viewOfEntry(revision);
    }
    if (entry === undefined) return undefined;
    if (!isIntact(entry)) return damagedObject(key, revision);
    return { key, revision, ...readRecord(entry, readHeader(entry, revision).offset) };
  }

  private readLog(after: Revision): LogEvent[] {
    const { environment, committer } = this.store();
    if (after < this.oldest) throw compacted(after, this.oldest);
    environment.refresh();
    const events: LogEvent[] = [];
    for (const { revision, entry } of environment.entriesAfter(after)) {
      if (revision > committer.revision) break;
      events.push(this.event(revision, entry));
      if (events.length === READ_AHEAD) break;
    }
    return events;
  }

  private event(revision: Revision, entry: Buffer): LogEvent {
    const { type, resource, key, previous: before, offset } = readHeader(entry, revision);
    const previous = before === 0 ? undefined : this.read(key, before);
    const object =
      type === 'DELETED' && previous !== undefined
        ? { ...previous, revision, bytes: withRevision(previous.bytes, revision) }
        : { key, revision, ...readRecord(entry, offset) };
    return { revision, resource, key, type, object, previous };
  }

  private scheduleHousekeeping(): void {
    const every = Math.min(Math.max(this.historyMillis / 60, 100), 5_000);
    this.timer = this.clock.setTimer(every, () => {
      this.checkFormat();
      this.opened?.environment.forgetDeadReaders();
      if (this.formatError === undefined) this.opened?.committer.requestHousekeeping();
      this.scheduleHousekeeping();
    });
  }

  private checkFormat(): void {
    try {
      this.formatError = unknownFormat(this.options.directory);
    } catch {
      // An unreadable directory has no other format; writes report what is wrong with it.
    }
  }

  /** Removes some of the expired history; false if nothing was left to remove. */
  private async removeSome(): Promise<boolean> {
    const more = await this.removeOld();
    if (!more) this.trimmed = this.clock.now();
    return more;
  }

  /**
   * Removes the states that were superseded by entries older than the window, and the entries of deletions. Each entry is examined once,
   * when it leaves the window.
   */
  private async removeOld(): Promise<boolean> {
    const environment = this.environment();
    environment.refresh();
    const cutoff = this.clock.now() - this.historyMillis;
    const pinned = Math.min(...this.pins.values());
    const operations: Operation[] = [];
    let last = this.removed;
    let more = false;
    for (const { revision, entry } of environment.entriesAfter(this.removed)) {
      const header = readHeader(entry, revision);
      if ((revision > this.oldest && header.time >= cutoff) || revision > pinned) break;
      if (header.previous !== 0) operations.push({ table: 'log', revision: header.previous, value: undefined });
      if (header.type === 'DELETED') operations.push({ table: 'log', revision, value: undefined });
      last = revision;
      more = operations.length >= REMOVALS_PER_COMMIT;
      if (more) break;
    }
    if (last === this.removed) return false;
    this.oldest = Math.max(this.oldest, last);
    operations.push({ table: 'meta', key: COMPACTED, value: last });
    await environment.commit(operations);
    this.removed = last;
    return more;
  }
}

/** Returns an object whose record is damaged. */
function damagedObject(key: string, revision: Revision): StoredObject {
  return unreadableObject(key, revision, `the record of revision ${revision} is damaged`);
}

function closed(): StorageError {
  return new StorageError('closed', 'the store is closed');
}

function promised<T>(action: () => T): Promise<T> {
  try {
    return Promise.resolve(action());
  } catch (error) {
    return Promise.reject(asError(error));
  }
}
