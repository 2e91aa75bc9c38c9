import { append } from '../../../util/append.js';
import { sleep, type Clock, type Timer } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Revision } from '../../interfaces.js';
import { HELD, projectedId, type HeldDocument, type LogPlace } from '../documents.js';
import { growMeta, readFloor, readProjected } from '../log/read.js';
import type { Backlog, UnprojectedBatch } from '../following/backlog.js';
import { project } from './write.js';

export interface ProjectorOptions {
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly backlog: Backlog;
  readonly writer: string;
  /** Called when something could not be projected; it is retried. */
  failed?(error: unknown): void;
}

/** Batches committed within this period are projected together. */
const GATHER_MILLIS = 100;
const RETRY_MILLIS = 100;
const MAX_RETRY_MILLIS = 5_000;
/** The interval of checking what other replicas have projected, while some of their batches are not known to be projected. */
const LOOK_MILLIS = 1_000;
/** The interval of these checks while a caller waits for the projection. */
const SOON_MILLIS = 50;
/** Batches that their writer has not projected for this long are taken over. */
const TAKEOVER_MILLIS = 10_000;
/** Writes wait while more than this waits to be projected, in bytes or objects. */
const MAX_BYTES = 64 << 20;
const MAX_OBJECTS = 50_000;

/** Projects the batches that this replica commits, and those that other replicas leave undone. */
export class Projector {
  private running: Promise<void> | undefined;
  private looking: Timer | undefined;
  private readonly stopping = new AbortController();
  /** True if requests of this replica may still be in flight. */
  private mayHaveInFlight = false;

  constructor(private readonly options: ProjectorOptions) {}

  /** True if more may be committed. */
  get hasRoom(): boolean {
    const { bytes, lag } = this.options.backlog;
    return bytes < MAX_BYTES && lag.objects < MAX_OBJECTS;
  }

  start(): void {
    this.looking = this.options.clock.setTimer(LOOK_MILLIS, () => {
      // Whatever could not be done now is done the next time.
      void this.checkBacklog()
        .catch((error: unknown) => this.options.failed?.(error))
        .finally(() => {
          if (!this.stopping.signal.aborted) this.start();
        });
    });
  }

  /** Called after a commit. */
  wake(): void {
    if (!this.stopping.signal.aborted && this.own().length > 0) this.running ??= this.run();
  }

  /** Stops, after projecting this replica's pending batches once. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.looking?.cancel();
    await this.running;
    await this.projectOwn();
  }

  /** Resolves when everything up to a revision is projected. */
  async settled(upTo: Revision): Promise<void> {
    const { backlog, clock } = this.options;
    const end = clock.monotonic() + 3 * TAKEOVER_MILLIS;
    for (;;) {
      await this.checkBacklog();
      if ((backlog.lowest ?? Infinity) > upTo) return;
      if (clock.monotonic() > end) throw new StorageError('unavailable', 'the projection is too far behind');
      await sleep(clock, SOON_MILLIS);
    }
  }

  /** Projects all pending batches immediately, whichever replica wrote them. */
  async projectAll(): Promise<void> {
    for (const [writer, batches] of byWriter(this.options.backlog.all())) await this.project(writer, batches);
  }

  private async run(): Promise<void> {
    const { clock } = this.options;
    const { signal } = this.stopping;
    let retry = RETRY_MILLIS;
    while (!this.isStopping() && this.own().length > 0) {
      await sleep(clock, GATHER_MILLIS, signal);
      try {
        if (!this.isStopping()) await this.projectOwn();
        retry = RETRY_MILLIS;
      } catch (error) {
        this.mayHaveInFlight = true;
        this.options.failed?.(error);
        await sleep(clock, retry, signal);
        retry = Math.min(2 * retry, MAX_RETRY_MILLIS);
      }
    }
    // In the same step as the last check: a later commit starts a new run.
    this.running = undefined;
  }

  /** Returns the current value, which may change during an await. */
  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private own(): readonly UnprojectedBatch[] {
    const { backlog, writer } = this.options;
    return backlog.all().filter((batch) => batch.writer === writer);
  }

  private async projectOwn(): Promise<void> {
    const own = this.own();
    if (own.length > 0) await this.project(this.options.writer, own);
  }

  /** Learns what other replicas have projected, and takes over overdue batches. */
  private async checkBacklog(): Promise<void> {
    const { backlog, place, clock, writer } = this.options;
    // This replica's batches may have arrived by the log only, not by their commit.
    this.wake();
    if (!backlog.all().some((batch) => batch.writer !== writer)) return;
    for (const [who, upTo] of await readProjected(place)) backlog.markProjected(who, upTo);
    const overdue = clock.monotonic() - TAKEOVER_MILLIS;
    for (const [who, batches] of byWriter(backlog.all())) {
      if (who !== writer && batches.some(({ since }) => since <= overdue)) await this.project(who, batches);
    }
  }

  /** Projects all pending batches of one writer. */
  private async project(who: string, batches: readonly UnprojectedBatch[]): Promise<void> {
    const { place, backlog } = this.options;
    const withoutValues = batches.filter(({ values }) => values === undefined);
    const isDoubtful = this.mayHaveInFlight && who === this.options.writer;
    let valid = batches;
    if (withoutValues.length > 0 || isDoubtful) {
      await this.holdTombstones(isDoubtful ? batches : withoutValues);
      if (isDoubtful) this.mayHaveInFlight = false;
      const { floor } = await readFloor(place);
      // The floor never passes batches that are not projected: these are void, or were projected.
      for (const batch of withoutValues) if (batch.first <= floor) backlog.drop(batch);
      valid = batches.filter(({ first, values }) => values !== undefined || first > floor);
    }
    const last = valid.at(-1);
    if (last === undefined) return;
    await project(place.db, valid);
    await growMeta(place, projectedId(who), last.first);
    backlog.markProjected(who, last.first);
  }

  /** Keeps the tombstones of these keys from now on. */
  private async holdTombstones(batches: readonly UnprojectedBatch[]): Promise<void> {
    const { db, name: log } = this.options.place;
    const keys = new Map<string, Pick<HeldDocument, 'log' | 'resource' | 'key'>>();
    for (const { events } of batches)
      for (const { resource, key } of events) keys.set(heldId(resource, key), { log, resource, key });
    const operations = [...keys].map(([_id, fields]) => ({
      updateOne: { filter: { _id }, update: { $set: fields, $currentDate: { at: true as const } }, upsert: true },
    }));
    await db.collection<HeldDocument>(HELD).bulkWrite(operations, { ordered: false });
  }
}

export const heldId = (resource: string, key: string): string => `${resource}/${key}`;

function byWriter(batches: readonly UnprojectedBatch[]): Map<string, UnprojectedBatch[]> {
  const writers = new Map<string, UnprojectedBatch[]>();
  for (const batch of batches) append(writers, batch.writer, batch);
  return writers;
}
