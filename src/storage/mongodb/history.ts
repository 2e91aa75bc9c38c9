import type { Collection } from 'mongodb';
import type { Clock, Timer } from '../../util/clock.js';
import type { Revision } from '../interfaces.js';
import { isDuplicateKey } from './failures.js';
import { compactedRevision } from './layout.js';
import { entriesOf, FIRST_REVISION, META, type LogDocument, type LogPlace, type MetaDocument } from './documents.js';

export interface HistoryOptions {
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly historyMillis: number;
  /** The newest revision that is known. */
  revision(): Revision;
  /** Called now and then, when the history is looked after. */
  renew(): Promise<void>;
}

const RENEW_MILLIS = 60_000;

interface Sample {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly revision: Revision;
}

/**
 * Removes log entries that are older than the window. How old they are, each replica knows by what it saw itself: by its
 * monotonic clock, which stands still while the machine is suspended, so that it keeps them longer, never shorter. For
 * replicas that live for less than a window there is a mark in the database: a revision that MongoDB dated by its own clock.
 */
export class History {
  private readonly log: Collection<LogDocument>;
  private readonly meta: Collection<MetaDocument>;
  private readonly samples: Sample[] = [];
  private known: Revision = FIRST_REVISION;
  private running: Promise<void> | undefined;
  private timer: Timer | undefined;
  private stopped = false;
  private renewed = 0;
  private hasMark = false;
  /** When the last run succeeded, or the first could begin. */
  trimmedAt: number;

  constructor(private readonly options: HistoryOptions) {
    this.trimmedAt = options.clock.now();
    this.log = entriesOf(options.place);
    this.meta = options.place.db.collection<MetaDocument>(META);
  }

  /** What lies before is no longer kept. */
  get oldest(): Revision {
    return this.known;
  }

  async start(): Promise<void> {
    this.known = await compactedRevision(this.options.place);
    this.sample();
    this.schedule();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.running?.catch(() => undefined);
  }

  /** Forgets what lies before the revision and before the window. */
  async compact(revision: Revision): Promise<void> {
    while (this.running !== undefined) await this.running.catch(() => undefined);
    await this.run(revision);
  }

  private run(revision: Revision): Promise<void> {
    const running = this.forget(revision)
      .then(() => void (this.trimmedAt = this.options.clock.now()))
      .finally(() => {
        this.running = undefined;
      });
    this.running = running;
    return running;
  }

  private schedule(): void {
    const every = Math.min(Math.max(this.options.historyMillis / 60, 100), 5_000);
    this.timer = this.options.clock.setTimer(every, () => {
      this.sample();
      // What could not be removed now is removed the next time.
      if (this.running === undefined && !this.stopped) this.run(0).catch(() => undefined);
      this.schedule();
    });
  }

  private sample(): void {
    const revision = this.options.revision();
    this.samples.push({ at: this.options.clock.monotonic(), revision });
  }

  /** The newest revision that left the window. */
  private due(): Revision {
    const { clock, historyMillis } = this.options;
    const before = clock.monotonic() - historyMillis;
    let count = 0;
    while ((this.samples[count]?.at ?? Infinity) <= before) count++;
    const newest = this.samples[count - 1];
    if (newest === undefined) return 0;
    this.samples.splice(0, count - 1);
    return newest.revision;
  }

  private async forget(revision: Revision): Promise<void> {
    const now = this.options.clock.monotonic();
    if (now - this.renewed > RENEW_MILLIS) {
      this.renewed = now;
      await this.options.renew();
    }
    const agreed = await compactedRevision(this.options.place);
    const wanted = Math.max(revision, this.due(), await this.marked());
    this.known = Math.max(this.known, agreed, wanted);
    if (wanted <= agreed) return;
    // A majority has the floor before any entry goes: whoever misses an entry finds the floor.
    await this.meta.updateOne(
      { _id: this.options.place.compactedId },
      { $max: { revision: wanted } },
      { upsert: true, writeConcern: { w: 'majority', journal: true } },
    );
    // The newest entry stays: it tells the revision.
    const newest = this.options.revision();
    await this.log.deleteMany({ _id: { $lte: Math.min(wanted, newest - 1) } });
  }

  /** The revision of the mark where it is a window old; then the newest known revision takes its place. */
  private async marked(): Promise<Revision> {
    const { place, historyMillis } = this.options;
    const _id = place.markId;
    const isDue = { $expr: { $lte: ['$at', { $subtract: ['$$NOW', historyMillis] }] } };
    const mark = [{ $set: { revision: { $literal: this.options.revision() }, at: '$$NOW' } }];
    const due = await this.meta.findOne({ _id, ...isDue });
    if (due !== null) {
      // Another replica may have replaced it meanwhile.
      await this.meta.updateOne({ _id, ...isDue }, mark);
      return due.revision ?? 0;
    }
    if (!this.hasMark)
      await this.meta.updateOne({ _id, at: { $exists: false } }, mark, { upsert: true }).catch(ifThere);
    this.hasMark = true;
    return 0;
  }
}

function ifThere(error: unknown): void {
  if (!isDuplicateKey(error)) throw error;
}
