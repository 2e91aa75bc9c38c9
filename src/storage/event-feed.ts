import { Condition } from '../util/condition.js';
import { StorageError } from './errors.js';
import type { LogEvent, Revision } from './interfaces.js';

export interface EventFeedOptions {
  /** The newest revision when the feed starts. */
  readonly revision: Revision;
  /** Limits on the events kept for readers that lag slightly; readers further behind read the log. */
  readonly maxEvents?: number;
  readonly maxBytes?: number;
  /**
   * Reads some of the events right after a revision from the log: at least one if any exists. Throws StorageError 'compacted' if they are
   * no longer kept.
   */
  readLog(after: Revision): Promise<readonly LogEvent[]>;
}

/**
 * Delivers the committed events of a backend to any number of readers. Readers have no queues: a reader that returns takes the new events
 * from the recent batches here or, if it has fallen behind, from the log.
 */
export class EventFeed {
  private batches: (readonly LogEvent[])[] = [];
  private events = 0;
  private bytes = 0;
  private newest: Revision;
  private ended: StorageError | undefined;
  /** Broadcast when there are more events, and at the end. */
  private readonly changed = new Condition();

  constructor(private readonly options: EventFeedOptions) {
    this.newest = options.revision;
  }

  get revision(): Revision {
    return this.newest;
  }

  /** Adds the events of one commit. They must follow the newest revision without a gap. */
  push(batch: readonly LogEvent[]): void {
    const last = batch.at(-1);
    if (last === undefined) return;
    this.batches.push(batch);
    this.newest = last.revision;
    this.events += batch.length;
    this.bytes += byteCount(batch);
    const { maxEvents = 512, maxBytes = 4 << 20 } = this.options;
    let drop = 0;
    while (drop < this.batches.length - 1 && (this.events > maxEvents || this.bytes > maxBytes)) {
      const oldest = this.batches[drop++] ?? [];
      this.events -= oldest.length;
      this.bytes -= byteCount(oldest);
    }
    if (drop > 0) this.batches.splice(0, drop);
    this.changed.broadcast();
  }

  /** Continues after a revision. Readers get StorageError 'compacted' from the log, which no longer has what is between. */
  skipTo(revision: Revision): void {
    this.newest = revision;
    this.batches = [];
    this.events = 0;
    this.bytes = 0;
    this.changed.broadcast();
  }

  /** Ends the feed: every reader gets this error. */
  end(error: StorageError): void {
    this.ended = error;
    this.batches = [];
    this.changed.broadcast();
  }

  async *read(after: Revision, signal: AbortSignal): AsyncGenerator<readonly LogEvent[], void, undefined> {
    let position = after;
    while (!signal.aborted) {
      if (this.ended !== undefined) throw this.ended;
      if (position >= this.newest) {
        await this.changed.wait(signal);
        continue;
      }
      const batch = this.recent(position) ?? (await this.options.readLog(position));
      const events = contiguousAfter(position, batch);
      const last = events.at(-1);
      if (last === undefined) {
        throw new StorageError('compacted', `the events after revision ${position} are no longer kept`, {
          revision: position,
          current: this.newest,
        });
      }
      position = last.revision;
      yield events;
    }
  }

  /** Returns the events after a revision from the recent batches (the rest of one batch), or undefined if they are not kept here. */
  private recent(position: Revision): readonly LogEvent[] | undefined {
    let low = 0;
    let high = this.batches.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.batches[middle]?.at(-1)?.revision ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    const batch = this.batches[low];
    const first = batch?.[0]?.revision;
    if (batch === undefined || first === undefined || first > position + 1) return undefined;
    return first === position + 1 ? batch : batch.slice(position + 1 - first);
  }
}

/** Returns the events right after a revision, up to the first missing one: revisions have no gaps. */
export function contiguousAfter(revision: Revision, events: readonly LogEvent[]): readonly LogEvent[] {
  const hole = events.findIndex((event, i) => event.revision !== revision + 1 + i);
  return hole === -1 ? events : events.slice(0, hole);
}

function byteCount(batch: readonly LogEvent[]): number {
  let bytes = 0;
  for (const event of batch) bytes += event.object.bytes.length + (event.previous?.bytes.length ?? 0);
  return bytes;
}
