import type { Clock } from '../../../util/clock.js';
import type { EncodedObject, LogEvent, Revision, StoredObject } from '../../interfaces.js';
import { headId } from './known-states.js';

/** A committed batch as a replica knows it. */
export interface CommittedBatch {
  readonly first: Revision;
  readonly writer: string;
  readonly events: readonly LogEvent[];
  /** The written values, by entry, if this replica itself learned that the batch is committed. */
  readonly values?: readonly (EncodedObject | undefined)[] | undefined;
}

export interface UnprojectedBatch extends CommittedBatch {
  /** When the batch arrived, in monotonic milliseconds. */
  readonly since: number;
}

/** The batches that are not known to be projected, in order, and the states that they lead to. */
export class Backlog {
  private readonly batches = new Map<Revision, UnprojectedBatch>();
  private readonly states = new Map<string, LogEvent>();
  /** The first revision up to which the batches of each writer are known to be projected. */
  private readonly projected = new Map<string, Revision>();
  bytes = 0;

  constructor(private readonly clock: Clock) {}

  /** The first revision that is not projected; undefined if everything is. */
  get lowest(): Revision | undefined {
    return this.batches.keys().next().value;
  }

  /** How long the oldest batch has waited, in milliseconds, and how many objects are waiting. */
  get lag(): { readonly millis: number; readonly objects: number } {
    const [oldest] = this.batches.values();
    return { millis: oldest === undefined ? 0 : this.clock.monotonic() - oldest.since, objects: this.states.size };
  }

  add(batch: CommittedBatch): void {
    const { first, writer, events } = batch;
    if (events.length === 0 || first <= (this.projected.get(writer) ?? 0)) return;
    this.batches.set(first, { ...batch, since: this.clock.monotonic() });
    this.bytes += bytesOf(events);
    for (const event of events) this.states.set(headId(event.resource, event.key), event);
  }

  /** Records that a batch delivered by the log was committed by this replica. */
  setValues(first: Revision, values: NonNullable<CommittedBatch['values']>): void {
    const batch = this.batches.get(first);
    if (batch !== undefined) this.batches.set(first, { ...batch, values });
  }

  /** Returns the state of an object if its last write is not known to be projected. */
  state(resource: string, key: string): { readonly object: StoredObject | undefined } | undefined {
    const event = this.states.get(headId(resource, key));
    return event && { object: event.type === 'DELETED' ? undefined : event.object };
  }

  all(): readonly UnprojectedBatch[] {
    return [...this.batches.values()];
  }

  /** Records that all batches of a writer up to one are projected. */
  markProjected(writer: string, upTo: Revision): void {
    if (upTo <= (this.projected.get(writer) ?? 0)) return;
    this.projected.set(writer, upTo);
    for (const batch of this.all()) if (batch.writer === writer && batch.first <= upTo) this.drop(batch);
  }

  /** Forgets everything, because the log that had it is gone. */
  clear(): void {
    this.batches.clear();
    this.states.clear();
    this.projected.clear();
    this.bytes = 0;
  }

  /** Returns the first revision up to which the batches of each writer are known to be projected at the moment. */
  known(): ReadonlyMap<string, Revision> {
    return new Map(this.projected);
  }

  /** Removes a batch that is projected or void. */
  drop({ first, events }: CommittedBatch): void {
    if (!this.batches.delete(first)) return;
    this.bytes -= bytesOf(events);
    for (const event of events) {
      const id = headId(event.resource, event.key);
      if (this.states.get(id) === event) this.states.delete(id);
    }
  }
}

function bytesOf(events: readonly LogEvent[]): number {
  return events.reduce((sum, { object }) => sum + object.bytes.length, 0);
}
