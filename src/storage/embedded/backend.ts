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
import { Keeping } from './kept/keeping.js';
import type { KeptHistory } from '../kept/interfaces.js';
import { damaged, isIntact, readHeader } from './entry.js';
import { Environment, FIRST_REVISION, COMPACTED, objectKey } from './environment.js';
import { Trimmer } from './trimmer.js';
import { HistoricList, type ListRequest } from './history.js';
import { type Step, verifyRecords, type Verification } from './verify.js';

export interface EmbeddedOptions {
  /** The directory, used by this store only. */
  readonly directory: string;
  readonly clock?: Clock;
  /** How long superseded states and the log are kept, in milliseconds. */
  readonly historyMillis?: number;
  readonly maxObjectBytes?: number;
  /** The maximum bytes of deleted objects that are kept of all types without a policy of their own. */
  readonly deletedBytes?: number;
  /** How long to wait for another process to release the directory, in milliseconds, and what to call when the wait begins. */
  readonly lockWait?: { readonly millis: number; began(): void };
}

interface Opened {
  readonly environment: Environment;
  readonly committer: Committer;
  readonly feed: EventFeed;
  readonly lock: DirectoryLock;
  readonly keeping: Keeping;
  readonly trimmer: Trimmer;
}

const HISTORY_MILLIS = 5 * 60_000;
const MAX_OBJECT_BYTES = 16 << 20;
const DELETED_BYTES = 10 * 2 ** 30;
const READ_AHEAD = 200;

/** The store in a local directory, on LMDB. Only one process may use it at a time. */
export class EmbeddedBackend implements Backend {
  private opened: Opened | undefined;
  private closing = false;
  /** The reason why nothing is written any more: the directory now holds a store of another format. */
  private formatError: string | undefined;
  private readonly clock: Clock;
  private readonly historyMillis: number;
  /** Undefined before the store is open. */
  private trimmer: Trimmer | undefined;
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
  readonly kept: KeptHistory = {
    list: (options) => this.history().list(options),
    entry: (resource, key, revision) => this.history().entry(resource, key, revision),
    content: (resource, key, revision) => this.history().content(resource, key, revision),
    deleted: (resource, options) => this.history().deleted(resource, options),
    types: () => this.history().types(),
    usage: (resource) => this.history().usage(resource),
    policy: (resource) => this.history().policy(resource),
    setPolicy: (resource, policy) => this.history().setPolicy(resource, policy),
    purge: (resource, keys) => this.history().purge(resource, keys),
  };

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
    const removed = environment.metaNumber(COMPACTED) ?? FIRST_REVISION;
    const last = environment.lastLogRevision();
    const entry = last === 0 ? undefined : environment.entry(last);
    const revision = Math.max(last, removed);
    const feed = new EventFeed({
      revision,
      readLog: (after) => Promise.resolve(this.readLog(after)),
    });
    const keeping: Keeping = new Keeping({
      environment,
      clock: this.clock,
      limitBytes: this.options.deletedBytes ?? DELETED_BYTES,
      revision: () => committer.revision,
      removed: () => environment.metaNumber(COMPACTED) ?? FIRST_REVISION,
      between: (work) => committer.between(work),
    });
    const committer = new Committer({
      environment,
      // A clock that was set back would date a deletion to a time that has been purged.
      now: () => Math.max(this.clock.now(), keeping.now),
      keepsDeleted: (kept, { bytes }) => keeping.keepsDeleted(kept, bytes),
      revision,
      time: entry === undefined ? 0 : readHeader(entry, last).time,
      maxObjectBytes: this.options.maxObjectBytes ?? MAX_OBJECT_BYTES,
      read: (key, at) => this.read(key, at),
      committed: (events) => feed.push(events),
      housekeep: () => this.housekeep(),
    });
    const { clock, historyMillis } = this;
    const trimmer = new Trimmer({ environment, clock, historyMillis, keeping, removed, pinned: () => this.pinned() });
    this.trimmer = trimmer;
    return { environment, committer, feed, lock, keeping, trimmer };
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
    const { environment, committer, trimmer } = this.store();
    const revision = options.revision === 0 ? committer.revision : options.revision;
    if (revision > committer.revision) throw tooLarge(revision, committer.revision);
    if (revision < trimmer.oldest) throw compacted(revision, trimmer.oldest);
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
    return this.trimmer?.oldest ?? FIRST_REVISION;
  }

  trimmedAt(): number | undefined {
    return this.trimmer?.trimmedAt;
  }

  events(after: Revision, signal: AbortSignal): EventStream {
    const { feed, committer, trimmer } = this.store();
    if (after < trimmer.oldest) throw compacted(after, trimmer.oldest);
    if (after > committer.revision) throw tooLarge(after, committer.revision);
    return feed.read(after, signal);
  }

  async compact(revision: Revision): Promise<void> {
    const { committer, trimmer } = this.store();
    if (revision > committer.revision) throw tooLarge(revision, committer.revision);
    trimmer.oldest = Math.max(trimmer.oldest, revision);
    committer.requestHousekeeping();
    await committer.idle();
  }

  async raise(above: Revision): Promise<void> {
    const { committer, trimmer, feed } = this.store();
    await committer.raise(async () => {
      const newest = committer.revision;
      trimmer.oldest = newest;
      // Lists in progress need the history below their own revision.
      while (this.pinned() < newest) await yieldNow();
      const first = Math.max(above, newest) + 1;
      await trimmer.raiseTo(first);
      feed.skipTo(first);
      return first;
    });
  }

  /** Reads every record. Blocks until it is done: for a store without other users. */
  verify(step: Step): Verification {
    return verifyRecords(this.store().environment, step);
  }

  private history(): KeptHistory {
    return this.store().keeping.history;
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

  private pinned(): Revision {
    return Math.min(...this.pins.values());
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
    const { environment, committer, trimmer } = this.store();
    if (after < trimmer.oldest) throw compacted(after, trimmer.oldest);
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
  private async housekeep(): Promise<boolean> {
    // On a full disk a purge may still find room, and makes some.
    const more = (await this.trimmer?.some().catch(() => false)) === true;
    // The history of a store that closes can wait.
    const purges = !this.closing && (await this.opened?.keeping.purgeSome()) === true;
    return more || purges;
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
