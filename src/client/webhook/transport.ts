import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { ResponseError, type WebhookResponse, type WebhookTransport } from './connection.js';
import { KubeconfigError, type ReadFile, type RemoteConfig } from './kubeconfig.js';

/** Longer answers are not read: a review is small. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_SOCKETS = 128;

/** Credentials that a plugin gives, for users with an `exec` entry. */
export interface CredentialSource {
  credentials(
    signal: AbortSignal,
  ): Promise<{ readonly token?: string; readonly certificate?: string; readonly key?: string }>;
  /** The service did not accept them. */
  rejected(): void;
}

interface ClientIdentity {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** The connections of one client identity. One that is given up closes when its last call has ended. */
class Pool {
  private calls = 0;
  private retired = false;

  constructor(
    readonly identity: string,
    readonly agent: Agent,
  ) {}

  begin(): void {
    this.calls++;
  }

  end(): void {
    this.calls--;
    if (this.retired && this.calls === 0) this.agent.destroy();
  }

  retire(): void {
    this.retired = true;
    if (this.calls === 0) this.agent.destroy();
  }
}

/** Posts to the exact URL of the kubeconfig over kept-alive TLS connections. */
export class HttpsTransport implements WebhookTransport {
  private pool: Pool | undefined;

  constructor(
    private readonly remote: RemoteConfig,
    private readonly readFile: ReadFile,
    private readonly source: CredentialSource | undefined,
  ) {
    // Without its plugin the user would silently be nobody.
    if (remote.exec !== undefined && source === undefined) {
      throw new KubeconfigError('invalid configuration: nothing runs the credential plugin of the user');
    }
  }

  async post(body: string, timeoutMillis: number, signal: AbortSignal): Promise<WebhookResponse> {
    const deadline = AbortSignal.timeout(timeoutMillis);
    const both = AbortSignal.any([signal, deadline]);
    try {
      const identity = await this.identity(both);
      const response = await this.send(body, identity, await this.remote.dial?.(), both);
      if (response.status === 401) this.source?.rejected();
      return response;
    } catch (error) {
      throw this.wrap(error, deadline.aborted && !signal.aborted);
    }
  }

  /** Calls under way end by themselves; then the connections are closed. */
  close(): void {
    this.pool?.retire();
    this.pool = undefined;
  }

  private async identity(signal: AbortSignal): Promise<ClientIdentity> {
    const { certificate, key, token, tokenFile } = this.remote;
    if (this.source !== undefined) {
      const given = await this.source.credentials(signal);
      return {
        token: given.token ?? token,
        certificate: given.certificate ?? certificate,
        key: given.key ?? key,
      };
    }
    const fromFile = tokenFile === undefined ? undefined : (await this.readFile(tokenFile)).trim();
    return { token: fromFile ?? token, certificate, key };
  }

  private send(
    body: string,
    identity: ClientIdentity,
    address: { readonly host: string; readonly port: number } | undefined,
    signal: AbortSignal,
  ): Promise<WebhookResponse> {
    const { url, basic, maxAnswerBytes = MAX_ANSWER_BYTES } = this.remote;
    const headers: Record<string, string | number> = {
      ...(address !== undefined && { host: url.host }),
      'content-type': 'application/json',
      accept: 'application/json, */*',
      'content-length': Buffer.byteLength(body),
    };
    if (identity.token !== undefined) headers['authorization'] = `Bearer ${identity.token}`;
    else if (basic !== undefined) {
      headers['authorization'] = `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
    }
    const pool = this.poolFor(identity);
    pool.begin();
    const answer = new Promise<WebhookResponse>((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, agent: pool.agent, signal, ...address }, (response) => {
        readAnswer(response, maxAnswerBytes).then(resolve, reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
    return answer.finally(() => pool.end());
  }

  /** A different certificate takes new connections. */
  private poolFor({ certificate, key }: ClientIdentity): Pool {
    const identity = `${certificate ?? ''}\n${key ?? ''}`;
    if (this.pool?.identity === identity) return this.pool;
    this.pool?.retire();
    const { ca, serverName, skipVerification } = this.remote;
    const agent = new Agent({
      keepAlive: true,
      maxSockets: MAX_SOCKETS,
      rejectUnauthorized: !skipVerification,
      ...(ca !== undefined && { ca }),
      ...(serverName !== undefined && { servername: serverName }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    });
    this.pool = new Pool(identity, agent);
    return this.pool;
  }

  private wrap(error: unknown, timedOut: boolean): ResponseError {
    const where = `Post "${this.remote.url.href}"`;
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
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) {
      response.destroy();
      throw new Error(`the answer is longer than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    body: Buffer.concat(chunks).toString('utf8'),
    retryAfter: response.headers['retry-after'] !== undefined,
  };
}
