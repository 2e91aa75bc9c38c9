import { compareUtf8 } from '../apimachinery/meta/meta.js';
import { Slicer } from '../scheduling/slicer.js';
import { selectFrom } from '../storage/cacher/collect.js';
import type {
  CachedList,
  CachedObject,
  CacheListOptions,
  CacheWatchOptions,
  ObjectPredicate,
  ReadAt,
  ResourceCache,
  Watcher,
  WatchEvent,
  WatchReceiver,
} from '../storage/cacher/interfaces.js';
import { selects } from '../storage/cacher/selections.js';
import { DetachedObject } from '../storage/detached-object.js';
import { ObjectEvent, ObjectList } from '../storage/object-list.js';
import { encodeRecord, readRecord } from '../storage/record.js';
import { asError } from '../util/error-message.js';
import type { Clock } from '../util/clock.js';
import type { RowEvent } from './row-machine.js';
import type { Row } from './row.js';
import type { RowFeed } from './row-feed.js';

/** The number of changes that are looked at for one delivery. */
const STEP = 200;
const BOOKMARK_MILLIS = 60_000;
const BEFORE_DEADLINE_MILLIS = 2_000;

/** A row under the revision of the answer that shows it. */
class ShownRow extends DetachedObject {
  override readonly attributes: CachedObject['attributes'];

  constructor({ key, encoded, attributes }: Row, revision: number) {
    super({ key, revision, ...readRecord(encodeRecord(encoded, revision)) });
    this.attributes = attributes;
  }
}

/** The rows of a view, read as the objects of any type are. Their revisions are those of the source. */
export class RowCache implements ResourceCache {
  constructor(
    readonly resource: string,
    private readonly feed: RowFeed,
    private readonly source: ResourceCache,
    private readonly clock: Clock,
  ) {}

  get logId(): string | undefined {
    return this.source.logId;
  }

  async get(key: string, at: ReadAt): Promise<CachedObject | undefined> {
    const revision = await this.freshen(at);
    const row = this.feed.rowsAt(revision).get(key);
    return row && new ShownRow(row, revision);
  }

  peek(key: string): CachedObject | undefined {
    const row = this.feed.rows.get(key);
    return row && new ShownRow(row, this.feed.revision);
  }

  *peekAll(prefix: string): Generator<CachedObject> {
    for (const row of inOrder(this.feed.rows, prefix)) yield new ShownRow(row, this.feed.revision);
  }

  ready(): Promise<void> {
    return this.feed.reach(0);
  }

  revision(): number {
    return this.feed.revision;
  }

  size(): number {
    return this.feed.rows.size;
  }

  async list(at: ReadAt, options: CacheListOptions): Promise<CachedList> {
    const { prefix, from, order, limit, predicate } = options;
    const revision = await this.freshen(at, options.signal);
    const rows = inOrder(this.feed.rowsAt(revision), prefix).map((row) => new ShownRow(row, revision));
    const last = order === undefined || from === '' ? undefined : rows.find(({ key }) => key === from);
    const after = order === undefined && from !== '' ? rows.filter(({ key }) => compareUtf8(key, from) >= 0) : rows;
    const { selected, failures } = await selectFrom(after, options, {
      last,
      more: false,
      clock: this.clock,
      attributes: ({ attributes }) => attributes,
    });
    const { items, rest } = selected;
    const remaining = selected.remaining ?? (predicate.everything ? after.length - items.length : undefined);
    return new ObjectList(revision, items, limit > 0 && rest ? items.at(-1)?.key : undefined, { remaining, failures });
  }

  async watch(options: CacheWatchOptions, receiver: WatchReceiver): Promise<Watcher> {
    const { start } = options;
    const revision = await this.freshen(start.mode === 'exact' ? { mode: 'any' } : start);
    if (start.mode !== 'exact') return new RowWatcher(this.feed, options, receiver, this.clock, revision, true);
    if (start.revision > revision) await this.freshen({ mode: 'not-older-than', revision: start.revision });
    return new RowWatcher(this.feed, options, receiver, this.clock, start.revision, false);
  }

  /** Waits until the rows are as new as required. Returns the revision to show. */
  private async freshen(at: ReadAt, signal?: AbortSignal): Promise<number> {
    const { feed, source } = this;
    if (at.mode === 'any') {
      await feed.reach(0, signal);
      return feed.revision;
    }
    const wanted =
      at.mode === 'exact' ? { mode: 'not-older-than' as const, revision: at.revision, atOnce: at.atOnce === true } : at;
    // No object has such a key: the source waits until it is as new as required.
    await source.get(NO_KEY, wanted);
    await feed.reach(wanted.mode === 'not-older-than' ? wanted.revision : source.revision(), signal);
    return at.mode === 'exact' ? at.revision : feed.revision;
  }
}

const NO_KEY = '/';

const inOrder = (rows: ReadonlyMap<string, Row>, prefix: string): readonly Row[] =>
  [...rows.values()].filter(({ key }) => key.startsWith(prefix)).sort((a, b) => compareUtf8(a.key, b.key));

/** A watch of rows. It reads the log of the feed at its own pace. */
class RowWatcher implements Watcher {
  private position: number;
  private isFull = false;
  private isRunning = false;
  private isOver = false;
  private nextBookmark: number;
  private readonly leave: () => void;
  private timer: { cancel(): void } | undefined;

