import type { Clock } from '../../../util/clock.js';
import type { Revision } from '../../interfaces.js';
import type { LogFollower } from '../following/follower.js';
import type { Writers } from './writers.js';

/** A replica counts as contending for this long after it has appended. */
const RIVAL_MILLIS = 100;
/** The length of a contending replica's turn; longer if it wrote more before. */
const TURN_MILLIS = 5;
const TURN_MILLIS_PER_WRITE = 1.5;
const MAX_TURN_MILLIS = 60;

/** A replica that has lost to others for this long asks for a turn, and again after the same time. */
const LOSING_MILLIS = 250;
/** The length of a requested turn, in attempts: it must suffice to learn the newest revision and to append once. */
const ATTEMPTS_PER_TURN = 4;
const MIN_CLAIM_MILLIS = 20;
const MAX_CLAIM_MILLIS = 500;
/** Commits in quicker succession than this leave no gap for other replicas. */
const BACK_TO_BACK_MILLIS = 50;
/** How often a replica that commits back to back checks whether another one asks for a turn. */
const LOOK_MILLIS = 250;
/** After a requested turn, the replica writes for as long as the turn took; after an unused turn, this many times as long. */
const BETWEEN_UNUSED_TURNS = 4;

export interface TurnsOptions {
  readonly clock: Clock;
  readonly follower: Pick<LogFollower, 'revision' | 'lastForeign' | 'lastForeignEntries' | 'progress'>;
  readonly writers: Pick<Writers, 'claim' | 'claimed'>;
}

/**
 * Replicas that write at the same time take turns. Each one sees in the log that others write, too. A replica that never succeeds, because
 * its connection to MongoDB is slower, asks for a turn.
 */
export class Turns {
  /** When the replica that did not use its turn was last seen to write. */
  private unused: number | undefined;
  private lastCommit = -Infinity;
  private readonly losing = { since: undefined as number | undefined, slowest: 0, claimed: -Infinity };
  /** The turn that other replicas ask for. */
  private readonly claim = { millis: 0, looked: -Infinity, next: -Infinity };

  constructor(private readonly options: TurnsOptions) {}

  /** Called before writes are taken: the replica that appended last (`own` is its newest revision) lets others go first. */
  async giveWay(own: Revision): Promise<void> {
    const { follower, clock } = this.options;
    const now = clock.monotonic();
    this.look(now);
    const { lastForeign } = follower;
    const claimed = now >= this.claim.next ? this.claim.millis : 0;
    const millis = Math.max(this.rivalMillis(now), claimed);
    if (own !== follower.revision || millis === 0) return;
    await follower.progress(own, millis);
    const after = clock.monotonic();
    const isUsed = follower.revision !== own;
    if (claimed > 0) this.claim.next = after + (isUsed ? 1 : BETWEEN_UNUSED_TURNS) * (after - now);
    if (isUsed) return;
    // A replica that did not use its turn gets no other one before it writes again.
    this.unused = lastForeign;
  }

  /** Called when an append lost to another replica, with the milliseconds that it took. */
  lost(millis: number): void {
    const { losing, options } = this;
    const now = options.clock.monotonic();
    losing.since ??= now;
    losing.slowest = Math.max(losing.slowest, millis);
    if (now - losing.since < LOSING_MILLIS || now - losing.claimed < LOSING_MILLIS) return;
    losing.claimed = now;
    const wanted = Math.ceil(ATTEMPTS_PER_TURN * losing.slowest);
    const turn = Math.min(Math.max(wanted, MIN_CLAIM_MILLIS), MAX_CLAIM_MILLIS);
    // A replica that still loses asks again.
    options.writers.claim(turn).catch(() => undefined);
  }

  won(): void {
    this.losing.since = undefined;
    this.losing.slowest = 0;
    this.lastCommit = this.options.clock.monotonic();
  }

  private rivalMillis(now: number): number {
    const { lastForeign, lastForeignEntries } = this.options.follower;
    if (now - lastForeign > RIVAL_MILLIS || this.unused === lastForeign) return 0;
    return Math.min(TURN_MILLIS + TURN_MILLIS_PER_WRITE * lastForeignEntries, MAX_TURN_MILLIS);
  }

  /** Checks in the background whether another replica asks for a turn. */
  private look(now: number): void {
    const { claim, options } = this;
    if (now - claim.looked < LOOK_MILLIS) return;
    if (now - this.lastCommit > BACK_TO_BACK_MILLIS) {
      claim.millis = 0;
      return;
    }
    claim.looked = now;
    options.writers
      .claimed()
      .then((millis) => {
        claim.millis = Math.min(millis, MAX_CLAIM_MILLIS);
      })
      .catch(() => {
        claim.millis = 0;
      });
  }
}
