import { EventEmitter } from 'node:events';
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse, STATUS_CODES } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { bearerProtocol } from '../../authentication/request/websocket-protocol.js';
import type { HttpResponse, MessageForm } from '../../endpoints/http.js';

/** The maximum bytes of a message from a client. Messages are ignored, but must not fill the memory. */
const MAX_RECEIVED_BYTES = 65_536;
const NORMAL_CLOSURE = 1000;

const handshakes = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_RECEIVED_BYTES,
  autoPong: false,
  handleProtocols: (protocols) => [...protocols].find((protocol) => !bearerProtocol(protocol)) ?? false,
});

interface Refusal {
  readonly code: number;
  readonly head: string;
  readonly text: string;
}

const refused = (code: number, text: string, head = ''): Refusal => ({ code, head, text });

/** Returns the error that Go's WebSocket server reports for a handshake request, in its words. */
function problemOf({ method, headers }: IncomingMessage): Refusal | undefined {
  if (method !== 'GET') return refused(405, 'bad method');
  if ((headers['sec-websocket-key'] ?? '') === '') return refused(400, 'mismatch challenge/response');
  if (headers['sec-websocket-version'] !== '13')
    return refused(400, 'missing or bad WebSocket Version', 'Sec-WebSocket-Version: 13\r\n');
  // Any origin is allowed, but the header must be valid and present.
  const { origin = '' } = headers;
  if (!origin.startsWith('/') && !URL.canParse(origin)) return refused(403, '');
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((item) => item.trim());
  if (protocols.filter((protocol) => protocol !== '' && !bearerProtocol(protocol)).length > 1) return refused(400, '');
  return undefined;
}

/**
 * The response to a request whose connection node:http has given away. It is an ordinary response, after which the connection
 * ends. A watch over a WebSocket turns it into a stream of messages.
 */
export class UpgradeResponse extends ServerResponse {
  constructor(
    request: IncomingMessage,
    private readonly wire: TLSSocket,
    /** The bytes that were read beyond the request. */
    private readonly head: Buffer,
  ) {
    super(request);
    this.shouldKeepAlive = false;
    this.assignSocket(wire);
    wire.on('error', () => {
      wire.destroy();
    });
    this.on('finish', () => {
      this.detachSocket(wire);
      wire.destroySoon();
    });
  }

  /** Returns a stream of messages that replaces the response; undefined if the handshake is refused, which is then already answered. */
  openMessages(form: MessageForm): HttpResponse | undefined {
    const { req, wire } = this;
    wire.once('close', () => {
      this.destroyed = true;
      this.emit('close');
    });
    this.detachSocket(wire);
    const problem = problemOf(req);
    // Observers see that the response has begun, but it no longer sends anything itself.
    this.writeHead(problem?.code ?? 101);
    if (problem === undefined) return new MessageStream(req, wire, this.head, form);
    const { code, head, text } = problem;
    wire.write(`HTTP/1.1 ${String(code)} ${STATUS_CODES[code] ?? ''}\r\n${head}\r\n${text}`);
    wire.destroySoon();
    return undefined;
  }
}

/** A response that sends each write as a message of its own. */
class MessageStream extends EventEmitter implements HttpResponse {
  statusCode = 101;
  headersSent = false;
  writableEnded = false;
  readonly messages = true;
  private client: WebSocket | undefined;

  constructor(
    private readonly request: IncomingMessage,
    private readonly wire: TLSSocket,
    private readonly head: Buffer,
    private readonly form: MessageForm,
  ) {
    super();
    wire.on('drain', () => this.emit('drain'));
    wire.once('close', () => this.emit('close'));
  }

  get destroyed(): boolean {
    return this.wire.destroyed;
  }

  /** Performs the handshake. */
  flushHeaders(): void {
    if (this.headersSent || this.destroyed) return;
    this.headersSent = true;
    handshakes.handleUpgrade(this.request, this.wire, this.head, (client) => {
      this.client = client;
      // An invalid frame ends the connection.
      client.on('error', () => undefined);
      // Do not answer a client that does not read, or pongs would fill the memory.
      client.on('ping', (data: Buffer) => {
        if (!this.wire.writableNeedDrain) client.pong(data);
      });
    });
  }

  write(body: Uint8Array): boolean {
    this.flushHeaders();
    if (this.writableEnded) return true;
    const { binary, prefix } = this.form;
    this.client?.send(body.subarray(prefix), { binary });
    return !this.wire.writableNeedDrain;
  }

  end(): this {
    this.flushHeaders();
    this.writableEnded = true;
    this.client?.close(NORMAL_CLOSURE);
    return this;
  }

  destroy(): this {
    this.wire.destroy();
    return this;
  }

  writeHead(): this {
    this.flushHeaders();
    return this;
  }

  // The handshake carries no headers from handlers.

  setHeader(): this {
    return this;
  }

  getHeader(): undefined {
    return undefined;
  }

  getHeaders(): OutgoingHttpHeaders {
    return {};
  }

  removeHeader(): void {
    // There are no headers.
  }

  writeContinue(): void {
    // A WebSocket request has no body.
  }
}