  constructor(
    private readonly feed: RowFeed,
    private readonly options: CacheWatchOptions,
    private readonly receiver: WatchReceiver,
    private readonly clock: Clock,
    start: number,
    withInitial: boolean,
  ) {
    this.position = feed.positionAfter(start);
    const initial = withInitial ? inOrder(feed.rowsAt(start), options.prefix) : undefined;
    this.nextBookmark = this.bookmarkTime();
    this.leave = feed.listen({ added: () => this.wake(), ended: () => this.end('closed') });
    // The caller gets the watcher before the first event.
    setImmediate(() => void this.run(initial, start));
    if (options.bookmarks) this.schedule();
  }

  resume(): void {
    this.isFull = false;
    this.wake();
  }

  stop(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.timer?.cancel();
    this.leave();
  }

  private end(reason: 'slow' | 'closed' | Error): void {
    if (this.isOver) return;
    this.stop();
    this.receiver.ended(reason);
  }

  private wake(): void {
    if (!this.isRunning && !this.isFull && !this.isOver) void this.run(undefined, 0);
  }

  private async run(initial: readonly Row[] | undefined, revision: number): Promise<void> {
    if (this.isRunning || this.isOver) return;
    this.isRunning = true;
    try {
      if (initial !== undefined) await this.sendInitial(initial, revision);
      await this.sendChanges();
    } catch (error) {
      this.end(asError(error));
    }
    this.isRunning = false;
    if (!this.isFull && this.position < this.feed.end) this.wake();
  }

  private async sendInitial(rows: readonly Row[], revision: number): Promise<void> {
    const slicer = new Slicer(this.clock, this.options.flow);
    const events: WatchEvent[] = [];
    for (const row of rows) {
      const shown = new ShownRow(row, revision);
      if (this.isWanted(shown)) events.push(new ObjectEvent('ADDED', revision, shown));
      if (slicer.isExhausted) await slicer.yield();
      if (this.isOver) return;
    }
    if (this.options.initialEventsBookmark) events.push(bookmark(revision, true));
    if (events.length > 0) this.send(events);
  }

  private async sendChanges(): Promise<void> {
    const { feed } = this;
    const slicer = new Slicer(this.clock, this.options.flow);
    while (!this.isFull && !this.isOver && this.position < feed.end) {
      const events: WatchEvent[] = [];
      for (let i = 0; i < STEP && this.position < feed.end; i++) {
        const group = this.nextOfOneRevision();
        if (group === undefined) {
          this.end('slow');
          return;
        }
        events.push(...this.shown(group));
      }
      if (events.length > 0) this.send(events);
      if (slicer.isExhausted) await slicer.yield();
    }
  }

  /** Takes the events of the next revision from the log; undefined if they were dropped. */
  private nextOfOneRevision(): readonly RowEvent[] | undefined {
    const group: RowEvent[] = [];
    for (let event = this.feed.eventAt(this.position); event !== undefined; event = this.feed.eventAt(this.position)) {
      if (group[0] !== undefined && group[0].revision !== event.revision) break;
      group.push(event);
      this.position++;
    }
    return group.length === 0 ? undefined : group;
  }

  /**
   * Returns the events of one revision that the watch selects. All but the last carry the revision before: a client that is cut off between them
   * and resumes sees all of them again.
   */
  private shown(group: readonly RowEvent[]): WatchEvent[] {
    const selected = group.flatMap(({ type, row, before, revision }) => {
      const isNow = type !== 'DELETED' && this.isWanted(new ShownRow(row, revision));
      const was = before !== undefined && this.isWanted(new ShownRow(before, revision));
      if (isNow) return { type: was ? ('MODIFIED' as const) : ('ADDED' as const), row, revision };
      return was ? { type: 'DELETED' as const, row: before, revision } : [];
    });
    return selected.map(({ type, row, revision }, i) => {
      const carried = i < selected.length - 1 ? revision - 1 : revision;
      return new ObjectEvent(type, carried, new ShownRow(row, carried));
    });
  }

  private isWanted(row: CachedObject): boolean {
    const { prefix, key, predicate } = this.options;
    if (key === undefined ? !row.key.startsWith(prefix) : row.key !== key) return false;
    return wanted(predicate, row);
  }

  private send(events: readonly WatchEvent[]): void {
    if (!this.isOver && !this.receiver.receive(events)) this.isFull = true;
  }

  private schedule(): void {
    this.timer = this.clock.setTimer(Math.max(0, this.nextBookmark - this.clock.monotonic()), () => {
      this.nextBookmark = this.bookmarkTime();
      // Reading the revision may add what was due.
      const { revision } = this.feed;
      if (!this.isFull && !this.isRunning && this.position === this.feed.end && this.feed.isBuilt)
        this.send([bookmark(revision, false)]);
      this.schedule();
    });
  }

  private bookmarkTime(): number {
    const now = this.clock.monotonic();
    const last = this.options.deadline - BEFORE_DEADLINE_MILLIS;
    return last > now ? Math.min(now + BOOKMARK_MILLIS, last) : now + BOOKMARK_MILLIS;
  }
}

const wanted = (predicate: ObjectPredicate, row: CachedObject): boolean =>
  predicate.everything || selects(predicate, row);

const bookmark = (revision: number, initialEventsEnd: boolean): WatchEvent => ({
  type: 'BOOKMARK',
  revision,
  object: undefined,
  initialEventsEnd,
  encoded(frame) {
    return frame.encode(this);
  },
});
