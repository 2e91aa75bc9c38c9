import { EVERYTHING } from '../apimachinery/selectors/selection-predicate.js';
import { Slicer } from '../scheduling/slicer.js';
import { BACKGROUND_SLICE_MILLIS } from '../scheduling/thresholds.js';
import type { ResourceCache, Watcher, WatchEvent, WatchReceiver } from '../storage/cacher/interfaces.js';
import { StorageError } from '../storage/errors.js';
import { type Clock, sleep } from '../util/clock.js';
import { type Entry, type RowEvent, RowMachine } from './row-machine.js';
import type { Row } from './row.js';
import type { ViewPlan } from './view-plan.js';

/** The maximum number of row events that are kept. */
const MAX_EVENTS = 100_000;
/** How long a read waits for a view that is being built. */
const MAX_WAIT_MILLIS = 3_000;
const POLL_MILLIS = 5;
const RETRY_MILLIS = 500;

interface Logged {
  readonly event: RowEvent;
  /** Monotonic milliseconds. */
  readonly at: number;
}

export interface FeedOptions {
  readonly source: ResourceCache;
  readonly plan: ViewPlan;
  readonly clock: Clock;
  /** How long row events are kept. */
  readonly historyMillis: number;
}

/** Receives what happens to the rows. */
export interface RowListener {
  /** Events have been added to the log. */
  added(): void;
  /** The rows are being made anew; what was seen of them continues nowhere. */
  ended(): void;
}

/** Follows a source and keeps the rows of a view, with their recent changes. */
export class RowFeed {
  private machine: RowMachine;
  private log: Logged[] = [];
  /** The number of events that were dropped from the log. */
  private dropped = 0;
  /** The oldest revision whose rows are known; undefined while the rows are being built. */
  private since: number | undefined;
  private watcher: Watcher | undefined;
  private queue: readonly WatchEvent[] = [];
  private isBusy = false;
  /** Distinguishes the builds. */
  private build = 0;
  private processed = 0;
  private readonly listeners = new Set<RowListener>();
  private stopped = false;

  constructor(private readonly options: FeedOptions) {
    this.machine = new RowMachine(options.plan.machine);
  }

  get isBuilt(): boolean {
    return this.since !== undefined;
  }

  get rows(): ReadonlyMap<string, Row> {
    return this.machine.rows;
  }

  get failures(): ReadonlyMap<string, string> {
    return this.machine.failures;
  }

  get beyond(): number {
    return this.machine.beyond;
  }

  /** The revision that the rows are about. */
  get revision(): number {
    const delivered = this.isBusy || this.watcher === undefined ? 0 : (this.watcher.delivered?.() ?? 0);
    // What was due has been delivered, and may be in the queue now.
    if (!this.isBusy) this.processed = Math.max(this.processed, delivered);
    return this.processed;
  }

  get end(): number {
    return this.dropped + this.log.length;
  }

  start(): void {
    if (this.stopped) return;
    const build = ++this.build;
    this.machine = new RowMachine(this.options.plan.machine);
    this.log = [];
    this.dropped = 0;
    this.since = undefined;
    this.processed = 0;
    this.queue = [];
    this.isBusy = false;
    const receiver: WatchReceiver = {
      receive: (events) => this.build !== build || this.receive(events),
      ended: () => this.again(build),
    };
    this.options.source
      .watch(
        {
          prefix: '',
          predicate: EVERYTHING,
          start: { mode: 'any' },
          initialEventsBookmark: true,
          bookmarks: false,
          deadline: Infinity,
          showsUndecodable: true,
        },
        receiver,
      )
      .then(
        (watcher) => {
          if (this.build === build && !this.stopped) this.watcher = watcher;
          else watcher.stop();
        },
        () => this.again(build),
      );
  }

  stop(): void {
    this.stopped = true;
    this.build++;
    this.watcher?.stop();
    this.endListeners();
  }

