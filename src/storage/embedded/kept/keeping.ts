import type { Clock } from '../../../util/clock.js';
import type { Revision } from '../../interfaces.js';
import { PurgeTime } from '../../kept/purge-time.js';
import type { Environment, Operation } from '../environment.js';
import { EmbeddedHistory } from './history.js';
import { Mover, type Leaving } from './mover.js';
import { Purger } from './purger.js';
import { KeptTypes } from './types.js';

interface KeepingOptions {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly limitBytes: number;
  revision(): Revision;
  /** Returns the revision up to which the log is trimmed, as of the last `refresh`. */
  removed(): Revision;
  /** Runs some work between commits. */
  between(work: () => Promise<void>): Promise<void>;
}

const PURGE_TIME = 'purgeTime';
/** How often the time of purging is stored when nothing is moved or purged. */
const STORE_MILLIS = 600_000;
/** The most that one step of trimming moves. Writes wait for a step. */
const MAX_STEP_ROWS = 400;
const MAX_STEP_BYTES = 512 << 10;

/** A step of trimming: what of the states that it removes the history keeps. */
interface KeepingStep {
  readonly operations: readonly Operation[];
  readonly isFull: boolean;
  take(leaving: Leaving): Promise<void>;
  /** Called when the operations are on disk. */
  done(): void;
}

/** What an embedded store keeps beyond its window. All of it changes between commits only. */
export class Keeping {
  readonly history: EmbeddedHistory;
  private readonly types: KeptTypes;
  private readonly purger: Purger;
  private readonly time: PurgeTime;
  private stored: number;

  constructor(private readonly options: KeepingOptions) {
    const { environment, clock, limitBytes } = options;
    const stored = environment.metaNumber(PURGE_TIME);
    this.stored = stored ?? 0;
    this.time = new PurgeTime(stored ?? clock.now());
    this.time.advance(clock.now(), clock.monotonic());
    this.types = new KeptTypes(environment);
    this.purger = new Purger({ environment, types: this.types, limitBytes });
    const { types, purger, time } = this;
    this.history = new EmbeddedHistory({ ...options, types, purger, time });
  }

  /** The time by which states are purged. */
  get now(): number {
    return this.time.now;
  }

  keepsDeleted(resource: string, bytes: Uint8Array): boolean {
    return this.types.policyFor(resource, this.time.now, bytes).keepDeletedFor > 0;
  }

  step(): KeepingStep {
    const mover = new Mover(this.options.environment, this.types, this.time.now);
    return {
      take: (leaving) => mover.take(leaving),
      get operations() {
        return [...mover.operations, ...mover.changes.operations()];
      },
      get isFull() {
        return mover.operations.length >= MAX_STEP_ROWS || mover.bytes >= MAX_STEP_BYTES;
      },
      done: () => {
        mover.changes.done();
        this.purger.grew(mover.grown);
      },
    };
  }

  /** Purges some of what is due; false if nothing is left. */
  async purgeSome(): Promise<boolean> {
    const { clock, environment } = this.options;
    this.time.advance(clock.now(), clock.monotonic());
    if (Math.abs(this.time.now - this.stored) >= STORE_MILLIS) {
      const { now } = this.time;
      await environment.commit([{ table: 'meta', key: PURGE_TIME, value: now }]);
      this.stored = now;
    }
    return this.purger.some(this.time.now);
  }
}
