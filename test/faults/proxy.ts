import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** `requests` go to MongoDB, and `answers` come from it. */
export type Direction = 'requests' | 'answers';

type Mode =
  | { readonly kind: 'pass' }
  /** Nothing passes. The bytes pass later, as with TCP retransmissions. */
  | { readonly kind: 'hold' }
  /** Bytes are lost for good. When bytes pass again, the connection is closed. */
  | { readonly kind: 'lose' }
  | { readonly kind: 'delay'; readonly millis: number };

const PASS: Mode = { kind: 'pass' };

/** The number of bytes that one direction of a connection holds back before it stops reading. */
const MAX_HELD_BYTES = 4 << 20;

/**
 * A TCP proxy on loopback between one client and one MongoDB that can be made to fail. Its URIs need `directConnection=true`, which `uri`
 * includes; otherwise the driver discovers the members' addresses and bypasses the proxy.
 */
export class FaultProxy {
  private readonly links = new Set<Link>();
  private modes: Record<Direction, Mode> = { requests: PASS, answers: PASS };
  private refusing = false;
  /**
   * Receives all bytes before they are forwarded, and may change the mode, which then applies to these bytes too. Messages contain the
   * command name (`commitTransaction`), unless the URI asks for compression.
   */
  inspect: ((bytes: Buffer, direction: Direction) => void) | undefined;

  private constructor(
    private readonly server: Server,
    private readonly target: number,
  ) {
    server.on('connection', (client) => {
      this.accept(client);
    });
  }

  /** Starts a proxy to a port on loopback. */
  static async start(target: number): Promise<FaultProxy> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new FaultProxy(server, target);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Returns a URI through the proxy, with options in the form `&name=value`. */
  uri(options = ''): string {
    return `mongodb://127.0.0.1:${this.port}/?directConnection=true${options}`;
  }

  /** The number of open connections. */
  get connections(): number {
    return this.links.size;
  }

  /** Heals: bytes held back are forwarded, and connections that lost bytes are closed. */
  pass(): void {
    this.refusing = false;
    this.change(PASS, PASS);
  }

  /** Closes all connections, and every new one immediately. */
  cut(): void {
    this.refusing = true;
    this.change(PASS, PASS);
    this.reset();
  }

  /** Accepts and keeps connections, and forwards nothing, in both directions or one. */
  swallow(direction?: Direction): void {
    this.one({ kind: 'hold' }, direction);
  }

  /** Delays bytes, in both directions or one, and keeps their order. */
  delay(millis: number, direction?: Direction): void {
    this.one({ kind: 'delay', millis }, direction);
  }

  /** Requests reach MongoDB and are executed. The responses are lost, and so are the connections when the proxy heals. */
  loseAnswers(): void {
    this.one({ kind: 'lose' }, 'answers');
  }

  /** Closes the open connections. The mode stays. */
  reset(): void {
    for (const link of this.links) link.destroy();
  }

  async close(): Promise<void> {
    this.refusing = true;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.reset();
    await closed;
  }

  private one(mode: Mode, direction: Direction | undefined): void {
    this.refusing = false;
    this.change(direction === 'answers' ? PASS : mode, direction === 'requests' ? PASS : mode);
  }

  private change(requests: Mode, answers: Mode): void {
    this.modes = { requests, answers };
    for (const link of this.links) link.proceed();
  }

  private accept(client: Socket): void {
    if (this.refusing) {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const link = new Link(
      client,
      connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true }),
      (direction) => this.modes[direction],
      (bytes, direction) => this.inspect?.(bytes, direction),
      () => this.links.delete(link),
    );
    this.links.add(link);
  }
}

/** One connection, with a pipe in each direction. */
class Link {
  private readonly pipes: readonly Pipe[];
  private destroyed = false;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    mode: (direction: Direction) => Mode,
    inspect: (bytes: Buffer, direction: Direction) => void,
    private readonly gone: () => void,
  ) {
    const destroy = (): void => {
      this.destroy();
    };
    const pipe = (direction: Direction, from: Socket, to: Socket): Pipe =>
      new Pipe(
        from,
        to,
        () => mode(direction),
        (bytes) => {
          inspect(bytes, direction);
        },
        destroy,
      );
    this.pipes = [pipe('requests', client, server), pipe('answers', server, client)];
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', destroy);
    }
  }

  proceed(): void {
    for (const pipe of this.pipes) pipe.proceed();
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    for (const pipe of this.pipes) pipe.stop();
    reset(this.client);
    reset(this.server);
    this.gone();
  }
}

/** Resets a connection, like a firewall or a host that does not know the connection. */
function reset(socket: Socket): void {
  // During a pending end, a reset is refused, and Node then leaves the handle open, which keeps the process alive.
  const ending = socket.writableEnded && !socket.writableFinished;
  if (socket.connecting || ending) socket.destroy();
  else socket.resetAndDestroy();
}

interface Held {
  readonly bytes: Buffer | 'end';
  readonly came: number;
}

/** One direction of a connection. */
class Pipe {
  private held: Held[] = [];
  private heldBytes = 0;
  private lost = false;
  private ended = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly mode: () => Mode,
    inspect: (bytes: Buffer) => void,
    private readonly destroy: () => void,
  ) {
    from.on('data', (bytes: Buffer) => {
      inspect(bytes);
      this.take(bytes);
    });
    from.on('end', () => {
      this.take('end');
    });
    to.on('drain', () => {
      this.proceed();
    });
  }

  /** Forwards what the current mode allows. */
  proceed(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const mode = this.mode();
    if (mode.kind === 'lose') this.loseAll();
    else if (this.lost) this.destroy();
    else if (mode.kind !== 'hold') this.forward(mode.kind === 'delay' ? mode.millis : 0);
    if (this.heldBytes > MAX_HELD_BYTES) this.from.pause();
    else this.from.resume();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.held = [];
    this.heldBytes = 0;
  }

  private take(bytes: Buffer | 'end'): void {
    this.held.push({ bytes, came: performance.now() });
    if (bytes !== 'end') this.heldBytes += bytes.length;
    this.proceed();
  }

  private loseAll(): void {
    if (this.held.length > 0) this.lost = true;
    this.held = [];
    this.heldBytes = 0;
  }

  private forward(millis: number): void {
    for (let first = this.held[0]; first !== undefined; first = this.held[0]) {
      const wait = first.came + millis - performance.now();
      if (wait > 0) {
        this.timer = setTimeout(() => {
          this.proceed();
        }, Math.ceil(wait));
        return;
      }
      if (this.to.writableNeedDrain) return;
      this.held.shift();
      if (first.bytes === 'end') {
        this.end();
      } else {
        this.heldBytes -= first.bytes.length;
        this.to.write(first.bytes);
      }
    }
  }

  /** Ends both sides: neither is of use to the other alone. */
  private end(): void {
    if (this.ended) return;
    this.ended = true;
    this.to.end(() => {
      this.destroy();
    });
  }
}
