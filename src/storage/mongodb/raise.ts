import { encodeObject } from '../encode.js';
import type { Backend, Revision } from '../interfaces.js';
import { META, type LogPlace, type MetaDocument } from './documents.js';

/** Its object is written when the log has been raised. */
const RAISED = 'raises.logs.kubeannex.io';
const KEY = 'raised';

/** Whoever appends at the floor or below is overtaken, and goes on above it. */
export async function raiseFloor(place: LogPlace, revision: Revision): Promise<void> {
  await place.db
    .collection<MetaDocument>(META)
    .updateOne(
      { _id: place.compactedId },
      { $max: { revision } },
      { upsert: true, writeConcern: { w: 'majority', journal: true } },
    );
}

/** An entry above the floor, which lets every replica know. */
export async function tellOfRaise(write: Backend['write']): Promise<void> {
  const value = encodeObject({ apiVersion: 'kubeannex.io/v1', kind: 'Log', metadata: { name: KEY } });
  let expected: Revision = 0;
  for (;;) {
    const written = await write({ resource: RAISED, key: KEY, expected, value });
    if (written.outcome === 'committed') return;
    expected = written.current?.revision ?? 0;
  }
}
