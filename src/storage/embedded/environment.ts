import { open, type Database, type RootDatabase } from 'lmdb';
import { StorageError } from '../errors.js';
import type { Revision } from '../interfaces.js';
import { viewAt } from '../lmdb-file.js';
import { messageOf } from '../../util/error-message.js';

/** A change of one record, part of a transaction. */
export type Operation =
  | { readonly table: 'objects' | HistoryTable; readonly key: Buffer; readonly value: Buffer | undefined }
  | { readonly table: 'log'; readonly revision: Revision; readonly value: Buffer | undefined }
  | { readonly table: 'meta'; readonly key: string; readonly value: number };

/** The revision of an empty store. 0 has a meaning of its own in requests, so no state has it. */
export const FIRST_REVISION = 1;
/** The key in `meta` of the revision up to which history is compacted. */
export const COMPACTED = 'compacted';

/** The options of each table. */
export const TABLES = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
/** The tables of the history; see history/rows.ts. */
const HISTORY_TABLES = ['history', 'historyKeys', 'historyAges', 'deleted', 'types'] as const;
export type HistoryTable = (typeof HISTORY_TABLES)[number];

/** The longest key that LMDB accepts, in bytes; it cannot even look up a much longer one. No object has such a key. */
const maxKeyBytes = 1978;

/**
 * The LMDB environment as three tables: `objects` (resource, NUL, key → revision of the current state), `log` (revision → entry) and
 * `meta`. Reads are synchronous; those made in one turn of the event loop after `refresh` see one state.
 */
export class Environment {
  private constructor(
    private readonly root: RootDatabase<Buffer, Buffer>,
    private readonly objects: Database<Buffer, Buffer>,
    private readonly log: Database<Buffer, Buffer>,
    private readonly meta: Database<Buffer, Buffer>,
    private readonly history: Readonly<Record<HistoryTable, Database<Buffer, Buffer>>>,
  ) {}

