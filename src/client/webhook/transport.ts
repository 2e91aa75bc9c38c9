import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { pipeline } from 'node:stream';
import { readBounded } from '../../util/files/read-bounded.js';
import { ResponseError, type WebhookResponse, type WebhookTransport } from './connection.js';
import { Connections, type CredentialSource } from './connections.js';
import { KubeconfigError, type ReadFile, type RemoteConfig } from './kubeconfig.js';

/** Longer answers are not read: a review is small. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Posts to the exact URL of the kubeconfig over kept-alive TLS connections. */
export class HttpsTransport implements WebhookTransport {
  private readonly connections: Connections;

  constructor(
    private readonly remote: RemoteConfig,
    readFile: ReadFile,
    source: CredentialSource | undefined,
  ) {
    // Without its plugin the user would silently be nobody.
    if (remote.exec !== undefined && source === undefined) {
      throw new KubeconfigError('invalid configuration: nothing runs the credential plugin of the user');
    }
    this.connections = new Connections(remote, readFile, source);
  }

  async post(body: string, timeoutMillis: number, signal: AbortSignal): Promise<WebhookResponse> {
    const deadline = AbortSignal.timeout(timeoutMillis);
    const both = AbortSignal.any([signal, deadline]);
    try {
      const response = await this.send(body, await this.remote.dial?.(), both);
      if (response.status === 401) this.connections.rejected();
      return response;
    } catch (error) {
      throw this.wrap(error, deadline.aborted && !signal.aborted);
    }
  }

  /** Calls under way end by themselves; then the connections are closed. */
  close(): void {
    this.connections.close();
  }

  private async send(
    body: string,
    address: { readonly host: string; readonly port: number } | undefined,
    signal: AbortSignal,
  ): Promise<WebhookResponse> {
    const { url, maxAnswerBytes = MAX_ANSWER_BYTES } = this.remote;
    const lease = await this.connections.lease(signal);
    const bytes = Buffer.from(body);
    const headers = {
      ...lease.headers,
      ...(address !== undefined && { host: hostAndPort(url) }),
      'content-type': 'application/json',
      accept: 'application/json, */*',
      'content-length': bytes.length,
    };
    // The URL gives a hostname, which goes before a host.
    const remote = address && { hostname: address.host, port: address.port };
    const answer = new Promise<WebhookResponse>((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, agent: lease.agent, signal, ...remote }, (response) => {
        readAnswer(response, maxAnswerBytes).then(resolve, reject);
      });
      // What goes wrong on the way is told by the request's own error.
      pipeline(piecesOf(bytes), sent.on('error', reject), () => undefined);
    });
    return answer.finally(() => {
      lease.release();
    });
  }

  private wrap(error: unknown, timedOut: boolean): ResponseError {
    const { url, dial } = this.remote;
    // Kubernetes writes the port of a service also where it is the one of https.
    const shown = dial === undefined ? url.href : `${url.protocol}//${hostAndPort(url)}${url.pathname}${url.search}`;
    const where = `Post "${shown}"`;
    if (timedOut) {
      return new ResponseError(
        `${where}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
        false,
        true,
      );
    }
    const text = networkText(error);
    const reset = error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
    return new ResponseError(`${where}: ${text}`, reset);
  }
}

/** A connection encrypts at once what it is given at once, and everybody else would wait for that. */
const PIECE = 128 << 10;

function* piecesOf(bytes: Buffer): Generator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

const hostAndPort = ({ hostname, port }: URL): string => `${hostname}:${port === '' ? '443' : port}`;

const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** What kept a connection from being made, as Kubernetes' client says it. */
function networkText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, address, port, hostname } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
    hostname?: string;
  };
  if (code === 'ECONNREFUSED' && address !== undefined) {
    return `dial tcp ${address}:${String(port)}: connect: connection refused`;
  }
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${hostname ?? ''}: no such host`;
  if (code !== undefined && UNKNOWN_AUTHORITY.has(code)) {
    return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
  }
  return error.message;
}

async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<WebhookResponse> {
  const bytes = await readBounded(response, maxBytes);
  return {
    status: response.statusCode ?? 0,
    body: bytes.toString('utf8'),
    contentType: response.headers['content-type'] ?? '',
    retryAfter: response.headers['retry-after'] !== undefined,
  };
}
