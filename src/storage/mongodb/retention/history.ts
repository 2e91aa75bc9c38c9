import type { Clock, Timer } from '../../../util/clock.js';
import type { Revision } from '../../interfaces.js';
import {
  batchesOf,
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
  /** Called now and then, when the history is looked after. */
  renew(): Promise<void>;
}

const RENEW_MILLIS = 60_000;
/** So many marks are set in a window, and kept for three. */
const MARKS = 12;
/** No request to MongoDB is on its way for so long. */
const HELD_MILLIS = 24 * 3_600_000;
const DURABLE = { writeConcern: { w: 'majority', journal: true } } as const;

/**
 * Removes what is older than the window from the log, and with it the tombstones of what was deleted then. How old a revision is, marks
 * in the database say: revisions that were committed and projected at a moment of MongoDB's time.
 */
export class History {
  private known: Revision = FIRST_REVISION;
  private running: Promise<void> | undefined;
  private timer: Timer | undefined;
  private stopped = false;
  private renewed: number;
  /** Up to where this replica has removed everything. */
  private removed: Revision = 0;
  /** When the last run succeeded, or the first could begin. */
  trimmedAt: number;

  constructor(private readonly options: HistoryOptions) {
    this.trimmedAt = options.clock.now();
    this.renewed = options.clock.monotonic();
  }

  /** What lies before is no longer kept. */
  get oldest(): Revision {
    return this.known;
  }

  async start(): Promise<void> {
    this.known = await readOldest(this.options.place);
    this.schedule();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.running?.catch(() => undefined);
  }

  /** Nobody is told of what happened up to a revision any more, although the log may still have it. */
  async forget(revision: Revision): Promise<void> {
    const { place, projector } = this.options;
    await projector.settled(revision);
    await growMeta(place, place.baseId, revision);
    this.lost(revision);
  }

  /** The same, as somebody else says. */
  lost(revision: Revision): void {
    this.known = Math.max(this.known, revision);
  }

  private schedule(): void {
    const every = Math.min(Math.max(this.options.historyMillis / 60, 100), 5_000);
    this.timer = this.options.clock.setTimer(every, () => {
      // What could not be removed now is removed the next time.
      this.running ??= this.trim()
        .then(() => void (this.trimmedAt = this.options.clock.now()))
        .catch(() => undefined)
        .finally(() => (this.running = undefined));
      if (!this.stopped) this.schedule();
    });
  }

  private async trim(): Promise<void> {
    const { place, clock, historyMillis, follower, backlog } = this.options;
    const now = clock.monotonic();
    if (now - this.renewed > RENEW_MILLIS) {
      this.renewed = now;
      await this.options.renew();
      await this.release();
    }
    // All up to there was committed and projected before the reading that follows.
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

  /** What lies at or below the floor, which a majority has. */
  private async remove(floor: Revision): Promise<void> {
    const { place, follower } = this.options;
    const newest = follower.head?.first ?? 0;
    // The newest batch stays: it tells the revision.
    const trimmed = { _id: { $lte: floor, $lt: newest } };
    const log = batchesOf(place);
    const deleted = new Map<string, Set<string>>();
    const projection = { 'entries.resource': 1, 'entries.key': 1, 'entries.type': 1 };
    for await (const { entries } of log.find({ ...trimmed, 'entries.type': 'DELETED' }, { projection })) {
      for (const { resource, key, type } of entries) {
        if (type !== 'DELETED') continue;
        const keys = deleted.get(resource);
        if (keys === undefined) deleted.set(resource, new Set([key]));
        else keys.add(key);
      }
    }
    for (const [resource, keys] of deleted) await this.removeTombstones(resource, [...keys], floor);
    await log.deleteMany(trimmed);
    // A replica that has none has no batch above the floor that is projected, as if it had one below.
    await metaOf(place.db).deleteMany({ _id: /^projected\./, log: place.name, revision: { $lte: floor } });
  }

  private async removeTombstones(resource: string, keys: readonly string[], floor: Revision): Promise<void> {
    const { db } = this.options.place;
    // After the floor: who takes a batch over holds its keys, and then reads the floor.
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

  /** Keys that have been held for long enough. */
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
