import { Slicer } from '../../../scheduling/slicer.js';
import type { Clock } from '../../../util/clock.js';
import type { Revision } from '../../interfaces.js';
import type {
  DeletedList,
  DeletedOptions,
  KeptContent,
  KeptEntry,
  KeptHistory,
  KeptList,
  KeptListOptions,
  KeptPolicy,
  KeptUsage,
  Operation,
  PolicyState,
} from '../../kept/interfaces.js';
import { dueAt } from '../../kept/policies.js';
import type { PurgeTime } from '../../kept/purge-time.js';
import { readRecord } from '../../record.js';
import { authorOf, isIntact, readHeader, type EntryHeader } from '../entry.js';
import { afterPrefix, keyRevision, objectKey, type Environment } from '../environment.js';
import { agesOf, Removal, type Purger } from './purger.js';
import { DELETION, historyKey, historyRevision, isPurged, PURGED, readRow, SUPERSEDED } from './rows.js';
import type { KeptTypes } from './types.js';

export interface EmbeddedHistoryOptions {
  readonly environment: Environment;
  readonly types: KeptTypes;
  readonly purger: Purger;
  readonly time: PurgeTime;
  readonly clock: Clock;
  revision(): Revision;
  /** Returns the revision up to which the log is trimmed, as of the last `refresh`. */
  removed(): Revision;
  /** Runs some work between commits. */
  between(work: () => Promise<void>): Promise<void>;
}

const OPERATIONS: Readonly<Record<EntryHeader['type'], Operation>> = {
  ADDED: 'Create',
  MODIFIED: 'Update',
  DELETED: 'Delete',
};
/** The number of rows read between two looks at the clock. */
const STEP = 100;

/** The history of an embedded store: the log above the revision up to which it is trimmed, and the tables of the history below. */
export class EmbeddedHistory implements KeptHistory {
  constructor(private readonly options: EmbeddedHistoryOptions) {}

  async list(options: KeptListOptions): Promise<KeptList> {
    const { environment, clock } = this.options;
    const { order, limit } = options;
    const newest = this.options.revision();
    const revision = options.upTo === 0 ? newest : Math.min(options.upTo, newest);
    const entries: KeptEntry[] = [];
    let [low, high] = [options.after, revision];
    const slicer = new Slicer(clock);
    // One more tells whether there are more.
    while (low < high && entries.length <= limit) {
      environment.refresh();
      let count = 0;
      let reached: Revision | undefined;
      for (const { at, read } of this.rows(options, low, high)) {
        reached = at;
        const entry = read();
        if (entry !== undefined && isSelected(entry, options)) entries.push(entry);
        if (entries.length > limit || (++count % STEP === 0 && slicer.isExhausted)) break;
        reached = undefined;
      }
      if (reached === undefined) break;
      if (order === 'oldest first') low = reached;
      else high = reached - 1;
      if (entries.length <= limit) await slicer.yield();
    }
    return { entries: entries.slice(0, limit), revision, more: entries.length > limit };
  }

  /** Yields the rows of one state of the store, in order; must be consumed in one turn of the event loop. */
  private *rows(
    { resource, order }: KeptListOptions,
    low: Revision,
    high: Revision,
  ): Generator<{ readonly at: Revision; readonly read: () => KeptEntry | undefined }, void, undefined> {
    const removed = this.options.removed();
    const parts = [
      () => this.kept(resource, low, Math.min(high, removed), order),
      () => this.window(Math.max(low, removed), high, order),
    ];
    if (order === 'newest first') parts.reverse();
    for (const part of parts) yield* part();
  }

  private *window(
    after: Revision,
    upTo: Revision,
    order: KeptListOptions['order'],
  ): ReturnType<EmbeddedHistory['rows']> {
    const { environment } = this.options;
    if (after >= upTo) return;
    const rows = order === 'oldest first' ? environment.entriesAfter(after) : environment.entriesDown(upTo, after);
    for (const { revision: at, entry } of rows) {
      if (at > upTo) return;
      yield { at, read: () => this.fromLog(at, entry) };
    }
  }

