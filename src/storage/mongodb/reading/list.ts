import type { ClientSession, Collection, FindCursor, MongoClient } from 'mongodb';
import { compacted, tooLarge } from '../../errors.js';
import type { ListOptions, Revision, StoredList, StoredObject } from '../../interfaces.js';
import { sleep, type Clock } from '../../../util/clock.js';
import {
  batchesOf,
  eventsOf,
  FIRST_REVISION,
  LIVING,
  metaOf,
  statesOf,
  storedOf,
  type LogPlace,
  type StateDocument,
} from '../documents.js';
import { isSnapshotLost } from '../connection/failures.js';
import { firstOf, readProjected } from '../log/read.js';
import type { LogFollower } from '../following/follower.js';
import type { Backlog } from '../following/backlog.js';

export interface ListRequest {
  readonly client: MongoClient;
  readonly place: LogPlace;
  readonly clock: Clock;
  readonly backlog: Pick<Backlog, 'known' | 'lowest'>;
  readonly follower: Pick<LogFollower, 'revision'>;
  readonly resource: string;
  readonly options: ListOptions;
  /** The oldest revision that is kept. */
  readonly oldest: Revision;
  /** Receives the items one by one, instead of the list; for the newest revision only. */
  visit?(item: StoredObject): void;
}

const ATTEMPTS = 8;
const PAUSE_MILLIS = 10;
const BATCH = 1_000;
const LOG_BATCH = 100;

type State = Pick<StateDocument, '_id' | '_annex'>;

/** An object whose state comes from the log and not from the projection; undefined if it does not exist. */
export interface LoggedState {
  readonly id: Buffer;
  readonly object: StoredObject | undefined;
}

/** Thrown if, after an election, a snapshot is older than what was read before. */
class StaleSnapshotError extends Error {}

/**
 * Lists at exactly one revision. All reads see one snapshot of MongoDB, whose newest batch determines its revision: the projection,
 * overlaid with the log entries that it lacks. An older revision is that state with the later changes undone, which the log holds.
 */
export async function listAt(request: ListRequest): Promise<StoredList> {
  for (let attempt = 1; ; attempt++) {
    const session = request.client.startSession({ snapshot: true });
    const list = new SnapshotList(request, session);
    try {
      return await list.read();
    } catch (error) {
      const isTransient = isSnapshotLost(error) || error instanceof StaleSnapshotError;
      // Visited items would be visited again.
      if (!isTransient || attempt >= ATTEMPTS || list.hasVisited) throw error;
      await sleep(request.clock, PAUSE_MILLIS * attempt);
    } finally {
      await session.endSession();
    }
  }
}

class SnapshotList {
  /** True once an item was passed to the visitor. */
  hasVisited = false;
  private readonly snapshot: { readonly session: ClientSession; readonly readConcern: { readonly level: 'snapshot' } };

  constructor(
    private readonly request: ListRequest,
    session: ClientSession,
  ) {
    this.snapshot = { session, readConcern: { level: 'snapshot' } };
  }

  async read(): Promise<StoredList> {
    const { options, oldest, backlog, follower } = this.request;
    // Everything before is projected, and the snapshot, which is newer, includes it.
    const lowest = backlog.lowest ?? follower.revision + 1;
    const { newest, kept } = await this.bounds(backlog.known());
    const revision = options.revision === 0 ? newest : options.revision;
    if (revision > newest) throw tooLarge(revision, newest);
    // The newest state exists even if the log was raised and nothing has been written since.
    const readable = Math.max(oldest, kept);
    if (options.revision !== 0 && revision < readable) throw compacted(revision, readable);
    const logged = await this.statesFromLog(Math.max(Math.min(lowest, revision + 1), kept + 1), revision, newest);
    const { limit } = options;
    const items: StoredObject[] = [];
    const merge = new Merge(logged, (item) => {
      if (this.request.visit === undefined) items.push(item);
      else {
        this.hasVisited = true;
        this.request.visit(item);
      }
    });
    const cursor = this.cursor(limit === 0 ? 0 : limit + 1 + logged.size);
    while (await cursor.hasNext()) for (const state of cursor.readBufferedDocuments()) merge.take(state);
    merge.end();
    if (limit === 0 || items.length <= limit) return { items, revision, more: false, remaining: 0 };
    return { items: items.slice(0, limit), revision, more: true, remaining: (await this.count(logged)) - limit };
  }

