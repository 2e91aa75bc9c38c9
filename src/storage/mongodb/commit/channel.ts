import type { Duplex, Writable } from 'node:stream';
import type { Document, MongoClient } from 'mongodb';
import type { Clock, Timer } from '../../../util/clock.js';
import { encodeMessages, Replies, type Message } from './wire.js';
import { within } from '../within.js';

/**
 * What is used of the driver's inner parts: it finds the primary, connects, encrypts and authenticates. Its own way to run
 * a command waits for each answer before the next one, and costs several times what the command itself does.
 */
interface DriverConnection {
  readonly socket: Duplex & { setTimeout(millis: number): unknown };
  readonly messageStream: Writable;
  readonly socketTimeoutMS: number;
  readonly hello: Document | null;
  readonly generation: number;
  readonly closed: boolean;
  readonly error: Error | null;
  once(event: 'close', heard: () => void): unknown;
  destroy(): void;
}

interface DriverServer {
  readonly pool: {
    checkOut(options: { readonly timeoutContext: object }): Promise<DriverConnection>;
    checkIn(connection: DriverConnection): void;
  };
  handleError(error: unknown, connection: DriverConnection): void;
}

interface DriverTopology {
  selectServer(selector: 'primary', options: { readonly operationName: string }): Promise<DriverServer>;
}

/** For a connection; the driver's waiting has no end of its own here. */
const CONNECT_MILLIS = 5_000;
const NO_TIMEOUT = { connectionCheckoutTimeout: null, csotEnabled: () => false };
/** For an answer, however many bytes come in meanwhile. */
const ANSWER_MILLIS = 30_000;

interface Question {
  readonly replies: Document[];
  /** Numbers of the messages that are to be answered. */
  readonly ids: readonly number[];
  resolve(replies: readonly Document[]): void;
  reject(error: unknown): void;
}

/** A connection to the primary, taken out of the driver's pool, on which any number of messages go out in one piece. */
export class Channel {
  private readonly replies = new Replies();
  private question: Question | undefined;
  private lastId = 0;
  private leaving = false;
  private end: Timer | undefined;

  private constructor(
    private readonly connection: DriverConnection,
    private readonly server: DriverServer,
    private readonly clock: Clock,
  ) {
    const { socket, messageStream } = connection;
    if (connection.closed) this.lost();
    else connection.once('close', () => this.lost());
    socket.unpipe(messageStream);
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    socket.resume();
  }

  static async open(client: MongoClient, clock: Clock): Promise<Channel> {
    const { topology } = client as unknown as { readonly topology: DriverTopology };
    // This has an end by the client's options.
    const server = await topology.selectServer('primary', { operationName: 'commitTransaction' });
    const { pool } = server;
    const connection = await within(clock, CONNECT_MILLIS, pool.checkOut({ timeoutContext: NO_TIMEOUT }), (late) => {
      pool.checkIn(late);
    });
    return new Channel(connection, server, clock);
  }

  get closed(): boolean {
    return this.connection.closed || !this.connection.socket.writable;
  }

  /** Whether a router of a sharded cluster is at the other end. */
  get toRouter(): boolean {
    return this.connection.hello?.['msg'] === 'isdbgrid';
  }

  /** Sends messages, which MongoDB handles one after the other; the answers of those that are answered. One question at a time. */
  ask(messages: readonly Message[]): Promise<readonly Document[]> {
    return new Promise((resolve, reject) => {
      const { socket, error, socketTimeoutMS } = this.connection;
      if (this.closed || this.question !== undefined) {
        reject(error ?? new Error('the connection is closed, or waits for another answer'));
        return;
      }
      const first = this.lastId + 1;
      this.lastId = (this.lastId + messages.length) % (1 << 30);
      const ids = messages.flatMap(({ unanswered }, i) => (unanswered === true ? [] : [first + i]));
      socket.setTimeout(socketTimeoutMS);
      this.question = { replies: [], ids, resolve, reject };
      this.end = this.clock.setTimer(ANSWER_MILLIS, () => this.close());
      socket.write(encodeMessages(messages, first));
    });
  }

  close(): void {
    this.leaving = true;
    this.connection.destroy();
  }

  private lost(): void {
    const { connection, server, question } = this;
    this.end?.cancel();
    // The driver does the same: connections that broke off together are not tried one after the other.
    if (!this.leaving && connection.error !== null) {
      server.handleError(Object.assign(connection.error, { connectionGeneration: connection.generation }), connection);
    }
    question?.reject(connection.error);
    server.pool.checkIn(connection);
  }

  private receive(chunk: Buffer): void {
    try {
      for (const { to, document } of this.replies.take(chunk)) this.answered(to, document);
    } catch (error) {
      this.question?.reject(error);
      this.close();
    }
  }

  private answered(to: number, document: Document): void {
    const { question } = this;
    if (to !== question?.ids[question.replies.length]) throw new Error('the reply is to another question');
    question.replies.push(document);
    if (question.replies.length < question.ids.length) return;
    this.question = undefined;
    this.end?.cancel();
    this.connection.socket.setTimeout(0);
    question.resolve(question.replies);
  }
}
