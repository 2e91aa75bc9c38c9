import type { Collection } from 'mongodb';
import type { Clock } from '../../util/clock.js';
import type { Database } from './connection/connection.js';
import { StorageError } from '../errors.js';
import {
  FIRST_REVISION,
  logPlace,
  MAIN_LOG,
  metaOf,
  WRITERS,
  type LogOverride,
  type MetaDocument,
} from './documents.js';
import { isDuplicateKey } from './connection/failures.js';
import type { WriterDocument } from './commit/writers.js';
import { newestRevision } from './log/read.js';
import { projectRest, raiseUnfollowed } from './retention/raise.js';

/** The id in META of the layout. */
export const LAYOUT = 'logs';
/** A server that has not announced itself for this long is gone. */
export const GONE_MILLIS = 150_000;
const ATTEMPTS = 5;

export interface LayoutOptions extends Database {
  readonly database: string;
  readonly clock: Clock;
  readonly historyMillis: number;
  /** The types with logs of their own, as set by flag. */
  readonly overrides: ReadonlyMap<string, string>;
}

/** Returns the layout as text, which servers compare with each other. */
export function layoutText(overrides: ReadonlyMap<string, string>): string {
  return [...overrides]
    .map(([resource, log]) => `${resource}#${log}`)
    .sort()
    .join(',');
}

/**
 * The layout: which types have logs of their own. It is kept in the database, and all servers that use it at the same time have the same.
 * If it changes, the logs that types move to continue above all revisions that those types ever had, and everything before is compacted
 * there. So no revision has two meanings, and clients with an older one must list again.
 */
export class LogLayout {
  private readonly meta: Collection<MetaDocument>;
  private readonly wanted: readonly LogOverride[];

  constructor(private readonly options: LayoutOptions) {
    this.meta = metaOf(options.db);
    this.wanted = [...options.overrides]
      .map(([resource, log]) => ({ resource, log }))
      .sort((a, b) => (a.resource < b.resource ? -1 : 1));
  }

  /** Brings the database to the wanted layout; throws StorageError 'unusable' if a server with another layout is running. */
  async settle(): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const document = (await this.meta.findOne({ _id: LAYOUT })) ?? undefined;
      const moved = this.movedFrom(document?.overrides ?? []);
      if (moved.length === 0) {
        if (document?.pending !== undefined) await this.raise(document.pending);
        return;
      }
      if (await this.hasConflictingWriters()) throw this.refusal(document, moved);
      if (!(await this.claim(document, moved))) continue;
      // Servers that start from now on find the new layout, but another may have started just before.
      if (await this.hasConflictingWriters()) {
        await this.revert(document);
        throw this.refusal(document, moved);
      }
      await this.raise(this.targets(moved));
      return;
    }
    throw this.unusable('other servers are changing the log overrides; restart this server');
  }

  private movedFrom(current: readonly LogOverride[]): string[] {
    const before = new Map(current.map(({ resource, log }) => [resource, log]));
    const { overrides } = this.options;
    return [...new Set([...before.keys(), ...overrides.keys()])]
      .filter((resource) => before.get(resource) !== overrides.get(resource))
      .sort();
  }

  private targets(moved: readonly string[]): string[] {
    return [...new Set(moved.map((resource) => this.options.overrides.get(resource) ?? MAIN_LOG))];
  }

  /** Replaces the layout that was read with the new one; false if another server was faster. */
  private async claim(before: MetaDocument | undefined, moved: readonly string[]): Promise<boolean> {
    const version = (before?.version ?? 0) + 1;
    // This move also completes an interrupted one.
    const pending = [...new Set([...(before?.pending ?? []), ...this.targets(moved)])];
    const fields = { version, overrides: this.wanted, pending };
    if (before !== undefined) {
      const result = await this.meta.updateOne({ _id: LAYOUT, version: before.version ?? 0 }, { $set: fields });
      return result.matchedCount === 1;
    }
    try {
      await this.meta.insertOne({ _id: LAYOUT, ...fields });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Reports whether a server with another layout is running. */
  private async hasConflictingWriters(): Promise<boolean> {
    const others = await this.options.db.collection<WriterDocument>(WRITERS).countDocuments({
      layout: { $ne: layoutText(this.options.overrides) },
      $expr: { $gt: ['$seen', { $subtract: ['$$NOW', GONE_MILLIS] }] },
    });
    return others > 0;
  }

  private async revert(before: MetaDocument | undefined): Promise<void> {
    const claimed = { _id: LAYOUT, version: (before?.version ?? 0) + 1 };
    const version = claimed.version + 1;
    const { overrides = [], pending } = before ?? {};
    await this.meta.updateOne(
      claimed,
      pending === undefined
        ? { $set: { overrides, version }, $unset: { pending: 1 } }
        : { $set: { overrides, version, pending } },
    );
  }

  private refusal(before: MetaDocument | undefined, moved: readonly string[]): StorageError {
    const former = (before?.overrides ?? []).map(({ resource, log }) => `${resource}#${log}`).join(',');
    return this.unusable(
      `another server uses other log overrides for ${moved.join(', ')} (currently "${former}"): ` +
        `keep that setting, or stop all servers before one starts with the new one (a killed server is still counted for ${GONE_MILLIS / 1000} s)`,
    );
  }

  /** Continues logs above every revision of any log, after everything was projected. Must be repeated if it was interrupted. */
  private async raise(pending: readonly string[]): Promise<void> {
    const { db, clock, historyMillis } = this.options;
    const names = await db.listCollections({ name: /^log\.[^.]+$/ }, { nameOnly: true }).toArray();
    const places = [MAIN_LOG, ...names.map(({ name }) => name.slice('log.'.length))].map((name) =>
      logPlace(this.options, name),
    );
    for (const place of places) await projectRest(place, clock);
    const base = Math.max(...(await Promise.all(places.map((place) => newestRevision(place)))));
    // If nothing was ever written, there is no revision to raise above.
    if (base > FIRST_REVISION)
      for (const name of pending) await raiseUnfollowed(logPlace(this.options, name), base, clock, historyMillis);
    await this.meta.updateOne({ _id: LAYOUT }, { $unset: { pending: 1 } });
  }

  private unusable(why: string): StorageError {
    return new StorageError('unusable', `the MongoDB database ${this.options.database} cannot be used: ${why}`);
  }
}