  /** Returns the newest revision, and the revision up to which log entries must not be used. */
  private async bounds(known: ReadonlyMap<string, Revision>): Promise<{ newest: Revision; kept: Revision }> {
    const { place } = this.request;
    const newest = await batchesOf(place).findOne({}, { sort: { _id: -1 }, projection: { last: 1 }, ...this.snapshot });
    const facts = await metaOf(place.db)
      .find({ _id: { $in: [place.floorId, place.baseId] } }, this.snapshot)
      .toArray();
    const revisionOf = (id: string): Revision => facts.find(({ _id }) => _id === id)?.revision ?? 0;
    const floor = revisionOf(place.floorId);
    const projected = await readProjected(place, this.snapshot);
    for (const [writer, upTo] of known)
      if (upTo > floor && upTo > (projected.get(writer) ?? 0)) throw new StaleSnapshotError();
    return { newest: newest?.last ?? FIRST_REVISION, kept: Math.max(floor, revisionOf(place.baseId)) };
  }

  /** Returns the states of objects at `revision` according to the log, for those that it has changed from `from` on. */
  private async statesFromLog(from: Revision, revision: Revision, newest: Revision): Promise<Map<string, LoggedState>> {
    const states = new Map<string, LoggedState>();
    if (from > newest) return states;
    const { place, resource } = this.request;
    const { from: begin, to: end } = range(this.request.options);
    const log = batchesOf(place);
    const first = await firstOf(place, from, this.snapshot);
    const changes = log
      .find({ _id: { $gte: first }, 'entries.resource': resource }, { ...this.snapshot, batchSize: LOG_BATCH })
      .sort({ _id: 1 });
    for await (const batch of changes) {
      for (const event of eventsOf(batch, from)) {
        const id = Buffer.from(event.key);
        if (event.resource !== resource || id.compare(begin) < 0 || (end !== undefined && id.compare(end) >= 0))
          continue;
        if (event.revision > revision) {
          if (!states.has(event.key)) states.set(event.key, { id, object: event.previous });
        } else states.set(event.key, { id, object: event.type === 'DELETED' ? undefined : event.object });
      }
    }
    return states;
  }

  private cursor(limit: number): FindCursor<State> {
    return this.collection()
      .find({ _id: filterOf(this.request.options), ...LIVING }, { ...this.snapshot, batchSize: BATCH })
      .sort({ _id: 1 })
      .limit(limit)
      .project<State>({ _annex: 1 });
  }

  private async count(logged: ReadonlyMap<string, LoggedState>): Promise<number> {
    const others = { ...filterOf(this.request.options), $nin: [...logged.keys()] };
    const there = [...logged.values()].filter(({ object }) => object !== undefined).length;
    return there + (await this.collection().countDocuments({ _id: others, ...LIVING }, this.snapshot));
  }

  private collection(): Collection<StateDocument> {
    return statesOf(this.request.place.db, this.request.resource);
  }
}

/** Delivers objects in the order of their keys; the log takes precedence over the projection. */
export class Merge {
  private readonly others: readonly LoggedState[];
  private at = 0;

  constructor(
    private readonly logged: ReadonlyMap<string, LoggedState>,
    private readonly give: (item: StoredObject) => void,
  ) {
    this.others = [...logged.values()].sort((a, b) => a.id.compare(b.id));
  }

  take(state: State): void {
    if (this.at < this.others.length) this.emitLoggedBefore(Buffer.from(state._id));
    const stored = this.logged.has(state._id) ? undefined : storedOf(state);
    if (stored !== undefined) this.give(stored);
  }

  end(): void {
    this.emitLoggedBefore(undefined);
  }

  /** Delivers the objects of the log before a key (exclusive), or all remaining ones if undefined. */
  private emitLoggedBefore(id: Buffer | undefined): void {
    for (let other = this.others[this.at]; other !== undefined; other = this.others[this.at]) {
      if (id !== undefined && other.id.compare(id) >= 0) return;
      this.at++;
      if (other.object !== undefined) this.give(other.object);
    }
  }
}

interface Range {
  readonly from: Buffer;
  /** The end (exclusive); undefined if there is none. */
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

function filterOf(options: ListOptions): { $gte: string; $lt?: string } {
  const { from, to } = bounds(options);
  return to === undefined ? { $gte: from } : { $gte: from, $lt: to };
}

/** Returns the first string, by UTF-8 bytes, after all strings with the prefix, or undefined if there is none. */
function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point >= 0x10ffff) continue;
    // Surrogates are not characters.
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return points.join('') + String.fromCodePoint(next);
  }
  return undefined;
}
