import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { pause } from '../storage/mongod.js';

const WATCHES = '/etcdserverpb.Watch/Watch';

/** An etcd that tells of changes late: a proxy in front of the real one. Reads and writes are not delayed, only what watches deliver. */
export class LateEtcd {
  /** By how much watches are behind, in milliseconds. */
  behindMillis = 0;
  private readonly server: Http2Server = createServer();
  private readonly upstream: ClientHttp2Session;

  private constructor(port: number) {
    this.upstream = connect(`http://127.0.0.1:${port}`);
    this.upstream.on('error', () => undefined);
    this.server.on('stream', (stream, headers) => {
      this.forward(stream, headers);
    });
  }

  static async start(port: number): Promise<LateEtcd> {
    const proxy = new LateEtcd(port);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    this.upstream.destroy();
    this.server.close();
  }

  private forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const request = this.upstream.request(headers, { endStream: false });
    const isWatch = headers[':path'] === WATCHES;
    let trailers: IncomingHttpHeaders = {};
    let last: Promise<void> = Promise.resolve();
    /** Does it in order, and late. */
    const later = (what: () => void): void => {
      const wait = isWatch ? this.behindMillis : 0;
      const due = performance.now() + wait;
      last = last.then(async () => {
        const rest = due - performance.now();
        if (rest > 0) await pause(rest);
        if (!stream.destroyed) what();
      });
    };
    stream.pipe(request);
    request.on('response', (answer, flags) => {
      // A gRPC response without a body has only headers.
      const isOver = (flags & 1) !== 0;
      later(() => {
        stream.respond(answer, { endStream: isOver, waitForTrailers: !isOver });
      });
    });
    stream.on('wantTrailers', () => {
      stream.sendTrailers(trailers);
    });
    request.on('trailers', (found: IncomingHttpHeaders) => {
      trailers = found;
    });
    request.on('data', (data: Buffer) => {
      later(() => void stream.write(data));
    });
    request.on('end', () => {
      later(() => void stream.end());
    });
    request.on('error', () => void stream.destroy());
    stream.on('error', () => void request.destroy());
    stream.on('close', () => {
      request.close();
    });
  }
}