  static open(directory: string): Environment {
    try {
      const root = open<Buffer, Buffer>(directory, {
        ...TABLES,
        noSubdir: false,
        maxDbs: 12,
        // A commit is on disk before it is reported, and consists of exactly one batch.
        overlappingSync: false,
        eventTurnBatching: false,
      });
      const table = (name: string): Database<Buffer, Buffer> => root.openDB<Buffer, Buffer>(name, TABLES);
      const history = Object.fromEntries(HISTORY_TABLES.map((name) => [name, table(name)]));
      return new Environment(
        root,
        table('objects'),
        table('log'),
        table('meta'),
        history as Record<HistoryTable, Database<Buffer, Buffer>>,
      );
    } catch (error) {
      throw new StorageError('unusable', `the data directory ${directory} cannot be opened: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    await this.root.close();
  }

  /** Makes the following reads see the newest commit. */
  refresh(): void {
    this.root.resetReadTxn();
  }

  /** Frees what processes that were killed while they read this store still hold (snapshot.ts): pages that cannot be used again. */
  forgetDeadReaders(): void {
    this.root.readerCheck();
  }

  /** Returns 0 for absent objects. */
  objectRevision(key: Buffer): Revision {
    if (key.length > maxKeyBytes) return 0;
    const value = this.objects.getBinary(key);
    return value === undefined ? 0 : value.readDoubleBE(0);
  }

  entry(revision: Revision): Buffer | undefined {
    return this.log.getBinary(revisionKey(revision));
  }

  /** Like `entry` without a copy: valid until the next read of an entry. */
  viewOfEntry(revision: Revision): Buffer | undefined {
    return viewAt(this.log, revisionKey(revision));
  }

  metaNumber(key: string): number | undefined {
    const value = this.meta.getBinary(Buffer.from(key));
    return value?.readDoubleBE(0);
  }

  lastLogRevision(): Revision {
    for (const key of this.log.getKeys({ reverse: true, limit: 1 })) return keyRevision(key);
    return 0;
  }

  /** Yields the log entries after a revision, in order; must be consumed in one turn of the event loop. */
  *entriesAfter(revision: Revision): Generator<LogRow, void, undefined> {
    for (const { key, value } of this.log.getRange({ start: revisionKey(revision + 1) })) {
      yield { revision: keyRevision(key), entry: value };
    }
  }

  /**
   * Yields the keys of `objects` from one (inclusive) to another (exclusive), with their revisions; must be consumed in one turn of the
   * event loop.
   */
  *objectRange(
    start: Buffer,
    end: Buffer,
    limit: number,
  ): Generator<{ readonly key: Buffer; readonly revision: Revision }, void, undefined> {
    if (start.length > maxKeyBytes) return;
    for (const { key, value } of this.objects.getRange({ start, end, limit })) {
      yield { key, revision: value.readDoubleBE(0) };
    }
  }

  /** Yields the log entries up to a revision and after another, in reverse order; must be consumed in one turn of the event loop. */
  *entriesDown(from: Revision, after: Revision): Generator<LogRow, void, undefined> {
    const range = { start: revisionKey(from), end: revisionKey(after), reverse: true };
    for (const { key, value } of this.log.getRange(range)) yield { revision: keyRevision(key), entry: value };
  }

  /** Returns a row of the history. */
  row(table: HistoryTable, key: Buffer): Buffer | undefined {
    return this.history[table].getBinary(key);
  }

  /**
   * Yields the rows of the history from one key to another; must be consumed in one turn of the event loop. `reverse`: from `start`
   * (inclusive) down to `end` (exclusive).
   */
  *rows(
    table: HistoryTable,
    start: Buffer,
    end: Buffer | undefined,
    { reverse = false } = {},
  ): Generator<{ readonly key: Buffer; readonly value: Buffer }, void, undefined> {
    for (const row of this.history[table].getRange({ start, ...(end && { end }), reverse })) yield row;
  }

  /** Yields every object of every type, with the revision of its state; must be consumed in one turn of the event loop. */
  *allObjects(): Generator<
    { readonly resource: string; readonly key: string; readonly revision: Revision },
    void,
    undefined
  > {
    for (const { key: id, value } of this.objects.getRange({})) {
      const end = id.indexOf(0);
      const [resource, key] = [id.toString('utf8', 0, end), id.toString('utf8', end + 1)];
      yield { resource, key, revision: value.readDoubleBE(0) };
    }
  }

  /** Executes all operations in one transaction; resolves once it is on disk. If it rejects, the transaction was written as a whole or not at all. */
  async commit(operations: readonly Operation[]): Promise<void> {
    try {
      await this.root.batch(() => {
        for (const operation of operations) this.put(operation);
      });
    } catch (error) {
      throw new Error(await commitFailure(error), { cause: error });
    }
  }

  private tableOf({ table }: Operation): Database<Buffer, Buffer> {
    switch (table) {
      case 'objects':
        return this.objects;
      case 'log':
        return this.log;
      case 'meta':
        return this.meta;
      default:
        return this.history[table];
    }
  }

  private put(operation: Operation): void {
    const table = this.tableOf(operation);
    const key = operation.table === 'log' ? revisionKey(operation.revision) : Buffer.from(operation.key);
    const value = operation.table === 'meta' ? numberValue(operation.value) : operation.value;
    // Each operation has the outcome of the batch; LMDB reports it on these promises, too.
    const done = value === undefined ? table.remove(key) : table.put(key, value);
    done.catch(() => false);
  }
}

interface LogRow {
  readonly revision: Revision;
  readonly entry: Buffer;
}

export function objectKey(resource: string, key: string): Buffer {
  return Buffer.from(`${resource}\0${key}`);
}

/** Returns the first key after all keys with a prefix. */
export function afterPrefix(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    const byte = end[i] ?? 0;
    if (byte < 0xff) {
      end[i] = byte + 1;
      return end.subarray(0, i + 1);
    }
  }
  return end;
}

export function numberValue(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

export function revisionKey(revision: Revision): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(Math.floor(revision / 0x1_0000_0000), 0);
  key.writeUInt32BE(revision % 0x1_0000_0000, 4);
  return key;
}

export function keyRevision(key: Buffer, at = 0): Revision {
  return key.readUInt32BE(at) * 0x1_0000_0000 + key.readUInt32BE(at + 4);
}

/** Returns the cause of a failed commit, which LMDB reports on a separate promise. */
async function commitFailure(error: unknown): Promise<string> {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return messageOf(error);
  try {
    await error.commitError;
    return messageOf(error);
  } catch (cause) {
    return messageOf(cause);
  }
}