  listen(listener: RowListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Waits until the rows are at least as new as a revision of the source. */
  async reach(revision: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const until = clock.monotonic() + MAX_WAIT_MILLIS;
    while (this.since === undefined || this.revision < revision) {
      if (this.stopped) throw new StorageError('closed', 'the view is gone');
      if (clock.monotonic() >= until) throw new StorageError('initializing', 'the rows of the view are being made');
      await sleep(clock, POLL_MILLIS, signal);
      signal?.throwIfAborted();
    }
  }

  /** Returns the rows at a revision. Throws if they are not known any more. */
  rowsAt(revision: number): ReadonlyMap<string, Row> {
    this.check(revision);
    const { log } = this;
    if ((log.at(-1)?.event.revision ?? 0) <= revision) return this.machine.rows;
    const rows = new Map(this.machine.rows);
    for (let i = log.length - 1; i >= 0; i--) {
      const event = log[i]?.event;
      if (event === undefined || event.revision <= revision) break;
      if (event.before === undefined) rows.delete(event.row.key);
      else rows.set(event.row.key, event.before);
    }
    return rows;
  }

  /** Returns the position in the log after everything up to a revision. */
  positionAfter(revision: number): number {
    this.check(revision);
    let low = 0;
    let high = this.log.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.log[middle]?.event.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.dropped + low;
  }

  /** Returns the event at a position; undefined if it was dropped or is still to come. */
  eventAt(position: number): RowEvent | undefined {
    return this.log[position - this.dropped]?.event;
  }

  private check(revision: number): void {
    if (this.since !== undefined && revision >= this.since) return;
    throw new StorageError('compacted', `the rows of revision ${String(revision)} are not known`, {
      revision,
      ...(this.since !== undefined && { current: this.since }),
    });
  }

  private again(build: number): void {
    if (this.build !== build || this.stopped) return;
    this.watcher?.stop();
    this.watcher = undefined;
    this.since = undefined;
    this.endListeners();
    this.options.clock.setTimer(RETRY_MILLIS, () => {
      if (this.build === build) this.start();
    });
  }

  private endListeners(): void {
    for (const listener of [...this.listeners]) listener.ended();
  }

  /** Takes events of the source; false if some of them have to wait. */
  private receive(events: readonly WatchEvent[]): boolean {
    this.queue = this.queue.length === 0 ? events : [...this.queue, ...events];
    if (this.isBusy) return false;
    this.isBusy = true;
    const slicer = new Slicer(this.options.clock, '', BACKGROUND_SLICE_MILLIS);
    if (this.takeSlice(slicer)) return true;
    void this.takeRest(slicer, this.build);
    return false;
  }

  private async takeRest(slicer: Slicer, build: number): Promise<void> {
    do {
      await slicer.yield();
      if (this.build !== build) return;
    } while (!this.takeSlice(slicer));
    this.watcher?.resume();
  }

  /** Processes events until the slice is used up; true if none are left. */
  private takeSlice(slicer: Slicer): boolean {
    const before = this.log.length;
    let at = 0;
    try {
      while (at < this.queue.length) {
        this.take(this.queue[at++] as WatchEvent);
        if (slicer.isExhausted) break;
      }
    } catch {
      // An object cannot be read: the source will tell when it can be again.
      this.again(this.build);
      return true;
    }
    this.queue = this.queue.slice(at);
    this.isBusy = this.queue.length > 0;
    if (this.log.length > before) for (const listener of [...this.listeners]) listener.added();
    this.trim();
    if (!this.isBusy && this.since !== undefined && this.machine.hasRoom) this.again(this.build);
    return !this.isBusy;
  }

  private take({ type, object, revision, initialEventsEnd }: WatchEvent): void {
    if (initialEventsEnd) {
      this.since = revision;
      this.processed = revision;
      return;
    }
    if (object === undefined) return;
    const entry: Entry | undefined =
      type === 'DELETED' || object.undecodable ? undefined : this.options.plan.take(object);
    const changes = this.machine.apply(revision, object.key, entry);
    if (this.since === undefined) return;
    this.processed = Math.max(this.processed, revision);
    const at = this.options.clock.monotonic();
    for (const event of changes) this.log.push({ event, at });
  }

  /** Drops what is older than the window, in steps. */
  private trim(): void {
    const { clock, historyMillis } = this.options;
    const oldest = clock.monotonic() - historyMillis;
    let count = Math.max(0, this.log.length - MAX_EVENTS);
    while (count < this.log.length && (this.log[count]?.at ?? 0) < oldest) count++;
    if (count < 1000 && count * 2 < this.log.length) return;
    if (count === 0) return;
    this.since = this.log[count - 1]?.event.revision ?? this.since;
    this.dropped += count;
    this.log = this.log.slice(count);
  }
}
