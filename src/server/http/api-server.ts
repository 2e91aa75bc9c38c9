import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer as createHttpsServer, type Server, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { buildHandlerChain } from '../../endpoints/filters/chain.js';
import type { ChainConfig, Step } from '../../endpoints/filters/chain-config.js';
import { type Connection, Exchange } from '../../endpoints/filters/exchange.js';
import { Timings } from '../../endpoints/filters/timings.js';
import type { ChainMetrics } from '../../endpoints/filters/metrics.js';
import type { Handler, HttpRequest, HttpResponse } from '../../endpoints/http.js';
import { errorName, Session, type SessionConfig } from '@annex/http2';
import { type Clock, sleep } from '../../util/clock.js';
import type { Logger } from '../../util/logger.js';
import { tooManyParameters, unescapePath } from '../../request/query.js';
import { NonResourceRoutes } from './non-resource-routes.js';
import { HEADER_FIELDS, isPlainRequest, refuse, refuseUnreadable, urlOf } from './plain-requests.js';
import { RequestLog } from './request-log.js';
import { keepFirstHeaders } from './repeated-headers.js';
import { packetOf, reparseRequest, type ReparsedRequest, withoutUpgrade } from './reparse.js';
import { secureContext, type TlsMaterial } from './tls-material.js';
import { UpgradeResponse } from './websocket.js';
import { isWebSocketRequest } from '../../authentication/request/websocket-protocol.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

const MIB = 1024 * 1024;
/** The limit of Go's server, and so of kube-apiserver, including the 4 KiB that it adds. */
const HEADER_BYTES = MIB + 4096;
/** The same limit in HTTP/2, which counts 32 bytes per field in addition to its text; as in Go's server. */
const HEADER_LIST_BYTES = MIB + 320;
/** Errors show the path, with each byte that is not UTF-8 escaped. No path that is served has more than a few hundred bytes. */
const PATH_BYTES = 256 * 1024;
const IDLE_MILLIS = 90_000;
/**
 * The time, in milliseconds, for which a refused client may go on sending: if the connection is reset at once, the response is
 * lost. As in Go's server.
 */
const LINGER_MILLIS = 500;
const HEADERS_MILLIS = 32_000;
/** The time, in milliseconds, that connections have to send what has been written when the server stops. */
const FLUSH_MILLIS = 2000;
const STREAM_WINDOW = 256 * 1024;
/** The smallest limit that RFC 9113 allows; larger frames gain nothing. */
const FRAME_BYTES = 16 * 1024;

export interface ApiServerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ChainMetrics;
  /** Answers all requests until `serve` is called. */
  readonly startupStep: Step;
  readonly tls: TlsMaterial;
  readonly http2MaxStreamsPerConnection: number;
}

/**
 * Clears what OpenSSL recorded while it verified the client's certificate. A failed signature, such as that of another CA with the
 * name of a trusted one, stays in the error queue of the thread, where the next read finds it and ends the connection. Whether the
 * certificate is trusted is for the authenticator to say. Reading the certificate clears the queue; the handshake calls this before
 * it returns to the read.
 */
function forgetVerificationErrors(socket: TLSSocket): void {
  socket.getPeerX509Certificate();
}

/** One TLS port with the handler chain behind it. It listens before there is anything to serve; handlers are registered before `serve`. */
export class ApiServer {
  /** The handlers of all paths other than those of resources. */
  readonly routes = new NonResourceRoutes();
  private step: Step;
  private readonly http: Server;
  private readonly http2: SessionConfig;
  private readonly connections = new WeakMap<object, Connection>();
  private readonly sockets = new Set<Socket>();
  private readonly sessions = new Set<Session>();
  /** Passes a connection to node:http. */
  private http1: (socket: Duplex) => void = () => undefined;
  private readonly log: RequestLog;
  private inFlight = 0;
  private closing = false;
  private readonly idle: (() => void)[] = [];

  constructor(private readonly config: ApiServerConfig) {
    this.step = config.startupStep;
    this.log = new RequestLog(config.logger, config.clock);
    this.http2 = this.sessionConfig();
    this.http = this.makeServer();
    this.routes.register('/', this.index, { listed: false });
    this.routes.register('/index.html', this.index, { listed: false });
  }

  /** Sends requests through the chain from now on. `resources` handles `/api/<version>/…` and `/apis/<group>/<version>/…`. */
  serve(chain: ChainConfig, resources: Handler): void {
    this.step = buildHandlerChain((exchange) => {
      if (!exchange.info.isResourceRequest) return this.routes.handle(exchange);
      return resources(exchange, exchange.request, exchange.response);
    }, chain);
  }

