import type { ClientSession } from 'mongodb';
import { compacted } from '../../errors.js';
import type { LogEvent, Revision } from '../../interfaces.js';
import { batchesOf, eventsOf, FIRST_REVISION, metaOf, type LogPlace } from '../documents.js';
import { firstOf, readProjected } from '../log/read.js';
import type { LoggedState } from '../reading/list.js';

const LOG_BATCH = 100;

/** The options of reads that see one snapshot. */
export interface SnapshotReads {
  readonly session: ClientSession;
  readonly readConcern: { readonly level: 'snapshot' };
}

/** The states of objects that come from a log and not from the projection, by type and key. */
export type LoggedTypes = Map<string, Map<string, LoggedState>>;

/** Adds the states at a revision that the projection in a snapshot does not show, by the log: at the newest one if `at` is absent. */
export async function loggedStates(
  place: LogPlace,
  reads: SnapshotReads,
  { at, into }: { readonly at: Revision | undefined; readonly into: LoggedTypes },
): Promise<{ readonly newest: Revision; readonly revision: Revision }> {
  const { newest, kept, projected } = await boundsOf(place, reads);
  const revision = at ?? newest;
  if (revision < kept) throw compacted(revision, kept);
  const from = Math.max(Math.min(projected, revision) + 1, kept + 1);
  if (from > newest) return { newest, revision };
  const first = await firstOf(place, from, reads);
  const batches = batchesOf(place)
    .find({ _id: { $gte: first } }, { ...reads, batchSize: LOG_BATCH })
    .sort({ _id: 1 });
  for await (const batch of batches) for (const event of eventsOf(batch, from)) take(into, event, revision);
  return { newest, revision };
}

function take(types: LoggedTypes, event: LogEvent, revision: Revision): void {
  const { resource, key, type, object, previous } = event;
  let states = types.get(resource);
  if (states === undefined) types.set(resource, (states = new Map<string, LoggedState>()));
  const id = Buffer.from(key);
  if (event.revision <= revision) states.set(key, { id, object: type === 'DELETED' ? undefined : object });
  else if (!states.has(key)) states.set(key, { id, object: previous });
}

interface Bounds {
  readonly newest: Revision;
  /** Log entries up to here must not be used. */
  readonly kept: Revision;
  /** Everything up to here is projected. */
  readonly projected: Revision;
}

async function boundsOf(place: LogPlace, reads: SnapshotReads): Promise<Bounds> {
  const last = await batchesOf(place).findOne({}, { sort: { _id: -1 }, projection: { last: 1 }, ...reads });
  const facts = await metaOf(place.db)
    .find({ _id: { $in: [place.floorId, place.baseId, place.marksId] } }, reads)
    .toArray();
  const fact = (id: string) => facts.find(({ _id }) => _id === id);
  const kept = Math.max(fact(place.floorId)?.revision ?? 0, fact(place.baseId)?.revision ?? 0);
  const writers = await readProjected(place, reads);
  let projected = Math.max(kept, fact(place.marksId)?.marks?.at(-1)?.revision ?? 0);
  const batches = batchesOf(place)
    .find({ _id: { $gt: projected } }, { ...reads, projection: { writer: 1, last: 1 } })
    .sort({ _id: 1 });
  for await (const { _id, writer, last: end } of batches) {
    if (writer !== '' && _id > (writers.get(writer) ?? 0)) break;
    projected = Math.max(projected, end);
  }
  return { newest: last?.last ?? FIRST_REVISION, kept, projected };
}
