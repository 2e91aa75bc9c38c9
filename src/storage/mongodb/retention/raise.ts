import type { Clock } from '../../../util/clock.js';
import type { Revision } from '../../interfaces.js';
import { batchesOf, eventsOf, FIRST_REVISION, type LogPlace } from '../documents.js';
import { isDuplicateKey } from '../connection/failures.js';
import {
  batchesAfter,
  growMeta,
  newestBatch,
  readFloor,
  readMeta,
  readProjected,
  type Batches,
  type Head,
} from '../log/read.js';
import { Backlog } from '../following/backlog.js';
import { Projector } from '../projection/projector.js';

const READ_AHEAD = 50;

/** Appends a gap, so that a log continues above a revision: replicas that follow it start over there. */
export async function appendGap(place: LogPlace, above: Revision, clock: Clock, historyMillis: number): Promise<Head> {
  for (;;) {
    const begun = clock.monotonic();
    const first = ((await newestBatch(place))?.last ?? FIRST_REVISION) + 1;
    const last = Math.max(above + 1, first);
    const time = new Date(clock.now());
    try {
      await batchesOf(place).insertOne({ _id: first, last, writer: '', batch: 0, time, entries: [] });
    } catch (error) {
      if (isDuplicateKey(error)) continue;
      throw error;
    }
    // After a longer time the revision may have been taken and trimmed. Then this gap is never seen, and another one does no harm.
    if (clock.monotonic() - begun < historyMillis / 2) return { first, last, writer: '' };
  }
}

/** Returns the revision after which there may be batches that are not projected. */
export async function projectedUpTo(place: LogPlace): Promise<Revision> {
  const [{ floor }, base, marks] = await Promise.all([
    readFloor(place),
    readMeta(place, place.baseId),
    readMeta(place, place.marksId),
  ]);
  const projected = await readProjected(place);
  const certain = Math.max(floor, base.document?.revision ?? 0, marks.document?.marks?.at(-1)?.revision ?? 0);
  let upTo = certain;
  const batches = batchesOf(place)
    .find({ _id: { $gt: certain } }, { projection: { writer: 1, last: 1 } })
    .sort({ _id: 1 });
  for await (const { _id, writer, last } of batches) {
    if (writer !== '' && _id > (projected.get(writer) ?? 0)) break;
    upTo = Math.max(upTo, last);
  }
  return upTo;
}

/** Projects all remaining batches of a log that no replica follows. */
export async function projectRest(place: LogPlace, clock: Clock): Promise<void> {
  const backlog = new Backlog(clock);
  let after = await projectedUpTo(place);
  for (const [writer, upTo] of await readProjected(place)) backlog.markProjected(writer, upTo);
  const projector = new Projector({ place, clock, backlog, writer: '' });
  let read: Batches;
  do {
    read = await batchesAfter(place, after, { limit: READ_AHEAD });
    for (const batch of read.batches) backlog.add({ first: batch._id, writer: batch.writer, events: eventsOf(batch) });
    await projector.projectAll();
    after = read.batches.at(-1)?.last ?? after;
  } while (!read.ended);
}

/** Continues a log that no replica follows above a revision, and compacts everything before. */
export async function raiseUnfollowed(
  place: LogPlace,
  above: Revision,
  clock: Clock,
  historyMillis: number,
): Promise<void> {
  const { last } = await appendGap(place, above, clock, historyMillis);
  await projectRest(place, clock);
  await growMeta(place, place.baseId, last);
}