  listen(port: number, host: string): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.http.once('error', reject);
      this.http.listen(port, host, () => {
        this.http.off('error', reject);
        const address = this.http.address();
        if (address === null || typeof address === 'string') reject(new Error('not listening on a port'));
        else resolve(address);
      });
    });
  }

  /** Uses a renewed certificate or other client CAs for new connections. */
  setSecureContext(tls: TlsMaterial): void {
    this.http.setSecureContext(secureContext(tls));
  }

  /** Accepts no more connections and makes clients reconnect elsewhere. Resolves when the in-flight requests are answered. */
  async drain(): Promise<void> {
    this.closing = true;
    this.http.close();
    for (const session of this.sessions) session.shutdown();
    const { clock } = this.config;
    do {
      if (this.inFlight > 0) {
        await new Promise<void>((resolve) => {
          this.idle.push(resolve);
        });
      }
      // When the last request has been answered, ends of streams may still have to be sent, and clients may have sent requests
      // before they learned of the shutdown.
      const closed = [...this.sessions].map((session) => session.closed);
      await Promise.race([Promise.all(closed), sleep(clock, FLUSH_MILLIS)]);
    } while (this.inFlight > 0);
  }

  /** Closes every connection at once. */
  destroy(): void {
    this.http.close();
    for (const socket of this.sockets) socket.destroy();
  }

  get requestsInFlight(): number {
    return this.inFlight;
  }

  private makeServer(): Server {
    const options: ServerOptions = {
      ...secureContext(this.config.tls),
      ALPNProtocols: ['h2', 'http/1.1'],
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: 10_000,
      noDelay: true,
      keepAliveTimeout: IDLE_MILLIS,
      headersTimeout: HEADERS_MILLIS,
      // The handler chain sets the deadline of each request.
      requestTimeout: 0,
      maxHeaderSize: HEADER_BYTES,
      // The Host header is checked with the rest of the head.
      requireHostHeader: false,
    };
    const server = createHttpsServer(options);
    // Node ignores the headers beyond this count. One more than allowed shows that there were too many (isPlainRequest).
    server.maxHeadersCount = HEADER_FIELDS + 1;
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    this.splitProtocols(server);
    server.on('request', (request, response) => {
      if (isPlainRequest(request, response)) void this.accept(this.connectionOf(request.socket), request, response);
    });
    server.on('checkContinue', (request, response) => {
      if (isPlainRequest(request, response))
        void this.accept(this.connectionOf(request.socket), request, response, '100-continue');
    });
    server.on('checkExpectation', (request, response) => {
      if (!isPlainRequest(request, response)) return;
      if (request.headers.expect === '') void this.accept(this.connectionOf(request.socket), request, response);
      else response.writeHead(417, { Connection: 'close' }).end();
    });
    server.on(
      'connect',
      (request: IncomingMessage, socket: Duplex, head: Buffer) => void this.acceptConnect(request, socket, head),
    );
    server.on(
      'upgrade',
      (request: IncomingMessage, socket: Duplex, head: Buffer) => void this.acceptUpgrade(request, socket, head),
    );
    this.handleUnreadable(server);
    server.on('tlsClientError', (error: Error) => {
      this.config.metrics.handshakeFailed();
      this.config.logger.v(3, 'TLS handshake failed', { error: error.message });
    });
    return server;
  }

  /** Handles requests that Node's parser rejects: those that Go's parser accepts are parsed again, the others get 400. */
  private handleUnreadable(server: Server): void {
    const refused = new WeakSet<Duplex>();
    const reread = new WeakMap<Duplex, ReparsedRequest>();
    server.on('clientError', (error: Error, socket: Duplex) => {
      const before = reread.get(socket);
      if (before !== undefined) {
        before.append(packetOf(error) ?? Buffer.alloc(0));
        return;
      }
      const reparsed = refused.has(socket) ? undefined : reparseRequest(error, socket);
      if (reparsed !== undefined) {
        reread.set(socket, reparsed);
        this.reparse(reparsed, socket);
        return;
      }
      // The rest of the request fails to parse too. It is discarded until the client has read the response.
      if (refused.has(socket)) return;
      refused.add(socket);
      refuseUnreadable(error, socket);
      this.config.clock.setTimer(LINGER_MILLIS, () => {
        socket.destroy();
      });
    });
  }

  private sessionConfig(): SessionConfig {
    const { clock, logger, metrics, http2MaxStreamsPerConnection } = this.config;
    return {
      clock,
      maxConcurrentStreams: http2MaxStreamsPerConnection,
      maxHeaderListBytes: HEADER_LIST_BYTES,
      maxHeaderFields: HEADER_FIELDS,
      maxFrameBytes: FRAME_BYTES,
      streamWindow: STREAM_WINDOW,
      connectionWindow: STREAM_WINDOW * Math.min(http2MaxStreamsPerConnection, 16),
      idleMillis: IDLE_MILLIS,
      handle: (session, request, response) => {
        const connection = this.connections.get(session) as Connection;
        const expects = request.headers.expect === '100-continue' ? '100-continue' : undefined;
        return this.accept(connection, request, response, expects);
      },
      onError: (code, message) => {
        metrics.connectionFailed(errorName(code));
        logger.v(3, 'HTTP/2 connection ended', { code: errorName(code), error: message });
      },
    };
  }

  /** Passes HTTP/2 connections to our own sessions, and the others to node:http as before. */
  private splitProtocols(server: Server): void {
    const http1 = server.listeners('secureConnection') as ((socket: Duplex) => void)[];
    this.http1 = (socket) => {
      for (const listener of http1) listener.call(server, socket);
    };
    server.removeAllListeners('secureConnection');
    server.on('secureConnection', (socket) => {
      forgetVerificationErrors(socket);
      if (socket.alpnProtocol === 'h2') this.openSession(socket);
      else this.http1(socket);
    });
  }

  private reparse(reparsed: ReparsedRequest, socket: Duplex): void {
    this.connections.set(reparsed, this.connectionOf(socket));
    this.http1(reparsed);
  }

  private openSession(socket: TLSSocket): void {
    const session = new Session(socket, this.http2, () => this.sessions.delete(session));
    const connection = {
      socket,
      http2: true,
      retire: (atOnce = false) => (atOnce ? session.shutdownAtOnce() : session.shutdown()),
    };
    this.connections.set(session, connection);
    this.sessions.add(session);
    if (this.closing) session.shutdown();
  }

  private connectionOf(socket: Duplex): Connection {
    let connection = this.connections.get(socket);
    if (connection === undefined) {
      connection = { socket: socket instanceof TLSSocket ? socket : undefined, http2: false, retire: () => undefined };
      this.connections.set(socket, connection);
    }
    return connection;
  }

  /** Handles CONNECT like any other method. Because node:http gives the connection away for it, the connection ends with the response. */
  private acceptConnect(request: IncomingMessage, socket: Duplex, head: Buffer): MaybePromise<void> {
    if (!(request.socket === socket && socket instanceof TLSSocket)) {
      socket.destroy();
      return;
    }
    return this.accept(this.connectionOf(request.socket), request, new UpgradeResponse(request, socket, head));
  }

  /** Handles upgrades. Only WebSocket is supported; any other request is answered as if it did not ask for an upgrade. */
  private acceptUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): MaybePromise<void> {
    if (socket instanceof TLSSocket && isWebSocketRequest(request)) {
      const response = new UpgradeResponse(request, socket, head);
      if (isPlainRequest(request, response)) return this.accept(this.connectionOf(request.socket), request, response);
      return;
    }
    const reparsed = withoutUpgrade(request, socket, head);
    socket.on('data', (chunk: Buffer) => reparsed.append(chunk));
    this.reparse(reparsed, socket);
  }

  /** Settles when the handler has finished. */
  private accept(
    connection: Connection,
    request: HttpRequest,
    response: HttpResponse,
    expectation?: '100-continue',
  ): MaybePromise<void> {
    const { clock, metrics } = this.config;
    const target = request.url ?? '/';
    // `OPTIONS *` asks whether the server as a whole is available.
    if (target === '*' && request.method === 'OPTIONS') {
      response.setHeader('Content-Length', 0);
      response.writeHead(200);
      response.end();
      return;
    }
    const url = target.startsWith('/') ? target : urlOf(request.method, target);
    const at = url.indexOf('?');
    const rawPath = at < 0 ? url : url.slice(0, at);
    const rawQuery = at < 0 ? '' : url.slice(at + 1);
    if (rawPath.length > PATH_BYTES) {
      refuse(response, 414, '414 URI Too Long');
      return;
    }
    if (tooManyParameters(rawQuery)) {
      refuse(response, 414, '414 URI Too Long: too many query parameters');
      return;
    }
    const path = unescapePath(rawPath);
    if (path === undefined || !(path.startsWith('/') || url === '')) {
      refuse(response, 400, '400 Bad Request');
      return;
    }
    keepFirstHeaders(request);
    const given = request.headers['audit-id'];
    const auditId = typeof given === 'string' && given !== '' ? given : randomUUID();
    response.setHeader('Audit-Id', auditId);
    const startedAt = clock.monotonic();
    const exchange = new Exchange(request, response, connection, auditId, clock.now(), startedAt, path, rawQuery);
    exchange.expectsContinue = expectation === '100-continue';
    exchange.stopwatch = new Timings(clock);
    exchange.onConflict = this.keepFirstAnnotation;
    this.inFlight++;
    const done = (): void => {
      exchange.finished = true;
      const millis = clock.monotonic() - startedAt;
      if (exchange.served || !exchange.info.isResourceRequest) metrics.completed(exchange, millis);
      this.log.completed(exchange, millis);
      if (--this.inFlight === 0) for (const wake of this.idle.splice(0)) wake();
    };
    const running = this.step(exchange);
    if (running !== undefined) return running.then(done);
    done();
  }

  private readonly index: Handler = (_context, _request, response) => {
    response.setHeader('Content-Type', 'application/json');
    const body = JSON.stringify({ paths: this.routes.paths() }, undefined, 2);
    response.end(body);
  };

  private readonly keepFirstAnnotation = (auditId: string, key: string, value: string, known: string): void =>
    this.config.logger.warn('audit annotation is already set; keeping the first value', { auditId, key, value, known });
}
