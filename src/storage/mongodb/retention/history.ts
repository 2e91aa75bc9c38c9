import { append } from '../../../util/append.js';
import type { Clock, Timer } from '../../../util/clock.js';
import type { Revision } from '../../interfaces.js';
import {
  batchesOf,
  DURABLE,
  FIRST_REVISION,
  HELD,
  metaOf,
  statesOf,
  type HeldDocument,
  type LogPlace,
  type Mark,
} from '../documents.js';
import type { LogFollower } from '../following/follower.js';
import { growMeta, readFloor, readMeta, readOldest } from '../log/read.js';
import { isAfter, isWithin } from '../log/time.js';
import { heldId, type Projector } from '../projection/projector.js';
import type { Backlog } from '../following/backlog.js';

export interface HistoryOptions {
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly historyMillis: number;
  readonly follower: Pick<LogFollower, 'revision' | 'head'>;
  readonly backlog: Pick<Backlog, 'lowest'>;
  readonly projector: Pick<Projector, 'settled'>;
  /** Checks that the log is still the one that was followed; rejects if it is not. Called before anything is removed. */
  check(): Promise<void>;
  /** Called from time to time, during maintenance of the history. */
  renew(): Promise<void>;
}

const RENEW_MILLIS = 60_000;
/** The number of marks that are set per window; marks are kept for three windows. */
const MARKS = 12;
/** No request to MongoDB is in flight for this long. */
const HELD_MILLIS = 24 * 3_600_000;

/**
 * Removes log entries that are older than the window, and the tombstones of objects deleted then. The age of a revision follows from marks
 * in the database: revisions that were committed and projected at a time of MongoDB's clock.
 */
export class History {
  private known: Revision = FIRST_REVISION;
  private running: Promise<void> | undefined;
  private timer: Timer | undefined;
  private stopped = false;
  private renewed: number;
  /** The revision up to which this replica has removed everything. */
  private removed: Revision = 0;
  /** When the last run succeeded, or when the first could start. */
  trimmedAt: number;

  constructor(private readonly options: HistoryOptions) {
    this.trimmedAt = options.clock.now();
    this.renewed = options.clock.monotonic();
  }

  /** The oldest revision that is kept. */
  get oldest(): Revision {
    return this.known;
  }

  async start(): Promise<void> {
    this.lost(await readOldest(this.options.place));
    this.schedule();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.running?.catch(() => undefined);
  }

  /** Compacts up to a revision: its events are no longer delivered, although the log may still have them. */
  async forget(revision: Revision): Promise<void> {
    const { place, projector } = this.options;
    await projector.settled(revision);
    await growMeta(place, place.baseId, revision);
    this.lost(revision);
  }

  /** Records that everything up to a revision was compacted, possibly by another replica. */
  lost(revision: Revision): void {
    this.known = Math.max(this.known, revision);
  }

  private schedule(): void {
    const every = Math.min(Math.max(this.options.historyMillis / 60, 100), 5_000);
    this.timer = this.options.clock.setTimer(every, () => {
      // Whatever could not be removed now is removed the next time.
      this.running ??= this.trim()
        .then(() => void (this.trimmedAt = this.options.clock.now()))
        .catch(() => undefined)
        .finally(() => (this.running = undefined));
      if (!this.stopped) this.schedule();
    });
  }

  private async trim(): Promise<void> {
    const { place, clock, historyMillis, follower, backlog } = this.options;
    await this.options.check();
    const now = clock.monotonic();
    if (now - this.renewed > RENEW_MILLIS) {
      this.renewed = now;
      await this.options.renew();
      await this.release();
    }
    // Everything up to this revision was committed and projected before the following read.
    const revision = (backlog.lowest ?? follower.revision + 1) - 1;
    const { document, moment } = await readMeta(place, place.marksId);
    const marks = document?.marks ?? [];
    const newest = marks.at(-1);
    const isDue = newest === undefined || !isWithin(newest.at, moment, historyMillis / MARKS + 1_000);
    if (isDue && revision > (newest?.revision ?? 0)) await this.mark({ revision, at: moment }, newest);
    const old = marks.filter(({ at }) => isAfter(at, moment, historyMillis)).at(-1);
    this.lost(await readOldest(place));
    if (old === undefined || old.revision === this.removed) return;
    if (old.revision > (await readFloor(place)).floor) await growMeta(place, place.floorId, old.revision);
    this.lost(old.revision);
    await this.remove(old.revision);
    this.removed = old.revision;
  }

  private async mark(mark: Mark, newest: Mark | undefined): Promise<void> {
    const { place } = this.options;
    const asRead = newest === undefined ? { marks: { $exists: false } } : { 'marks.at': newest.at };
    await metaOf(place.db)
      .updateOne(
        { _id: place.marksId, ...asRead },
        { $push: { marks: { $each: [mark], $sort: { revision: 1 }, $slice: -3 * MARKS } } },
        { upsert: newest === undefined, ...DURABLE },
      )
      .catch(() => undefined);
  }

  /** Removes everything at or below the floor, which a majority has. */
  private async remove(floor: Revision): Promise<void> {
    const { place, follower } = this.options;
    const newest = follower.head?.first ?? 0;
    // The newest batch stays, because it holds the current revision.
    const trimmed = { _id: { $lte: floor, $lt: newest } };
    const log = batchesOf(place);
    const deleted = new Map<string, string[]>();
    const projection = { 'entries.resource': 1, 'entries.key': 1, 'entries.type': 1 };
    for await (const { entries } of log.find({ ...trimmed, 'entries.type': 'DELETED' }, { projection })) {
      for (const { resource, key, type } of entries) {
        if (type === 'DELETED') append(deleted, resource, key);
      }
    }
    for (const [resource, keys] of deleted) await this.removeTombstones(resource, [...new Set(keys)], floor);
    await log.deleteMany(trimmed);
    // A missing document means the same as one at or below the floor: no batch above the floor is projected.
    await metaOf(place.db).deleteMany({ _id: /^projected\./, log: place.name, revision: { $lte: floor } });
  }

  private async removeTombstones(resource: string, keys: readonly string[], floor: Revision): Promise<void> {
    const { db } = this.options.place;
    // After the floor was raised: a replica that takes over a batch holds its keys first, and then reads the floor.
    const held = await db
      .collection<HeldDocument>(HELD)
      .find({ _id: { $in: keys.map((key) => heldId(resource, key)) } }, { projection: { key: 1 } })
      .toArray();
    const kept = new Set(held.map(({ key }) => key));
    const free = keys.filter((key) => !kept.has(key));
    if (free.length > 0) await this.removeDeleted(resource, free, floor);
  }

  private async removeDeleted(resource: string, keys: readonly string[], floor: Revision): Promise<void> {
    const old = { '_annex.deleted': true as const, '_annex.revision': { $lte: floor } };
    await statesOf(this.options.place.db, resource).deleteMany({ _id: { $in: [...keys] }, ...old });
  }

  /** Removes the tombstones of keys that have been held for long enough. */
  private async release(): Promise<void> {
    const { place } = this.options;
    const held = place.db.collection<HeldDocument>(HELD);
    const isOld = { $expr: { $lt: ['$at', { $subtract: ['$$NOW', HELD_MILLIS] }] } };
    const { floor } = await readFloor(place);
    for await (const { _id, resource, key } of held.find({ log: place.name, ...isOld })) {
      await this.removeDeleted(resource, [key], floor);
      await held.deleteOne({ _id, ...isOld });
    }
  }
}