  /** Merges the rows of the types. */
  private *kept(
    resource: string | undefined,
    after: Revision,
    upTo: Revision,
    order: KeptListOptions['order'],
  ): ReturnType<EmbeddedHistory['rows']> {
    if (after >= upTo) return;
    const { environment, types } = this.options;
    const reverse = order === 'newest first';
    const all = (resource === undefined ? types.names : [resource]).map((name) => {
      const [first, last] = [historyKey(name, after + 1), historyKey(name, upTo)];
      const range = reverse
        ? environment.rows('history', last, historyKey(name, after), { reverse })
        : environment.rows('history', first, historyKey(name, upTo + 1));
      return { name, range, next: range.next() };
    });
    for (;;) {
      let best: (typeof all)[number] | undefined;
      for (const cursor of all) {
        if (cursor.next.done === true) continue;
        if (best?.next.done !== false) best = cursor;
        else {
          const [a, b] = [historyRevision(cursor.next.value.key), historyRevision(best.next.value.key)];
          if (reverse ? a > b : a < b) best = cursor;
        }
      }
      if (best?.next.done !== false) return;
      const { name } = best;
      const { key, value } = best.next.value;
      const at = historyRevision(key);
      yield { at, read: () => this.fromHistory(name, at, value) };
      best.next = best.range.next();
    }
  }

  entry(resource: string, key: string, revision: Revision): Promise<KeptEntry | undefined> {
    const found = this.at(resource, revision);
    return Promise.resolve(found?.key === key && found.resource === resource ? found : undefined);
  }

  /** Returns the entry of a revision as `list` would show it. */
  private at(resource: string, revision: Revision): KeptEntry | undefined {
    const { environment } = this.options;
    environment.refresh();
    if (revision > this.options.revision()) return undefined;
    if (revision > this.options.removed()) {
      const entry = environment.entry(revision);
      return entry && this.fromLog(revision, entry);
    }
    const row = environment.row('history', historyKey(resource, revision));
    return row && this.fromHistory(resource, revision, row);
  }

  content(resource: string, key: string, revision: Revision): Promise<KeptContent | undefined> {
    const { environment } = this.options;
    environment.refresh();
    const row = environment.row('history', historyKey(resource, revision));
    const kept = row && this.fromHistory(resource, revision, row);
    if (kept !== undefined)
      return Promise.resolve(kept.key === key && kept.operation !== 'Delete' ? kept.content : undefined);
    const entry = isPurged(row) || revision > this.options.revision() ? undefined : environment.entry(revision);
    if (entry === undefined) return Promise.resolve(undefined);
    const header = readHeader(entry, revision);
    const isIt = header.resource === resource && header.key === key && header.type !== 'DELETED';
    return Promise.resolve(isIt ? contentOf(revision, entry, header) : undefined);
  }

  async deleted(resource: string, options: DeletedOptions): Promise<DeletedList> {
    const { environment, clock } = this.options;
    const { prefix, keys, from, limit } = options;
    const revision = this.options.revision();
    const entries: KeptEntry[] = [];
    const slicer = new Slicer(clock);
    const base = objectKey(resource, prefix);
    const end = afterPrefix(base);
    const start = objectKey(resource, from);
    let cursor: Buffer | undefined = start.compare(base) > 0 ? start : base;
    const wanted = keys?.map((key) => objectKey(resource, key)).sort((a, b) => a.compare(b));
    while (cursor !== undefined && entries.length <= limit) {
      environment.refresh();
      let count = 0;
      let last: Buffer | undefined;
      const rows: Iterable<{ readonly key: Buffer; readonly value: Buffer }> =
        wanted === undefined ? environment.rows('deleted', cursor, end) : this.wanted(wanted, cursor, end);
      for (const { key: id, value } of rows) {
        last = id;
        const entry = this.trashed(resource, id, keyRevision(value), options.since);
        if (entry !== undefined && entry.revision <= revision) entries.push(entry);
        if (entries.length > limit || (++count % STEP === 0 && slicer.isExhausted)) break;
        last = undefined;
      }
      cursor = last && Buffer.concat([last, Buffer.from([0])]);
      if (cursor !== undefined && entries.length <= limit) await slicer.yield();
    }
    return { entries: entries.slice(0, limit), revision, more: entries.length > limit };
  }

