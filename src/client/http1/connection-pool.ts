import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../util/clock.js';
import { ResponseReader } from './response-reader.js';

/** The keep-alive probe interval of Go's client. */
const KEEP_ALIVE_MILLIS = 15_000;

/** The destination of a connection. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** The name to verify the certificate against; '' for an IP address. */
  readonly serverName: string;
}

export interface Received {
  readonly response: ResponseReader;
  readonly socket: TLSSocket;
}

/** A request whose response is awaited. */
interface Exchange {
  readonly address: Address;
  /** Head and body. */
  readonly bytes: Buffer;
  /** Throws if a response of this length is too long. */
  readonly checkLength: (length: number) => void;
  /** Calls the listener when the response is no longer wanted. */
  onOver(listener: (error: Error) => void): void;
}

interface Call extends Exchange {
  readonly resolve: (received: Received) => void;
  readonly reject: (error: RequestFailure) => void;
}

/** A request that got no response. */
export class RequestFailure extends Error {
  constructor(
    override readonly cause: Error,
    /** True if the connection had served other requests before: the server may simply have closed it. */
    readonly onReusedConnection = false,
  ) {
    super(cause.message);
  }
}

/** A pool of keep-alive HTTP/1.1 connections with one request on each at a time; requests beyond `max` wait. */
export class ConnectionPool {
  private readonly idle: Connection[] = [];
  private readonly waiting: Call[] = [];
  private open = 0;
  private retired = false;

  constructor(
    private readonly connect: (address: Address) => TLSSocket,
    private readonly max: number,
    private readonly clock: Pick<Clock, 'monotonic'>,
  ) {}

  /** Rejects with a RequestFailure. */
  request(exchange: Exchange): Promise<Received> {
    return new Promise((resolve, reject) => {
      const call: Call = { ...exchange, resolve, reject };
      exchange.onOver((error) => {
        const at = this.waiting.indexOf(call);
        if (at < 0) return;
        this.waiting.splice(at, 1);
        reject(new RequestFailure(error));
      });
      this.waiting.push(call);
      this.drain();
    });
  }

  /** Lets the requests in progress finish, then closes their connections. */
  retire(): void {
    this.retired = true;
    for (const connection of this.idle.splice(0)) connection.close();
  }

  private drain(): void {
    for (let call = this.waiting.shift(); call !== undefined; call = this.waiting.shift()) {
      try {
        const connection = this.connection(call.address);
        if (connection === undefined) {
          this.waiting.unshift(call);
          return;
        }
        connection.run(call);
      } catch (error) {
        call.reject(new RequestFailure(error as Error));
      }
    }
  }

  private connection(address: Address): Connection | undefined {
    const now = this.clock.monotonic();
    for (let i = this.idle.length - 1; i >= 0; i--) {
      const candidate = this.idle[i] as Connection;
      if (!candidate.leadsTo(address)) continue;
      this.idle.splice(i, 1);
      if (candidate.usableUntil > now) return candidate;
      candidate.close();
    }
    // Close an idle connection to another address to make room.
    if (this.open >= this.max) this.idle.shift()?.close();
    if (this.open >= this.max) return undefined;
    const socket = this.connect(address);
    this.open++;
    return new Connection(address, socket, this.clock, {
      idle: (connection) => {
        if (this.retired) connection.close();
        else this.idle.push(connection);
        this.drain();
      },
      closed: (connection) => {
        const at = this.idle.indexOf(connection);
        if (at >= 0) this.idle.splice(at, 1);
        this.open--;
        this.drain();
      },
    });
  }
}

interface Owner {
  idle(connection: Connection): void;
  closed(connection: Connection): void;
}

class Connection {
  /** In monotonic milliseconds, according to the keep-alive timeout that the server announces. */
  usableUntil = Infinity;
  private call: Call | undefined;
  private response: ResponseReader | undefined;
  private isSecure = false;
  private isUsed = false;
  private isOpen = true;

  constructor(
    private readonly address: Address,
    private readonly socket: TLSSocket,
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly owner: Owner,
  ) {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MILLIS);
    // Nothing is sent before the server is verified.
    socket.once('secureConnect', () => {
      this.isSecure = true;
      if (this.call !== undefined) socket.write(this.call.bytes);
    });
    socket.on('data', (bytes: Buffer) => this.receive(bytes));
    socket.on('error', (error: Error) => this.fail(error));
    socket.on('end', () => this.fail());
    socket.on('close', () => this.fail());
  }

  leadsTo({ host, port, serverName }: Address): boolean {
    const { address } = this;
    return address.host === host && address.port === port && address.serverName === serverName;
  }

  run(call: Call): void {
    this.call = call;
    this.response = new ResponseReader(call.checkLength);
    call.onOver((error) => this.fail(error));
    this.socket.ref();
    if (this.isSecure) this.socket.write(call.bytes);
  }

  close(): void {
    this.fail();
  }

  private receive(bytes: Buffer): void {
    const { response } = this;
    try {
      // Data on an idle connection announces its end.
      if (response === undefined) this.fail();
      else if (response.read(bytes)) this.finish(response);
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private finish(response: ResponseReader): void {
    const { call, socket } = this;
    this.call = this.response = undefined;
    this.isUsed = true;
    call?.resolve({ response, socket });
    if (!response.keepsAlive || !this.isOpen) {
      this.close();
      return;
    }
    const seconds = /\btimeout=(\d+)/.exec(response.headers.get('keep-alive') ?? '')?.[1];
    // One second is reserved for transmission.
    if (seconds !== undefined) this.usableUntil = this.clock.monotonic() + (Number(seconds) - 1) * 1000;
    socket.unref();
    this.owner.idle(this);
  }

  /** Ends the connection, with or without an error. */
  private fail(error?: Error): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.socket.destroy();
    const { call, response } = this;
    this.call = this.response = undefined;
    if (call !== undefined && response !== undefined) {
      if (error === undefined && response.end()) call.resolve({ response, socket: this.socket });
      else call.reject(new RequestFailure(error ?? hungUp(response), this.isUsed));
    }
    this.owner.closed(this);
  }
}

/** Returns the same error as node:http. */
const hungUp = ({ started }: ResponseReader): Error =>
  Object.assign(new Error(started ? 'aborted' : 'socket hang up'), { code: 'ECONNRESET' });
