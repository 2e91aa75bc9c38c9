import { connect as connectHttp2, type ClientHttp2Session, constants } from 'node:http2';
import { connect } from 'node:net';
import { messageOf } from '../../../util/error-message.js';
import { type Clock, sleep } from '../../../util/clock.js';
import { percentDecoded } from '../../../util/text/percent-decoded.js';
import { TransformError } from '../transformer.js';

const PREFIX = 5;
const MAX_ANSWER = 4 << 20;
const RETRY_MILLIS = 100;
const CODES = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

/** Returns an error in the wording of Go's gRPC. */
const rpcError = (code: (typeof CODES)[number], description: string): TransformError =>
  new TransformError(`rpc error: code = ${code} desc = ${description}`, { temporary: true, status: code });

/** Makes unary calls to a service on a unix socket. Connects on demand, and again after the connection has ended. */
export class GrpcClient {
  private session: ClientHttp2Session | undefined;
  private closed = false;

  constructor(
    /** A path; an abstract socket starts with `@`. */
    private readonly socket: string,
    private readonly clock: Clock,
  ) {}

  /** Calls a method, `/<service>/<method>`. Waits for the service to be reachable for as long as the call may take. Throws TransformError. */
  async call(method: string, request: Uint8Array, timeoutMillis: number): Promise<Uint8Array> {
    const late = new AbortController();
    const timer = this.clock.setTimer(timeoutMillis, () => late.abort());
    try {
      for (;;) {
        const answer = await this.attempt(method, request, late.signal);
        if (answer !== undefined) return answer;
        await sleep(this.clock, RETRY_MILLIS, late.signal);
        if (late.signal.aborted) throw rpcError('DeadlineExceeded', 'context deadline exceeded');
        if (this.closed) throw rpcError('Canceled', 'grpc: the client connection is closing');
      }
    } finally {
      timer.cancel();
    }
  }

  close(): void {
    this.closed = true;
    this.session?.close();
    this.session = undefined;
  }

  /** Returns undefined if the service could not be reached; nothing was sent then. */
  private attempt(method: string, request: Uint8Array, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const session = this.connected();
    return new Promise((resolve, reject) => {
      let reached = !session.connecting;
      const stream = session.request({
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: method,
        [constants.HTTP2_HEADER_AUTHORITY]: 'localhost',
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        [constants.HTTP2_HEADER_TE]: 'trailers',
      });
      const fail = (error: TransformError): void => {
        reject(error);
        stream.close(constants.NGHTTP2_CANCEL);
      };
      const expired = (): void => fail(rpcError('DeadlineExceeded', 'context deadline exceeded'));
      signal.addEventListener('abort', expired, { once: true });
      if (signal.aborted) expired();
      const chunks: Buffer[] = [];
      let size = 0;
      let status: Status | undefined;
      const note = (headers: Readonly<Record<string, unknown>>): void => {
        if (headers['grpc-status'] !== undefined) status = statusOf(headers);
      };
      session.once('connect', () => (reached = true));
      stream.on('response', (headers) => {
        reached = true;
        const http = headers[':status'];
        if (http === 200) note(headers);
        else fail(rpcError('Unknown', `unexpected HTTP status code received from server: ${String(http)}`));
      });
      stream.on('trailers', note);
      stream.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_ANSWER) fail(rpcError('ResourceExhausted', 'grpc: received message larger than max'));
        else chunks.push(chunk);
      });
      stream.on('error', (error) => {
        if (reached) reject(rpcError('Unavailable', messageOf(error)));
        else resolve(undefined);
      });
      stream.on('close', () => {
        signal.removeEventListener('abort', expired);
        if (status === undefined) {
          if (reached) reject(rpcError('Unavailable', 'connection error: the stream ended without a status'));
          else resolve(undefined);
        } else if (status.code !== 'OK') reject(rpcError(status.code, status.message));
        else settle(Buffer.concat(chunks), resolve, reject);
      });
      stream.end(framed(request));
    });
  }

  private connected(): ClientHttp2Session {
    const { session } = this;
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    const path = this.socket.startsWith('@') ? `\0${this.socket.slice(1)}` : this.socket;
    const made = connectHttp2('http://localhost', { createConnection: () => connect({ path }) });
    // The streams report the error.
    made.on('error', () => made.destroy());
    made.on('goaway', () => made.close());
    made.unref();
    this.session = made;
    return made;
  }
}

interface Status {
  readonly code: (typeof CODES)[number];
  readonly message: string;
}

function statusOf(headers: Readonly<Record<string, unknown>>): Status {
  const message = headers['grpc-message'];
  return {
    code: CODES[Number(headers['grpc-status'])] ?? 'Unknown',
    message: typeof message === 'string' ? percentDecoded(message) : '',
  };
}

function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(PREFIX + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX);
  return frame;
}

function settle(body: Buffer, resolve: (message: Uint8Array) => void, reject: (error: TransformError) => void): void {
  if (body.length < PREFIX || body[0] !== 0 || body.readUInt32BE(1) !== body.length - PREFIX)
    reject(rpcError('Internal', 'grpc: the response is not a single uncompressed message'));
  else resolve(body.subarray(PREFIX));
}
