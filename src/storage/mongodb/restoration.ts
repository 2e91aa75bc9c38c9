import type { Db, Document } from 'mongodb';
import { sleep, type Clock } from '../../util/clock.js';
import { StorageError } from '../errors.js';
import { messageOf } from '../../util/error-message.js';
import { batchesOf, metaOf, WRITERS, type LogPlace } from './documents.js';
import type { WriterDocument } from './commit/writers.js';

/** How often a database that is being restored is looked at. */
const LOOK_MILLIS = 1_000;
/** A restore is over when no document has been added or removed for this long. */
const QUIET_MILLIS = 10_000;

export interface RestorationOptions {
  readonly db: Db;
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Begins to use the database. */
  readonly resume: () => Promise<void>;
  /** Called with the reason why the database cannot be used, when it changes. */
  readonly waits: (reason: string) => void;
}

/** What changes while documents are added or removed. */
interface Size {
  readonly objects: unknown;
  readonly collections: unknown;
}

/** Waits until a database whose log was replaced is complete, and resumes then. Its objects and its log are restored in any order. */
export async function awaitRestore(options: RestorationOptions): Promise<void> {
  const { db, place, clock, signal, resume, waits } = options;
  let size: Size | undefined;
  let quietSince = clock.monotonic();
  let begun: unknown;
  /** Set if the database cannot be used as it is: nothing is tried again until it changes. */
  let refused = false;
  while (!signal.aborted) {
    try {
      begun ??= (await db.command({ hello: 1 }))['localTime'];
      const now = sizeOf(await db.command({ dbStats: 1 }));
      if (size?.objects !== now.objects || size?.collections !== now.collections) {
        size = now;
        quietSince = clock.monotonic();
        refused = false;
      }
      const isQuiet = clock.monotonic() - quietSince >= QUIET_MILLIS;
      if (!refused && (isQuiet || (await others(place, begun))) && (await isThere(place))) {
        await resume();
        return;
      }
      if (isQuiet && !refused)
        waits('the database has no log of Annex: restore a backup, or restart Annex to begin anew');
    } catch (error) {
      refused = error instanceof StorageError && error.code === 'unusable';
      if (refused) waits(messageOf(error));
    }
    await sleep(clock, LOOK_MILLIS, signal);
  }
}

const sizeOf = ({ objects, collections }: Document): Size => ({ objects, collections });

/** Reports whether the database is one of Annex, with a log. */
async function isThere(place: LogPlace): Promise<boolean> {
  const format = await metaOf(place.db).findOne({ _id: 'format' });
  return format !== null && (await batchesOf(place).findOne({}, { projection: { _id: 1 } })) !== null;
}

/** Reports whether another replica has begun to write to the log since, so that the database never becomes quiet. */
async function others({ db, name }: LogPlace, begun: unknown): Promise<boolean> {
  const isLater = { $expr: { $gt: ['$seen', { $add: [begun, QUIET_MILLIS] }] } };
  return (await db.collection<WriterDocument>(WRITERS).countDocuments({ log: name, ...isLater })) > 0;
}
