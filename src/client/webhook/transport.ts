import type { Agent as HttpAgent, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { pipeline } from 'node:stream';
import { isNativeError } from 'node:util/types';
import { quote } from '../../apimachinery/meta/meta.js';
import { urlFault } from '../../apimachinery/validation/url-fault.js';
import type { Cancellation } from '../../util/cancellation.js';
import { currentSpan } from '../../util/tracing.js';
import { ResponseError, type WebhookResponse, type WebhookTransport } from './connection.js';
import type { Egress } from '../egress/egress.js';
import { Connections, type CredentialSource } from './connections.js';
import { answerBudget, type AnswerShare } from './answer-budget.js';
import { asError } from '../../util/error-message.js';
import { ByteCollector } from '../http1/byte-collector.js';
import { requestBytes, type RequestHead } from '../http1/request-bytes.js';
import { CallLimit } from './call-limit.js';
import { type ConnectionPool, RequestFailure } from '../http1/connection-pool.js';
import { certificateFault, countFaults } from './peer-certificates.js';
import { KubeconfigError, type ReadFile, type RemoteConfig } from './kubeconfig.js';
import { redactedAddress } from '../../util/text/redacted-address.js';

/** Longer responses are rejected: a review is small. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Posts to the exact URL of the kubeconfig over kept-alive TLS connections. */
export class HttpsTransport implements WebhookTransport {
  private readonly connections: Connections;

  constructor(
    private readonly remote: RemoteConfig,
    readFile: ReadFile,
    source: CredentialSource | undefined,
    egress?: Egress,
  ) {
    // Without its plugin, the user would silently be anonymous.
    if (remote.exec !== undefined && source === undefined) {
      throw new KubeconfigError('invalid configuration: the credential plugin of the user is not supported here');
    }
    this.connections = new Connections(remote, readFile, source, egress);
  }

  async post(body: string, timeoutMillis: number, cancellation: Cancellation): Promise<WebhookResponse> {
    const limit = new CallLimit(timeoutMillis, cancellation);
    const share = answerBudget.begin(this.remote.maxAnswerBytes ?? MAX_ANSWER_BYTES);
    const call: Call = { method: 'POST', url: this.remote.url, redirects: 0, onReusedConnection: false, share };
    try {
      const response = await this.follow(call, Buffer.from(body), limit);
      if (response.status === 401) this.connections.rejected();
      return response;
    } catch (error) {
      throw this.wrap(error, call, limit.timedOut);
    } finally {
      limit.release();
      share.release();
    }
  }

  /** Lets the calls in progress finish, then closes the connections. */
  close(): void {
    this.connections.close();
  }

  /** Follows redirects, as Go's client does. `call` records the progress. */
  private async follow(call: Call, body: Buffer, limit: CallLimit): Promise<WebhookResponse> {
    for (;;) {
      const { response, location } = await this.send(call, call.method === 'POST' ? body : NOTHING, limit);
      if (location === undefined) return response;
      const keepsMethod = response.status === 307 || response.status === 308;
      if (!URL.canParse(location, call.url.href)) {
        const why = `parse ${quote(location)}: ${urlFault(location) ?? 'invalid URL'}`;
        throw new Error(`failed to parse Location header ${quote(location)}: ${why}`);
      }
      call.url = new URL(location, call.url);
      this.checkRedirect(call.url);
      if (!keepsMethod) call.method = 'GET';
      if (++call.redirects >= MAX_REDIRECTS) {
        call.location = location;
        throw new Error(`stopped after ${String(MAX_REDIRECTS)} redirects`);
      }
    }
  }

  private checkRedirect(url: URL): void {
    const scheme = url.protocol.slice(0, -1);
    // node:https would call port 443 of this machine.
    if (scheme !== 'http' && scheme !== 'https') throw new Error(`unsupported protocol scheme ${quote(scheme)}`);
    if (this.remote.staysOnServer === true && url.origin !== this.remote.url.origin)
      throw new Error('a redirect to another server is not followed');
  }

  private async send(call: Call, body: Buffer, limit: CallLimit): Promise<Answered> {
    const { method, url } = call;
    const isOwn = url.host === this.remote.url.host && url.protocol === this.remote.url.protocol;
    const address = isOwn ? await this.remote.dial?.() : undefined;
    const span = currentSpan();
    const lease = await this.connections.lease(() => limit.signal());
    const headers = {
      // Other servers must not receive the credentials.
      ...(isOwn && lease.headers),
      ...(address !== undefined && { host: hostAndPort(url) }),
      ...(method === 'POST' && { 'content-type': 'application/json', 'content-length': body.length }),
      accept: 'application/json, */*',
      ...(span !== undefined && { traceparent: span.traceparent }),
    };
    const { hostname, port } = address === undefined ? url : { hostname: address.host, port: String(address.port) };
    const options = {
      method,
      headers,
      // Node's own parsing of a URL costs more than all of this.
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      path: url.pathname + url.search,
      ...(url.username !== '' && { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` }),
    };
    try {
      limit.check();
      if (isOwn && lease.direct !== undefined && body.length <= PIECE)
        return await this.sendDirectly(lease.direct, call, options, body, limit);
      return await this.sendByNode(lease.agent, call, options, body, limit);
    } finally {
      lease.release();
    }
  }

  private async sendDirectly(
    direct: ConnectionPool,
    call: Call,
    { hostname, port, ...options }: Sent,
    body: Buffer,
    limit: CallLimit,
  ): Promise<Answered> {
    const name = call.url.hostname;
    try {
      const { response, socket } = await direct.request({
        address: {
          host: hostname,
          port: Number(port || 443),
          serverName: isIP(name.replace(/^\[|\]$/g, '')) === 0 ? name : '',
        },
        bytes: requestBytes({ ...options, host: call.url.host }, body),
        checkLength: (length) => call.share.check(length),
        onOver: (listener) => limit.onOver(listener),
      });
      countFaults(socket);
      const { status, headers } = response;
      return answered(status, (name) => headers.get(name), response.body());
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      call.onReusedConnection = error.onReusedConnection;
      throw error.cause;
    }
  }

  private sendByNode(agent: HttpAgent, call: Call, options: Sent, body: Buffer, limit: CallLimit): Promise<Answered> {
    const { url, share } = call;
    return new Promise<Answered>((resolve, reject) => {
      const onResponse = (response: IncomingMessage): void => {
        countFaults(response.socket);
        readAnswer(response, share, resolve, reject);
      };
      const sent =
        url.protocol === 'http:'
          ? this.connections.plainRequest(url, options, onResponse)
          : request({ ...options, agent }, onResponse);
      limit.onOver((error) => sent.destroy(error));
      sent.on('error', (error) => {
        call.onReusedConnection = sent.reusedSocket;
        reject(error);
      });
      // The request's own error event reports failures of the pipeline.
      if (body.length <= PIECE) sent.end(body);
      else pipeline(piecesOf(body), sent, () => undefined);
    });
  }

  private wrap(error: unknown, { url, location, onReusedConnection }: Call, timedOut: boolean): ResponseError {
    const { dial, timeout, ca } = this.remote;
    // Kubernetes includes the port of a service even if it is the default port of https.
    const shown =
      location !== undefined || dial === undefined
        ? redactedAddress(location ?? url.href)
        : `${url.protocol}//${hostAndPort(url)}${url.pathname}${url.search}`;
    // Go names the method of the first request, whatever the redirects made of it.
    const where = `Post "${shown}"`;
    if (timedOut) {
      const whose = timeout === 'request' ? '' : ' (Client.Timeout exceeded while awaiting headers)';
      return new ResponseError(`${where}: context deadline exceeded${whose}`, { timeout: true });
    }
    const fault = isNativeError(error) ? certificateFault(error, url, ca) : undefined;
    const text = fault === undefined ? networkText(error, url) : `${VERIFICATION}: ${fault.text}`;
    // If a server closes a new connection, that is deliberate; a kept connection may just have expired.
    const reset = isNativeError(error) && 'code' in error && error.code === 'ECONNRESET';
    const transient = reset && (text !== HUNG_UP || onReusedConnection);
    return new ResponseError(`${where}: ${text}`, { transient, annotation: fault?.annotation });
  }
}

/** A request in the form that node:http accepts. */
type Sent = Omit<RequestHead, 'host'> & { readonly hostname: string; readonly port: string };

/** A call in progress. */
interface Call {
  method: 'POST' | 'GET';
  url: URL;
  redirects: number;
  readonly share: AnswerShare;
  /** The redirect at which it was given up, as the server wrote it. */
  location?: string;
  /** True if it failed on a connection that had served other requests before. */
  onReusedConnection: boolean;
}

const HUNG_UP = 'EOF';

/** A response, with its target if it is a redirect. */
interface Answered {
  readonly response: WebhookResponse;
  readonly location: string | undefined;
}

const NOTHING = Buffer.alloc(0);
const MAX_REDIRECTS = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A connection encrypts each write in one go, which blocks the event loop; bodies larger than this are written in pieces. */
const PIECE = 128 << 10;

function* piecesOf(bytes: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

const hostAndPort = ({ hostname, port }: URL): string => `${hostname}:${port === '' ? '443' : port}`;

const VERIFICATION = 'tls: failed to verify certificate: x509';
const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

interface NetworkError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly host?: string;
  readonly cert?: { readonly subjectaltname?: string };
}

/** Describes why a connection or a response failed, in the words of Kubernetes' client. */
function networkText(error: unknown, url: URL): string {
  if (!isNativeError(error)) return String(error);
  const { code = '', address, port, hostname, cert } = error as NetworkError;
  if (code === 'ECONNREFUSED' && address !== undefined) {
    return `dial tcp ${address}:${String(port)}: connect: connection refused`;
  }
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${hostname ?? ''}: no such host`;
  if (code === 'ECONNRESET' && error.message === 'socket hang up') return HUNG_UP;
  if (code === 'EPROTO' && error.message.includes('wrong version number')) {
    return 'http: server gave HTTP response to HTTPS client';
  }
  if (UNKNOWN_AUTHORITY.has(code)) return `${VERIFICATION}: certificate signed by unknown authority`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `${VERIFICATION}: ${nameMismatch(cert?.subjectaltname, url)}`;
  return error.message;
}

/** Describes why a certificate does not match the host that was called. */
function nameMismatch(names: string | undefined, { hostname }: URL): string {
  const host = hostname.replace(/^\[|\]$/g, '');
  const isAddress = isIP(host) !== 0;
  const wanted = isAddress ? 'IP Address:' : 'DNS:';
  const known = (names ?? '')
    .split(', ')
    .filter((name) => name.startsWith(wanted))
    .map((name) => name.slice(wanted.length));
  if (known.length > 0) return `certificate is valid for ${known.join(', ')}, not ${host}`;
  return isAddress
    ? `cannot validate certificate for ${host} because it doesn't contain any IP SANs`
    : `certificate is not valid for any names, but wanted to match ${host}`;
}

/** Collects chunks by events: iterating over the response would cost as much as all the rest of a call. */
function readAnswer(
  response: IncomingMessage,
  share: AnswerShare,
  resolve: (answered: Answered) => void,
  reject: (error: Error) => void,
): void {
  const received = new ByteCollector();
  response.on('error', reject);
  response.on('data', (chunk: Buffer) => {
    try {
      share.check(received.length + chunk.length);
      received.add(chunk);
    } catch (error) {
      response.destroy(asError(error));
    }
  });
  response.on('end', () => {
    const { statusCode: status = 0, headers } = response;
    resolve(answered(status, (name) => headers[name], received.text()));
  });
}

type ReadHeader = (name: 'content-type' | 'location' | 'retry-after') => string | undefined;

function answered(status: number, header: ReadHeader, body: string): Answered {
  const retryAfter = header('retry-after');
  return {
    response: {
      status,
      body,
      contentType: header('content-type') ?? '',
      retryAfter: retryAfter !== undefined,
      retryAfterSeconds: secondsOf(retryAfter),
    },
    location: REDIRECTS.has(status) ? header('location') : undefined,
  };
}

/** Dates are not supported. */
const secondsOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
