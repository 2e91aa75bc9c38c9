import type { Collection } from 'mongodb';
import type { Clock } from '../../util/clock.js';
import type { Database } from './connection/connection.js';
import { StorageError } from '../errors.js';
import { FIRST_REVISION, logPlace, MAIN_LOG, META, WRITERS, type LogOverride, type MetaDocument } from './documents.js';
import { isDuplicateKey } from './connection/failures.js';
import type { WriterDocument } from './commit/writers.js';
import { newestRevision } from './log/read.js';
import { projectRest, raiseAlone } from './retention/raise.js';

const LAYOUT = 'logs';
/** A server that was not heard of for so long is gone. */
const GONE_MILLIS = 150_000;
const ATTEMPTS = 5;

export interface LayoutOptions extends Database {
  readonly database: string;
  readonly clock: Clock;
  readonly historyMillis: number;
  /** The types with logs of their own, as the flags have them. */
  readonly overrides: ReadonlyMap<string, string>;
}

/** As servers tell each other. */
export function layoutText(overrides: ReadonlyMap<string, string>): string {
  return [...overrides]
    .map(([resource, log]) => `${resource}#${log}`)
    .sort()
    .join(',');
}

/**
 * Which types have logs of their own. It is kept in the database, and all servers that use it at the same time have the
 * same. Where it changes, the logs that types move to go on above all revisions that those types ever had, and what lies
 * before is compacted there: so no revision means two things, and whoever held an older one reads anew.
 */
export class LogLayout {
  private readonly meta: Collection<MetaDocument>;
  private readonly wanted: readonly LogOverride[];

  constructor(private readonly options: LayoutOptions) {
    this.meta = options.db.collection<MetaDocument>(META);
    this.wanted = [...options.overrides]
      .map(([resource, log]) => ({ resource, log }))
      .sort((a, b) => (a.resource < b.resource ? -1 : 1));
  }

  /** Brings the database to the layout that is wanted; throws StorageError 'unusable' where another server would suffer. */
  async settle(): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const document = (await this.meta.findOne({ _id: LAYOUT })) ?? undefined;
      const moved = this.movedFrom(document?.overrides ?? []);
      if (moved.length === 0) {
        if (document?.pending !== undefined) await this.raise(document.pending);
        return;
      }
      if (await this.inCompany()) throw this.refusal(document, moved);
      if (!(await this.claim(document, moved))) continue;
      // Whoever comes from now on finds the new layout; somebody may have come a moment before.
      if (await this.inCompany()) {
        await this.revert(document);
        throw this.refusal(document, moved);
      }
      await this.raise(this.targets(moved));
      return;
    }
    throw this.unusable('other servers change the logs of the types right now: start it again');
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

  /** Writes the new layout in place of the one that was read; false where somebody else was faster. */
  private async claim(before: MetaDocument | undefined, moved: readonly string[]): Promise<boolean> {
    const version = (before?.version ?? 0) + 1;
    // What an interrupted move left to do is done with this one.
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

  /** Whether a server with another layout is there. */
  private async inCompany(): Promise<boolean> {
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
      `another server uses it with other logs for ${moved.join(', ')} (so far types have logs of their own as in "${former}"): ` +
        `keep that setting, or stop all servers before one starts with the new one (a server that was killed counts for ${GONE_MILLIS / 1000} s)`,
    );
  }

  /** Lets logs go on above every revision of any log, once all is projected. To be repeated where it was interrupted. */
  private async raise(pending: readonly string[]): Promise<void> {
    const { db, clock, historyMillis } = this.options;
    const names = await db.listCollections({ name: /^log\.[^.]+$/ }, { nameOnly: true }).toArray();
    const places = [MAIN_LOG, ...names.map(({ name }) => name.slice('log.'.length))].map((name) =>
      logPlace(this.options, name),
    );
    for (const place of places) await projectRest(place, clock);
    const base = Math.max(...(await Promise.all(places.map((place) => newestRevision(place)))));
    // Nothing was ever written.
    if (base > FIRST_REVISION)
      for (const name of pending) await raiseAlone(logPlace(this.options, name), base, clock, historyMillis);
    await this.meta.updateOne({ _id: LAYOUT }, { $unset: { pending: 1 } });
  }

  private unusable(why: string): StorageError {
    return new StorageError('unusable', `the MongoDB database ${this.options.database} cannot be used: ${why}`);
  }
}
