import { sleep, type Clock, type Timer } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Revision } from '../../interfaces.js';
import { HELD, projectedId, type HeldDocument, type LogPlace } from '../documents.js';
import { growMeta, readFloor, readProjected } from '../log/read.js';
import type { Backlog, Waiting } from '../following/backlog.js';
import { project } from './write.js';

export interface ProjectorOptions {
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly backlog: Backlog;
  readonly writer: string;
  /** Hears why something was not projected; it is tried again. */
  failed?(error: unknown): void;
}

/** What gathers in this time is projected together. */
const GATHER_MILLIS = 100;
const RETRY_MILLIS = 100;
const MAX_RETRY_MILLIS = 5_000;
/** How often it is asked what others have projected, while there is something that they have not; */
const LOOK_MILLIS = 1_000;
/** and where somebody waits for it. */
const SOON_MILLIS = 50;
/** What nobody has projected for so long is taken over. */
const TAKEOVER_MILLIS = 10_000;
/** Writes wait while more than this waits to be projected. */
const MAX_BYTES = 64 << 20;
const MAX_OBJECTS = 50_000;

/** Brings the projection up to what this replica commits, and to what others leave undone. */
export class Projector {
  private running: Promise<void> | undefined;
  private looking: Timer | undefined;
  private readonly stopping = new AbortController();
  /** Requests of this replica may still be on their way. */
  private doubt = false;

  constructor(private readonly options: ProjectorOptions) {}

  /** Whether more may be committed. */
  get hasRoom(): boolean {
    const { bytes, lag } = this.options.backlog;
    return bytes < MAX_BYTES && lag.objects < MAX_OBJECTS;
  }

  start(): void {
    this.looking = this.options.clock.setTimer(LOOK_MILLIS, () => {
      // What could not be done now is done the next time.
      void this.look()
        .catch((error: unknown) => this.options.failed?.(error))
        .finally(() => {
          if (!this.stopping.signal.aborted) this.start();
        });
    });
  }

  /** Something was committed. */
  wake(): void {
    if (!this.stopping.signal.aborted && this.own().length > 0) this.running ??= this.run();
  }

  /** Projects what waits, once. */
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
      await this.look();
      if ((backlog.lowest ?? Infinity) > upTo) return;
      if (clock.monotonic() > end) throw new StorageError('unavailable', 'the projection is too far behind');
      await sleep(clock, SOON_MILLIS);
    }
  }

  /** Does at once what nobody else does any more. */
  async takeOverAll(): Promise<void> {
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
        this.doubt = true;
        this.options.failed?.(error);
        await sleep(clock, retry, signal);
        retry = Math.min(2 * retry, MAX_RETRY_MILLIS);
      }
    }
    // In the same step as the last look: what is committed later starts anew.
    this.running = undefined;
  }

  /** It may come about while something is awaited. */
  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private own(): readonly Waiting[] {
    const { backlog, writer } = this.options;
    return backlog.all().filter((batch) => batch.writer === writer);
  }

  private async projectOwn(): Promise<void> {
    const own = this.own();
    if (own.length > 0) await this.project(this.options.writer, own);
  }

  /** Hears what others have projected, and takes over what is overdue. */
  private async look(): Promise<void> {
    const { backlog, place, clock, writer } = this.options;
    // What came by the log only, and not by its commit.
    this.wake();
    if (!backlog.all().some((batch) => batch.writer !== writer)) return;
    for (const [who, upTo] of await readProjected(place)) backlog.settle(who, upTo);
    const overdue = clock.monotonic() - TAKEOVER_MILLIS;
    for (const [who, batches] of byWriter(backlog.all())) {
      if (who !== writer && batches.some(({ since }) => since <= overdue)) await this.project(who, batches);
    }
  }

  /** All batches of one writer that wait. */
  private async project(who: string, batches: readonly Waiting[]): Promise<void> {
    const { place, backlog } = this.options;
    const unheard = batches.filter(({ values }) => values === undefined);
    const isDoubtful = this.doubt && who === this.options.writer;
    let valid = batches;
    if (unheard.length > 0 || isDoubtful) {
      await this.hold(isDoubtful ? batches : unheard);
      if (isDoubtful) this.doubt = false;
      const { floor } = await readFloor(place);
      // The floor never passes what is not projected: they are void, or were projected.
      for (const batch of unheard) if (batch.first <= floor) backlog.drop(batch);
      valid = batches.filter(({ first, values }) => values !== undefined || first > floor);
    }
    const last = valid.at(-1);
    if (last === undefined) return;
    await project(place.db, valid);
    await growMeta(place, projectedId(who), last.first);
    backlog.settle(who, last.first);
  }

  /** From now on the tombstones of these keys stay. */
  private async hold(batches: readonly Waiting[]): Promise<void> {
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

function byWriter(batches: readonly Waiting[]): Map<string, Waiting[]> {
  const writers = new Map<string, Waiting[]>();
  for (const batch of batches) {
    const some = writers.get(batch.writer);
    if (some === undefined) writers.set(batch.writer, [batch]);
    else some.push(batch);
  }
  return writers;
}
