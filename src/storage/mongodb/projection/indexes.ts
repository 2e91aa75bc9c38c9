import type { Collection } from 'mongodb';
import { sleep, type Clock } from '../../../util/clock.js';
import { errorCode } from '../../errors.js';
import type { StateDocument } from '../documents.js';

/** The prefix of the store's own indexes; others are left alone. */
const INDEX_PREFIX = 'annex:';
const NAMESPACE_NOT_FOUND = 26;
const INDEX_NOT_FOUND = 27;
/** A user has created an index on the same field, under another name. */
const INDEX_EXISTS = new Set([85, 86]);
const RETRY_MILLIS = 1_000;
const MAX_RETRY_MILLIS = 60_000;

export interface IndexerOptions {
  readonly clock: Clock;
  /** Returns the collection of a type's objects. */
  collection(resource: string): Collection<StateDocument>;
  /** Called for every failure; it is retried. */
  failed(resource: string, error: unknown): void;
}

/** Keeps an index for each selectable field of a type, in the background. */
export class Indexer {
  private readonly wanted = new Map<string, readonly string[]>();
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(private readonly options: IndexerOptions) {}

  /** Sets the indexed fields of a type. The store's indexes on other fields are removed. */
  want(resource: string, fields: readonly string[]): void {
    this.wanted.set(resource, fields.filter(isIndexable));
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.wanted.clear();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    let retry = RETRY_MILLIS;
    while (this.wanted.size > 0 && !signal.aborted) {
      let failures = 0;
      for (const [resource, fields] of [...this.wanted]) {
        try {
          await settleIndexes(this.options.collection(resource), fields);
          if (this.wanted.get(resource) === fields) this.wanted.delete(resource);
        } catch (error) {
          failures++;
          if (!this.stopping.signal.aborted) this.options.failed(resource, error);
        }
      }
      if (failures === 0) continue;
      await sleep(this.options.clock, retry, signal);
      retry = Math.min(2 * retry, MAX_RETRY_MILLIS);
    }
    // In the same step as the last check: fields that are set later start a new run.
    this.running = undefined;
  }
}

/** Reports whether a field is a path of names that MongoDB can tell apart. */
function isIndexable(field: string): boolean {
  return field !== '' && field.split('.').every((name) => name !== '' && !/[$[\]'"\\]/.test(name));
}

async function settleIndexes(states: Collection<StateDocument>, fields: readonly string[]): Promise<void> {
  const missing = new Set(fields);
  for (const name of await indexNames(states)) {
    if (!name.startsWith(INDEX_PREFIX) || missing.delete(name.slice(INDEX_PREFIX.length))) continue;
    try {
      await states.dropIndex(name);
    } catch (error) {
      // Another replica was faster.
      if (errorCode(error) !== INDEX_NOT_FOUND) throw error;
    }
  }
  for (const field of missing) {
    try {
      await states.createIndex({ [field]: 1 }, { name: `${INDEX_PREFIX}${field}` }, {});
    } catch (error) {
      if (!INDEX_EXISTS.has(Number(errorCode(error)))) throw error;
    }
  }
}

async function indexNames(states: Collection<StateDocument>): Promise<string[]> {
  try {
    const indexes = await states.listIndexes().toArray();
    return indexes.map(({ name }) => String(name));
  } catch (error) {
    if (errorCode(error) === NAMESPACE_NOT_FOUND) return [];
    throw error;
  }
}