  private *wanted(
    keys: readonly Buffer[],
    from: Buffer,
    end: Buffer,
  ): Generator<{ readonly key: Buffer; readonly value: Buffer }, void, undefined> {
    for (const key of keys) {
      if (key.compare(from) < 0 || key.compare(end) >= 0) continue;
      const value = this.options.environment.row('deleted', key);
      if (value !== undefined) yield { key, value };
    }
  }

  /** Returns the deletion of an object that is gone, if it can be brought back. */
  private trashed(resource: string, id: Buffer, revision: Revision, since: number): KeptEntry | undefined {
    const { environment, types, time } = this.options;
    if (environment.objectRevision(id) !== 0) return undefined;
    const row =
      revision > this.options.removed() ? undefined : environment.row('history', historyKey(resource, revision));
    const logged = row === undefined ? environment.entry(revision) : undefined;
    const entry = row ? this.fromHistory(resource, revision, row) : logged && this.fromLog(revision, logged);
    if (entry === undefined || entry.time < since) return undefined;
    const policy = types.policyFor(resource, time.now, entry.content.bytes);
    return time.now < dueAt({ deletion: true, at: entry.time }, policy) ? entry : undefined;
  }

  private fromHistory(resource: string, revision: Revision, row: Buffer): KeptEntry | undefined {
    return readRow(resource, revision, row, (_key, at) => this.logged(at));
  }

  private fromLog(revision: Revision, entry: Buffer): KeptEntry | undefined {
    const header = readHeader(entry, revision);
    const { type, resource, key, previous, time } = header;
    const { purged } = this.options.types.of(resource);
    if (purged > 0 && isPurged(this.options.environment.row('history', historyKey(resource, revision))))
      return undefined;
    const content = type === 'DELETED' ? this.logged(previous) : contentOf(revision, entry, header);
    if (content === undefined) return undefined;
    const author = authorOf(entry, header);
    return { resource, key, revision, operation: OPERATIONS[type], time, author, previous, content };
  }

  /** Returns a state that is in the log. */
  private logged(revision: Revision): KeptContent | undefined {
    const entry = this.options.environment.entry(revision);
    return entry && contentOf(revision, entry, readHeader(entry, revision));
  }

  types(): Promise<readonly string[]> {
    const { types } = this.options;
    return Promise.resolve(
      types.names.filter((resource) => {
        const { revisions, deleted, current } = types.of(resource);
        return revisions.count + deleted.count + current > 0;
      }),
    );
  }

  usage(resource: string): Promise<KeptUsage> {
    const { environment, types, purger, time } = this.options;
    environment.refresh();
    const { revisions, deleted, cutAt } = types.of(resource);
    const oldest = (kind: number): number | undefined => {
      for (const { at } of agesOf(environment, resource, kind)) return at;
      return undefined;
    };
    return Promise.resolve({
      revisions: { ...revisions, oldest: oldest(SUPERSEDED) },
      deleted: { ...deleted, oldest: oldest(DELETION) },
      pending: purger.pending(resource, time.now),
      cutAt,
    });
  }

  policy(resource: string): Promise<PolicyState> {
    return Promise.resolve(this.options.types.stateOf(resource, this.options.time.now));
  }

  setPolicy(resource: string, policy: KeptPolicy | undefined): Promise<void> {
    const { types, purger, clock, time } = this.options;
    return this.options.between(async () => {
      await types.setPolicy(resource, policy, Math.max(clock.now(), time.now));
      purger.sweep(resource);
    });
  }

