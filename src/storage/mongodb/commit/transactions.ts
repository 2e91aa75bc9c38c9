import { BSON, Long, UUID, type Document } from 'mongodb';
import type { Channel } from './channel.js';
import { CommandFailed } from '../failures.js';
import type { Statement } from './statements.js';
import type { Message } from './wire.js';

const READ_CONCERN = { level: 'local' };
const WRITE_CONCERN = { w: 'majority', j: true, wtimeout: 10_000 };
/** What a command's documents are called. */
const ARGUMENTS = { insert: 'documents', update: 'updates', delete: 'deletes' } as const;

/** What MongoDB answered to a transaction that was sent as a whole. */
export type WholeOutcome =
  | { readonly outcome: 'committed' }
  /** It gave the transaction up. */
  | { readonly outcome: 'given-up' }
  | { readonly outcome: 'unknown'; readonly error: unknown };

/** A session of MongoDB's, in which one transaction follows another on one connection. */
export class Transactions {
  /** Of the session. */
  readonly id = new UUID();
  private number = 0;
  /** Commands without what changes from one transaction to the next. */
  private readonly bodies = new Map<string, Uint8Array>();

  constructor(
    private readonly database: string,
    private channel: Channel,
  ) {}

  get connected(): boolean {
    return !this.channel.closed;
  }

  /**
   * Whether a transaction may be sent as a whole: a replica set's member handles what comes on a connection one after the
   * other, and after an error everything that belongs to the transaction fails. Of a router's shards that is not so plain.
   */
  get takesWhole(): boolean {
    return !this.channel.toRouter;
  }

  /** Goes on with another connection; no transaction may be under way. */
  use(channel: Channel): void {
    this.channel = channel;
  }

  close(): void {
    this.channel.close();
  }

  /** Sends a transaction and its commit together, and waits for the commit only. */
  async whole(statements: readonly Statement[]): Promise<WholeOutcome> {
    this.number++;
    const messages = statements.map((statement, i) => ({ ...this.messageOf(statement, i === 0), unanswered: true }));
    try {
      const [reply] = await this.channel.ask([...messages, this.end('commitTransaction')]);
      const failure = failureIn(reply);
      if (failure === undefined) return { outcome: 'committed' };
      return failure.isGivenUp ? { outcome: 'given-up' } : { outcome: 'unknown', error: failure };
    } catch (error) {
      return { outcome: 'unknown', error };
    }
  }

  /** Begins a transaction with statements; how many documents each of them concerned, or why it failed. */
  async begin(statements: readonly Statement[]): Promise<readonly (number | CommandFailed)[]> {
    this.number++;
    const replies = await this.channel.ask(statements.map((statement, i) => this.messageOf(statement, i === 0)));
    return replies.map((reply) => failureIn(reply) ?? (reply['n'] as number));
  }

  async commit(): Promise<void> {
    const [reply] = await this.channel.ask([this.end('commitTransaction')]);
    const failure = failureIn(reply);
    if (failure !== undefined) throw failure;
  }

  /** Also where MongoDB has done so by itself. */
  async abort(): Promise<void> {
    await this.channel.ask([this.end('abortTransaction')]);
  }

  private messageOf({ verb, collection, documents }: Statement, first: boolean): Message {
    const body = this.body(`${verb} ${String(first)} ${collection}`, () => ({
      [verb]: collection,
      $db: this.database,
      ...(first ? { startTransaction: true, readConcern: READ_CONCERN } : {}),
    }));
    return { body, number: this.number, argument: ARGUMENTS[verb], documents };
  }

  private end(verb: 'commitTransaction' | 'abortTransaction'): Message {
    const body = this.body(verb, () => ({ [verb]: 1, $db: 'admin', writeConcern: WRITE_CONCERN }));
    return { body, number: this.number };
  }

  private body(name: string, command: () => Document): Uint8Array {
    let body = this.bodies.get(name);
    if (body === undefined) {
      body = BSON.serialize({ ...command(), lsid: { id: this.id }, autocommit: false, txnNumber: Long.ZERO });
      this.bodies.set(name, body);
    }
    return body;
  }
}

function failureIn(reply: Document | undefined): CommandFailed | undefined {
  if (reply?.['ok'] !== 1) return new CommandFailed(reply ?? {});
  const [failure] = (reply['writeErrors'] ?? []) as readonly Document[];
  const doubt = failure ?? (reply['writeConcernError'] as Document | undefined);
  return doubt === undefined ? undefined : new CommandFailed(doubt);
}
