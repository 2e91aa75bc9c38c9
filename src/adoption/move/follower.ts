import type { ClusterClient } from '../../client/cluster-client.js';
import { type Clock, sleep } from '../../util/clock.js';
import { ClusterCollection } from '../rehearsal/collection.js';
import { Copier } from '../rehearsal/copier.js';
import type { AdoptedType } from '../rehearsal/definitions.js';
import type { RateLimit } from '../rate-limit.js';
import { LiveCopy, type LiveCopyOptions } from './live-copy.js';

const POLL_MILLIS = 100;
const SMALL_BACKLOG = 200;

export interface FollowerOptions extends LiveCopyOptions {
  readonly client: Pick<ClusterClient, 'call' | 'watch'>;
  readonly clock: Clock;
  readonly rate: RateLimit;
  readonly group: string;
  readonly types: readonly AdoptedType[];
}

/** Carries over changes in the cluster while Annex already has the objects but does not serve them yet. */
export class ChangeFollower {
  private readonly parts: readonly { readonly collection: ClusterCollection; readonly copier: Copier }[];
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: FollowerOptions) {
    const { client, clock, group, rate, types } = options;
    this.parts = types.map(({ resource, version, plural }) => {
      const collection = new ClusterCollection(client, `/apis/${group}/${version}`, plural);
      return { collection, copier: new Copier({ collection, staging: new LiveCopy(options), resource, clock, rate }) };
    });
  }

  start(): void {
    this.running = Promise.all(this.parts.map(({ copier }) => copier.run(this.stopping.signal)));
  }

  /** Resolves when all types have been listed once and their changes are followed. */
  async waitUntilFollowing(signal: AbortSignal): Promise<void> {
    const isBehind = ({ copier: { state, backlog } }: { readonly copier: Copier }): boolean =>
      !state.complete || state.lagSeconds > 0 || backlog > SMALL_BACKLOG;
    while (this.parts.some(isBehind)) {
      if (signal.aborted) throw new Error('the switch was stopped');
      await sleep(this.options.clock, POLL_MILLIS, signal);
    }
  }

  /** Stops and completes the copy, after writes in the cluster have ended. */
  async finish(millis: number, signal: AbortSignal): Promise<void> {
    await this.stop();
    const { clock } = this.options;
    const over = new AbortController();
    const abort = (): void => over.abort();
    const timer = clock.setTimer(millis, abort);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.all(this.parts.map((part) => finishPart(part, over.signal)));
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }
}

async function finishPart(
  { collection, copier }: { readonly collection: ClusterCollection; readonly copier: Copier },
  signal: AbortSignal,
): Promise<void> {
  const { revision, count } = await collection.newest();
  await copier.catchUp(revision, signal);
  const { copied } = copier.state;
  if (copied !== count) throw new Error(`the cluster has ${count} objects, but the copy has ${copied}`);
}
