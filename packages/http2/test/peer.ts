import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { FakeClock } from './clock.js';
import { DEFAULT_WINDOW, Flag, FRAME_HEADER, FrameType, PREFACE, writeFrameHeader } from '../src/frames/frame.js';
import { HpackDecoder } from '../src/hpack/decoder.js';
import { maxFieldBytes, writeField } from '../src/hpack/encoder.js';
import type { Http2Request } from '../src/request.js';
import type { Http2Response } from '../src/response.js';
import { Session, type SessionConfig } from '../src/session.js';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

type Handle = (request: Http2Request, response: Http2Response) => void | Promise<void>;

/** A server that runs a Session on every connection, without TLS. */
export class SessionServer {
  readonly clock = new FakeClock();
  readonly sessions: Session[] = [];
  readonly failures: [code: number, message: string][] = [];
  handle: Handle = (_request, response) => {
    response.end('ok');
  };
  private readonly server: Server;
  private readonly peers: Peer[] = [];

  constructor(config: Partial<SessionConfig> = {}) {
    this.server = createServer((socket) => {
      const session = new Session(
        socket,
        {
          clock: this.clock,
          maxConcurrentStreams: 10,
          maxHeaderListBytes: 20_000,
          maxHeaderFields: 1000,
          maxFrameBytes: 16_384,
          streamWindow: DEFAULT_WINDOW,
          connectionWindow: 4 * DEFAULT_WINDOW,
          idleMillis: 90_000,
          handle: (_session, request, response) => this.handle(request, response),
          onError: (code, message) => {
            this.failures.push([code, message]);
          },
          ...config,
        },
        () => undefined,
      );
      this.sessions.push(session);
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connects a client that sends the preface and these settings. */
  async peer(settings: readonly (readonly [id: number, value: number])[] = []): Promise<Peer> {
    const peer = new Peer(this.port);
    this.peers.push(peer);
    peer.raw(PREFACE);
    peer.settings(settings);
    await peer.next(FrameType.settings, (frame) => frame.flags === Flag.ack);
    return peer;
  }

  /** Connects a client that sends nothing. */
  stranger(): Peer {
    const peer = new Peer(this.port);
    this.peers.push(peer);
    return peer;
  }

  async close(): Promise<void> {
    for (const peer of this.peers) peer.close();
    for (const session of this.sessions) session.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A client that sends exactly the frames that a test asks for. */
export class Peer {
  /** All received frames. */
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  private readonly socket: Socket;
  private readonly decoder = new HpackDecoder();
  private readonly heads = new Map<Frame, Record<string, string>>();
  private readonly taken = new Set<Frame>();
  private rest = Buffer.alloc(0);
  private wake: (() => void) | undefined;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk: Buffer) => this.receive(chunk));
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        resolve();
        this.wake?.();
      });
    });
  }

  close(): void {
    this.socket.destroy();
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  raw(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  send(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): void {
    const frame = Buffer.alloc(FRAME_HEADER + payload.length);
    frame.set(payload, writeFrameHeader(frame, 0, payload.length, type, flags, stream));
    this.raw(frame);
  }

  settings(settings: readonly (readonly [id: number, value: number])[]): void {
    const payload = Buffer.alloc(settings.length * 6);
    settings.forEach(([id, value], i) => {
      payload.writeUInt16BE(id, i * 6);
      payload.writeUInt32BE(value, i * 6 + 2);
    });
    this.send(FrameType.settings, 0, 0, payload);
  }

  window(stream: number, increment: number): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(increment);
    this.send(FrameType.windowUpdate, 0, stream, payload);
  }

  reset(stream: number): void {
    this.send(FrameType.rstStream, 0, stream, Buffer.from([0, 0, 0, 8]));
  }

  /** Sends the HEADERS of a request. `fields` follow the usual pseudo-headers. */
  request(
    stream: number,
    { method = 'GET', path = '/', end = true, fields = [] as readonly (readonly [string, string])[] } = {},
  ): void {
    const all: (readonly [string, string])[] = [[':method', method], [':scheme', 'https'], [':path', path], ...fields];
    this.send(FrameType.headers, Flag.endHeaders | (end ? Flag.endStream : 0), stream, encode(all));
  }

  data(stream: number, body: Uint8Array | string, end = false): void {
    this.send(FrameType.data, end ? Flag.endStream : 0, stream, Buffer.from(body));
  }

  /** Waits for the next frame of this type that was not returned before. */
  async next(type: number, matches: (frame: Frame) => boolean = () => true): Promise<Frame> {
    for (;;) {
      const found = this.frames.find((frame) => frame.type === type && !this.taken.has(frame) && matches(frame));
      if (found !== undefined) {
        this.taken.add(found);
        return found;
      }
      if (this.socket.destroyed) throw new Error(`the connection ended before a frame of type ${type}`);
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  /** Waits for a response and returns its head and body. */
  async answer(stream: number): Promise<{ head: Record<string, string>; body: string }> {
    const head = await this.next(FrameType.headers, (frame) => frame.stream === stream);
    const parts: Buffer[] = [];
    for (let ended = (head.flags & Flag.endStream) !== 0; !ended;) {
      const frame = await this.next(FrameType.data, (found) => found.stream === stream);
      parts.push(frame.payload);
      ended = (frame.flags & Flag.endStream) !== 0;
    }
    return { head: this.head(head), body: Buffer.concat(parts).toString() };
  }

  head(frame: Frame): Record<string, string> {
    return this.heads.get(frame) ?? {};
  }

  /** Waits until a stream is reset and returns the error code. */
  async resetCode(stream: number): Promise<number> {
    return (await this.next(FrameType.rstStream, (frame) => frame.stream === stream)).payload.readUInt32BE(0);
  }

  /** True if a GOAWAY has arrived. */
  get hasGoaway(): boolean {
    return this.frames.some(({ type }) => type === FrameType.goaway);
  }

  /** Waits until the connection is ended with GOAWAY. */
  async goaway(): Promise<{ last: number; code: number }> {
    const { payload } = await this.next(FrameType.goaway);
    return { last: payload.readUInt32BE(0), code: payload.readUInt32BE(4) };
  }

  /** Waits until the server has read everything sent so far. */
  async ping(): Promise<void> {
    this.send(FrameType.ping, 0, 0, Buffer.from('pingpong'));
    await this.next(FrameType.ping, (frame) => frame.flags === Flag.ack);
  }

  private receive(chunk: Buffer): void {
    let bytes = Buffer.concat([this.rest, chunk]);
    while (bytes.length >= FRAME_HEADER) {
      const length = bytes.readUIntBE(0, 3);
      if (bytes.length < FRAME_HEADER + length) break;
      const [type, flags] = [bytes[3] as number, bytes[4] as number];
      const stream = bytes.readUInt32BE(5);
      const payload = bytes.subarray(FRAME_HEADER, FRAME_HEADER + length);
      const frame = { type, flags, stream, payload };
      this.frames.push(frame);
      if (type === FrameType.headers) {
        const fields = this.decoder.decode(payload, 1 << 20) ?? [];
        this.heads.set(frame, Object.fromEntries(fields.map(({ name, value }) => [name, value])));
      }
      bytes = bytes.subarray(FRAME_HEADER + length);
    }
    this.rest = bytes;
    this.wake?.();
  }
}

export function encode(fields: readonly (readonly [string, string])[]): Buffer {
  const out = Buffer.alloc(fields.reduce((sum, [name, value]) => sum + maxFieldBytes(name, value), 0));
  let at = 0;
  for (const [name, value] of fields) at = writeField(out, at, name, value);
  return out.subarray(0, at);
}
