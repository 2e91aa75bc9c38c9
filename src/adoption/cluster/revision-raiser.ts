import type { ClusterClient } from '../../client/cluster-client.js';
import type { Revision } from '../../storage/interfaces.js';
import type { Clock } from '../../util/clock.js';
import { RateLimit } from '../rate-limit.js';
import { clusterRevision, raiseCluster } from './cluster-revision.js';

/** How far beyond the needed revision to raise: Annex takes writes meanwhile. */
const AHEAD = 2_000;
/** The maximum number of small writes per second. */
const RATE = 2_000;

export interface RevisionRaiserOptions {
  readonly client: Pick<ClusterClient, 'must'>;
  readonly clock: Clock;
  /** The namespace that Annex runs in. */
  readonly namespace: string;
}

/** The progress of raising the cluster's revision. */
export interface RaiseProgress {
  readonly from: Revision;
  readonly to: Revision;
  readonly reached: Revision;
  /** Seconds until the target is reached, at the rate so far; undefined if unknown. */
  readonly secondsLeft: number | undefined;
}

/** Keeps the cluster's revision above those that clients have seen in Annex. */
export class RevisionRaiser {
  private running: Promise<unknown> = Promise.resolve();
  private reached: Revision = 0;
  private from: Revision = 0;
  private to: Revision = 0;
  private began = 0;

  constructor(private readonly options: RevisionRaiserOptions) {}

  get progress(): RaiseProgress {
    const { from, to, reached, began } = this;
    const millis = this.options.clock.monotonic() - began;
    const left = Math.max(0, to - reached);
    const secondsLeft =
      left === 0 ? 0 : reached > from ? Math.ceil((left * millis) / (reached - from) / 1000) : undefined;
    return { from, to, reached, secondsLeft };
  }

  /** Resolves when the cluster's revision is above one of Annex, raising it `ahead` further if necessary. Calls run one after the other. */
  async raiseAbove(revision: Revision, signal: AbortSignal, ahead = AHEAD): Promise<void> {
    if (this.reached > revision) return;
    const next = this.running
      .catch(() => undefined)
      .then(async () => {
        if (this.reached <= revision) await this.raise(revision, ahead, signal);
      });
    this.running = next;
    await next;
  }

  private async raise(revision: Revision, ahead: number, signal: AbortSignal): Promise<void> {
    const { client, clock, namespace } = this.options;
    this.from = this.reached = Math.max(this.reached, await clusterRevision(client));
    this.to = revision;
    this.began = clock.monotonic();
    if (this.reached > revision) return;
    const reached = (now: Revision): void => {
      this.reached = Math.max(this.reached, now);
    };
    await raiseCluster(
      { client, clock, namespace, rate: new RateLimit(clock, RATE), reached },
      revision + ahead,
      signal,
    );
  }
}