  async purge(resource: string, keys: readonly string[] | undefined): Promise<number> {
    const newest = this.options.revision();
    const wanted = keys && new Set(keys);
    const waiting = await this.supersededInWindow(resource, wanted, newest);
    let gone = 0;
    let removal: Removal;
    do {
      removal = await this.purgeSome(resource, { waiting, wanted, newest });
      gone += removal.count;
    } while (removal.isFull || waiting.length > 0);
    return gone;
  }

  private async purgeSome(
    resource: string,
    { waiting, wanted, newest }: { waiting: Revision[]; wanted: ReadonlySet<string> | undefined; newest: Revision },
  ): Promise<Removal> {
    const { environment, types } = this.options;
    const removal = new Removal(environment, types);
    await this.options.between(async () => {
      environment.refresh();
      while (waiting.length > 0 && !removal.isFull) this.placehold(removal, resource, waiting.pop() ?? 0);
      // What has left the window meanwhile is found here, so this comes last.
      if (waiting.length === 0) this.takeAll(removal, resource, wanted, newest);
      await removal.commit();
    });
    return removal;
  }

  /** Returns the revisions in the window whose states are superseded, or which are deletions. */
  private async supersededInWindow(
    resource: string,
    keys: ReadonlySet<string> | undefined,
    upTo: Revision,
  ): Promise<Revision[]> {
    const { environment, clock } = this.options;
    const found: Revision[] = [];
    const slicer = new Slicer(clock);
    let from = 0;
    for (let more = true; more;) {
      environment.refresh();
      from = Math.max(from, this.options.removed());
      more = false;
      for (const { revision, entry } of environment.entriesAfter(from)) {
        if (revision > upTo) break;
        from = revision;
        const header = readHeader(entry, revision);
        if (header.resource === resource && (keys?.has(header.key) ?? true)) {
          if (header.previous !== 0) found.push(header.previous);
          if (header.type === 'DELETED') found.push(revision);
        }
        more = revision % STEP === 0 && slicer.isExhausted;
        if (more) break;
      }
      if (more) await slicer.yield();
    }
    return found;
  }

  /** Puts a placeholder for a state that is still in the log, so that it is not moved. */
  private placehold(removal: Removal, resource: string, revision: Revision): void {
    const { environment } = this.options;
    const key = historyKey(resource, revision);
    const row = environment.row('history', key);
    // A row of a current state, which has been superseded in the window, gives way.
    if (isPurged(row) || environment.entry(revision) === undefined) return;
    removal.add({ table: 'history', key, value: PURGED });
    removal.changes.set(resource, { purged: removal.changes.of(resource).purged + 1 });
  }

  private takeAll(removal: Removal, resource: string, keys: ReadonlySet<string> | undefined, upTo: Revision): void {
    const take = (rows: Iterable<ReturnType<Removal['of']>[number]>): void => {
      for (const row of rows) if (row.by <= upTo && !removal.isFull) removal.take(row);
    };
    if (keys === undefined) for (const kind of [SUPERSEDED, DELETION]) take(removal.oldest(resource, kind));
    else for (const key of keys) take(removal.of(resource, key));
  }
}

const contentOf = (revision: Revision, entry: Buffer, { offset }: EntryHeader): KeptContent =>
  isIntact(entry)
    ? { revision, ...readRecord(entry, offset) }
    : { revision, bytes: new Uint8Array(), flags: 0, unreadable: `the record of revision ${revision} is damaged` };

const isSelected = (
  { resource, key, operation }: KeptEntry,
  options: Pick<KeptListOptions, 'resource' | 'prefix' | 'key' | 'operations'>,
): boolean =>
  (options.resource === undefined || resource === options.resource) &&
  key.startsWith(options.prefix) &&
  (options.key === undefined || key === options.key) &&
  (options.operations?.includes(operation) ?? true);
