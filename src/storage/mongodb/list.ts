import type { ClientSession, Collection, FindCursor, MongoClient } from 'mongodb';
import { compacted, tooLarge } from '../errors.js';
import type { ListOptions, Revision, StoredList, StoredObject } from '../interfaces.js';
import { yieldNow } from '../../scheduling/slicer.js';
import { entriesOf, statesOf, storedOf, type LogPlace, type StateDocument } from './documents.js';
import type { LogDocument } from './documents.js';
import { isSnapshotLost } from './failures.js';
import { readRecord } from '../record.js';

export interface ListRequest {
  readonly client: MongoClient;
  readonly place: LogPlace;
  readonly resource: string;
  readonly options: ListOptions;
  /** What lies before is no longer kept. */
  readonly oldest: Revision;
  /** Takes the items one by one, instead of the list; of the newest revision alone. */
  visit?(item: StoredObject): void;
}

const ATTEMPTS = 5;
const BATCH = 1_000;
const LOG_BATCH = 500;

type State = Pick<StateDocument, '_id' | '_annex'>;

/** Of a key that changed after the revision of a list: its state then, and whether it exists now. */
interface Changed {
  readonly before: StoredObject | undefined;
  exists: boolean;
}

/**
 * A list at exactly one revision. All reads see one snapshot of MongoDB, whose newest log entry tells its revision; an older
 * revision is that state with the changes since taken back, which the log entries hold.
 */
export async function listAt(request: ListRequest): Promise<StoredList> {
  let visited = 0;
  const visit =
    request.visit &&
    ((item: StoredObject): void => {
      visited++;
      request.visit?.(item);
    });
  for (let attempt = 1; ; attempt++) {
    const session = request.client.startSession({ snapshot: true });
    try {
      return await new SnapshotList({ ...request, ...(visit && { visit }) }, session).read();
    } catch (error) {
      // What was visited would be visited again.
      if (!isSnapshotLost(error) || attempt >= ATTEMPTS || visited > 0) throw error;
      await yieldNow();
    } finally {
      await session.endSession();
    }
  }
}

class SnapshotList {
  private readonly snapshot: { readonly session: ClientSession; readonly readConcern: { readonly level: 'snapshot' } };

  constructor(
    private readonly request: ListRequest,
    session: ClientSession,
  ) {
    this.snapshot = { session, readConcern: { level: 'snapshot' } };
  }

  async read(): Promise<StoredList> {
    const { options, oldest } = this.request;
    const newest = await this.newest();
    const revision = options.revision === 0 ? newest : options.revision;
    if (revision > newest) throw tooLarge(revision, newest);
    // The newest state is there even where the log was raised and nothing has been written since.
    if (options.revision !== 0 && revision < oldest) throw compacted(revision, oldest);
    const changed = revision === newest ? new Map<string, Changed>() : await this.changesAfter(revision, newest);
    const { limit } = options;
    if (this.request.visit !== undefined) {
      for await (const document of this.cursor(0)) this.request.visit(storedOf(document));
      return { items: [], revision, more: false, remaining: 0 };
    }
    const states = await this.states(limit === 0 ? 0 : limit + 1 + changed.size);
    const items = merged(states, changed);
    if (limit === 0 || items.length <= limit) return { items, revision, more: false, remaining: 0 };
    const remaining = (await this.count()) + balance(changed) - limit;
    return { items: items.slice(0, limit), revision, more: true, remaining };
  }

  private async newest(): Promise<Revision> {
    const entry = await entriesOf(this.request.place).findOne(
      {},
      { sort: { _id: -1 }, projection: { _id: 1 }, ...this.snapshot },
    );
    // A log without entries begins where it is compacted.
    return entry?._id ?? this.request.oldest;
  }

  /** The keys in question that changed after a revision. */
  private async changesAfter(revision: Revision, newest: Revision): Promise<Map<string, Changed>> {
    const { place, resource, oldest } = this.request;
    const { from, to } = range(this.request.options);
    const log = entriesOf(place);
    // Each of them is needed, and trimming may have begun with this snapshot.
    const kept = await log.countDocuments({ _id: { $gt: revision } }, this.snapshot);
    if (kept !== newest - revision) throw compacted(revision, oldest);
    const changed = new Map<string, Changed>();
    const entries = log
      .find({ _id: { $gt: revision }, resource }, { ...this.snapshot, batchSize: LOG_BATCH })
      .sort({ _id: 1 })
      .project<Pick<LogDocument, 'key' | 'type' | 'previous' | 'before'>>({ key: 1, type: 1, previous: 1, before: 1 });
    for (const { key, type, previous, before } of await entries.toArray()) {
      const id = Buffer.from(key);
      if (id.compare(from) < 0 || (to !== undefined && id.compare(to) >= 0)) continue;
      const known = changed.get(key);
      const exists = type !== 'DELETED';
      if (known !== undefined) known.exists = exists;
      else changed.set(key, { before: before && { key, revision: previous, ...readRecord(before) }, exists });
    }
    return changed;
  }

  private async states(limit: number): Promise<StoredObject[]> {
    const documents = await this.cursor(limit).toArray();
    return documents.map(storedOf);
  }

  private cursor(limit: number): FindCursor<State> {
    return this.collection()
      .find(filterOf(this.request.options), { ...this.snapshot, batchSize: BATCH })
      .sort({ _id: 1 })
      .limit(limit)
      .project<State>({ _annex: 1 });
  }

  private async count(): Promise<number> {
    return this.collection().countDocuments(filterOf(this.request.options), this.snapshot);
  }

  private collection(): Collection<StateDocument> {
    return statesOf(this.request.place.db, this.request.resource);
  }
}

/** The states of then, in order: what did not change since, and what did as it was before. */
function merged(states: readonly StoredObject[], changed: ReadonlyMap<string, Changed>): StoredObject[] {
  if (changed.size === 0) return [...states];
  const items = states.filter((state) => !changed.has(state.key));
  for (const { before } of changed.values()) if (before !== undefined) items.push(before);
  const keyed = items.map((item) => ({ item, id: Buffer.from(item.key) }));
  return keyed.sort((a, b) => a.id.compare(b.id)).map(({ item }) => item);
}

/** How many more objects there were then than there are now. */
function balance(changed: ReadonlyMap<string, Changed>): number {
  let more = 0;
  for (const { before, exists } of changed.values()) more += (before === undefined ? 0 : 1) - (exists ? 1 : 0);
  return more;
}

interface Range {
  readonly from: Buffer;
  /** Exclusive; undefined: to the end. */
  readonly to: Buffer | undefined;
}

function bounds({ prefix, from }: ListOptions): { readonly from: string; readonly to: string | undefined } {
  const begin = from !== '' && Buffer.from(from).compare(Buffer.from(prefix)) > 0 ? from : prefix;
  return { from: begin, to: afterPrefix(prefix) };
}

function range(options: ListOptions): Range {
  const { from, to } = bounds(options);
  return { from: Buffer.from(from), to: to === undefined ? undefined : Buffer.from(to) };
}

function filterOf(options: ListOptions): { _id: { $gte: string; $lt?: string } } {
  const { from, to } = bounds(options);
  return { _id: to === undefined ? { $gte: from } : { $gte: from, $lt: to } };
}

/** The first string, by UTF-8 bytes, after all that start with the prefix; undefined where none is. */
function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point >= 0x10ffff) continue;
    // Surrogates are no characters of their own.
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join('') + String.fromCodePoint(next);
  }
  return undefined;
}
