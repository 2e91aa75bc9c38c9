import type { Clock } from '../../../util/clock.js';
import type { EncodedObject, LogEvent, Revision, StoredObject } from '../../interfaces.js';
import { headId } from './known-states.js';

/** A committed batch as a replica has it. */
export interface CommittedBatch {
  readonly first: Revision;
  readonly writer: string;
  readonly events: readonly LogEvent[];
  /** Where this replica has heard itself that the batch is committed: what was written, by entry. */
  readonly values?: readonly (EncodedObject | undefined)[] | undefined;
}

export interface Waiting extends CommittedBatch {
  /** When it came, in monotonic milliseconds. */
  readonly since: number;
}

/** The batches that are not known to be projected, in order, and the states that they lead to. */
export class Backlog {
  private readonly batches = new Map<Revision, Waiting>();
  private readonly states = new Map<string, LogEvent>();
  /** Up to which first revision the batches of each writer are known to be projected. */
  private readonly projected = new Map<string, Revision>();
  bytes = 0;

  constructor(private readonly clock: Clock) {}

  /** The first revision that is not projected; undefined: all is. */
  get lowest(): Revision | undefined {
    return this.batches.keys().next().value;
  }

  /** For how long the oldest has waited, in milliseconds, and how many objects do. */
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

  /** A batch that came by the log was committed by this replica. */
  hear(first: Revision, values: NonNullable<CommittedBatch['values']>): void {
    const batch = this.batches.get(first);
    if (batch !== undefined) this.batches.set(first, { ...batch, values });
  }

  /** An object whose last write is not known to be projected. */
  state(resource: string, key: string): { readonly object: StoredObject | undefined } | undefined {
    const event = this.states.get(headId(resource, key));
    return event && { object: event.type === 'DELETED' ? undefined : event.object };
  }

  all(): readonly Waiting[] {
    return [...this.batches.values()];
  }

  /** All batches of a writer up to one are projected. */
  settle(writer: string, upTo: Revision): void {
    if (upTo <= (this.projected.get(writer) ?? 0)) return;
    this.projected.set(writer, upTo);
    for (const batch of this.all()) if (batch.writer === writer && batch.first <= upTo) this.drop(batch);
  }

  /** Up to which first revision the batches of each writer are known to be projected at the moment. */
  known(): ReadonlyMap<string, Revision> {
    return new Map(this.projected);
  }

  /** It is void. */
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
