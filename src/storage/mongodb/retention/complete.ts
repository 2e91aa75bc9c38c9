import type { Clock } from '../../../util/clock.js';
import { StorageError } from '../../errors.js';
import type { Revision } from '../../interfaces.js';
import { MARKS } from '../../verified-marks.js';
import {
  eventsOf,
  HELD,
  MAIN_LOG,
  META,
  metaOf,
  projectedId,
  REPLICAS,
  stateCollection,
  statesOf,
  WRITERS,
  type LogPlace,
} from '../documents.js';
import { batchesAfter, growMeta, newestRevision, type Batches } from '../log/read.js';
import { project } from '../projection/write.js';
import { appendGap } from './raise.js';

const READ_AHEAD = 50;
/** The number of collections that are searched at the same time. */
const CONCURRENT = 4;
/** Collections that are not the objects of a type. */
const OTHERS: ReadonlySet<string> = new Set([META, WRITERS, HELD, REPLICAS, 'log']);
const NO_TYPE = /^(?:~copy\.|system\.|log\.[^.]+$)/;
/** The type that holds the identity of a log (src/storage/log-identity.ts). */
const IDENTITY = /^logs\.(.+)\.kubeannex\.io$/;

/** Something that only a commit makes, at a revision that the log does not have. */
interface Ahead {
  /** A collection, or a document of META. */
  readonly where: string;
  readonly revision: Revision;
}

export interface CompletenessOptions {
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly historyMillis: number;
  /** The types whose log is not the main one. */
  readonly overrides: ReadonlyMap<string, string>;
  /** The log may be continued although objects up to this revision are newer. */
  readonly continueAbove: Revision;
}

type TypesOfLog = Pick<CompletenessOptions, 'place' | 'overrides'>;

/**
 * Checks that a log is not older than its objects: everything is committed before it is projected, so only a restore or a deletion makes
 * it so. Throws StorageError 'unusable' then, unless the operator has accepted it: new batches would have revisions that objects have
 * already passed, and would never be projected.
 */
export async function requireCompleteLog(options: CompletenessOptions): Promise<void> {
  const { place, clock, historyMillis } = options;
  const above = await checkCompleteLog(options);
  if (above === undefined) return;
  await projectEverything(place);
  // The objects may be older than the marks about them.
  if (place.name === MAIN_LOG) await statesOf(place.db, MARKS).deleteMany({});
  const { last } = await appendGap(place, above, clock, historyMillis);
  await growMeta(place, place.baseId, last);
}

/** Like `requireCompleteLog`, but changes nothing. Returns the revision above which the log must continue if the operator has accepted that. */
export async function checkCompleteLog(
  options: Pick<CompletenessOptions, 'place' | 'overrides' | 'continueAbove'>,
): Promise<Revision | undefined> {
  const { place, continueAbove } = options;
  const guess = await newestRevision(place);
  const ahead = newestOf([...(await aheadInTypes(options, guess)), ...(await aheadInMeta(place, guess))]);
  if (ahead === undefined) return undefined;
  // In this order: whatever was found is in the log by now, if it was committed.
  const newest = await newestRevision(place);
  if (ahead.revision <= newest) return undefined;
  if (ahead.revision > continueAbove) throw refusal(place, newest, ahead);
  return ahead.revision;
}

function refusal({ db, collection }: LogPlace, newest: Revision, { where, revision }: Ahead): StorageError {
  return new StorageError(
    'unusable',
    `the MongoDB database ${db.databaseName} cannot be used: ${collection} ends at revision ${newest}, but ${where} has revision ${revision}, ` +
      `so the log was dropped or a backup without the oplog was restored: restore a complete backup, ` +
      `or set --mongodb-continue-above=${revision} to keep the objects as they are, without the writes that only the log had`,
  );
}

function newestOf(all: readonly Ahead[]): Ahead | undefined {
  return all.reduce<Ahead | undefined>((a, b) => (a === undefined || b.revision > a.revision ? b : a), undefined);
}

async function aheadInMeta(place: LogPlace, newest: Revision): Promise<Ahead[]> {
  const { db, name, floorId, baseId, marksId } = place;
  const facts = await metaOf(db)
    .find({ $or: [{ _id: { $in: [floorId, baseId, marksId] } }, { _id: projectedPattern, log: name }] })
    .toArray();
  return facts
    .map(({ _id, revision = 0, marks = [] }) => ({
      where: `${META} (${_id})`,
      revision: Math.max(revision, ...marks.map((mark) => mark.revision)),
    }))
    .filter(({ revision }) => revision > newest);
}

const projectedPattern = new RegExp(`^${projectedId('').replaceAll('.', '\\.')}`);

async function aheadInTypes(options: TypesOfLog, newest: Revision): Promise<Ahead[]> {
  const { db } = options.place;
  const all = await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray();
  const names = all.map(({ name }) => name).filter((name) => isOrderedBy(options, name));
  const found: Ahead[] = [];
  const search = async (): Promise<void> => {
    for (let where = names.pop(); where !== undefined; where = names.pop()) {
      const [max] = await db
        .collection(where)
        .aggregate([
          { $match: { '_annex.revision': { $gt: newest } } },
          { $group: { _id: null, revision: { $max: '$_annex.revision' } } },
        ])
        .toArray();
      if (max !== undefined) found.push({ where, revision: max['revision'] as Revision });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, search));
  return found;
}

/** Reports whether a collection has the objects of a type. */
export const isCollectionOfType = (collection: string): boolean => !OTHERS.has(collection) && !NO_TYPE.test(collection);

/** Reports whether a collection has the objects of a type that a log orders. */
function isOrderedBy({ place, overrides }: TypesOfLog, collection: string): boolean {
  if (!isCollectionOfType(collection)) return false;
  const [, identified] = IDENTITY.exec(collection) ?? [];
  if (identified !== undefined) return (identified === 'main' ? MAIN_LOG : identified) === place.name;
  const [, log = MAIN_LOG] = [...overrides].find(([resource]) => stateCollection(resource) === collection) ?? [];
  return log === place.name;
}

/** Projects all batches of a log, whatever META says: the objects may be older than it. No object goes back. */
async function projectEverything(place: LogPlace): Promise<void> {
  let after: Revision = 0;
  let read: Batches;
  do {
    read = await batchesAfter(place, after, { limit: READ_AHEAD });
    const committed = read.batches.map((batch) => ({
      first: batch._id,
      writer: batch.writer,
      events: eventsOf(batch),
    }));
    await project(place.db, committed);
    after = read.batches.at(-1)?._id ?? after;
  } while (!read.ended);
}
