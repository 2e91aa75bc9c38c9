import type { Agent as HttpAgent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { systemClock } from '../../util/clock.js';
import { agentFor, type Egress, hostEgress, plainRequest, withTrust } from '../egress/egress.js';
import { type Address, ConnectionPool } from '../http1/connection-pool.js';
import { checkServerIdentity } from './peer-certificates.js';
import type { ReadFile, RemoteConfig } from './kubeconfig.js';

const MAX_SOCKETS = 128;

/** Credentials from a plugin, for users with an `exec` entry. */
export interface CredentialSource {
  credentials(
    signal: AbortSignal,
  ): Promise<{ readonly token?: string; readonly certificate?: string; readonly key?: string }>;
  /** Called when the service rejected the credentials. */
  rejected(): void;
}

/** The resources of one call. It is released when the call ends; releasing it again is harmless. */
export interface Lease {
  readonly agent: HttpAgent;
  /** Carries requests to the service itself, unless there is a proxy or no TLS: node:https costs nearly twice as much. */
  readonly direct: ConnectionPool | undefined;
  /** The headers that identify the user. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  release(): void;
}

interface ClientIdentity {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** The connections of one client identity. A retired pool closes when its last call has ended. */
class Pool {
  private calls = 0;
  private retired = false;

  constructor(
    readonly identity: string,
    readonly agent: HttpAgent,
    readonly direct: ConnectionPool | undefined,
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
    this.direct?.retire();
    if (this.calls === 0) this.agent.destroy();
  }
}

/** Kept-alive TLS connections to the service of a kubeconfig, as its user. */
export class Connections {
  private pool: Pool | undefined;

  constructor(
    private readonly remote: RemoteConfig,
    private readonly readFile: ReadFile,
    private readonly source: CredentialSource | undefined,
    private readonly egress: Egress = hostEgress(),
  ) {}

  async lease(signal: () => AbortSignal): Promise<Lease> {
    const identity = await this.identity(signal);
    const pool = this.poolFor(identity);
    pool.begin();
    let held = true;
    return {
      agent: pool.agent,
      direct: pool.direct,
      headers: this.headersOf(identity),
      release: () => {
        if (held) pool.end();
        held = false;
      },
    };
  }

  /** Sends a request without TLS. */
  plainRequest(url: URL, options: RequestOptions, answered: (response: IncomingMessage) => void): ClientRequest {
    return plainRequest(url, options, this.remote.proxy ?? this.egress.proxyFor(url), this.egress, answered);
  }

  /** Called when the service rejected the caller. */
  rejected(): void {
    this.source?.rejected();
  }

  /** Lets the calls in progress finish, then closes the connections. */
  close(): void {
    this.pool?.retire();
    this.pool = undefined;
  }

  private async identity(signal: () => AbortSignal): Promise<ClientIdentity> {
    const { certificate, key, token, tokenFile } = this.remote;
    if (this.source !== undefined) {
      const given = await this.source.credentials(signal());
      return { token: given.token ?? token, certificate: given.certificate ?? certificate, key: given.key ?? key };
    }
    const fromFile = tokenFile === undefined ? undefined : (await this.readFile(tokenFile)).trim();
    return { token: fromFile ?? token, certificate, key };
  }

  private headersOf({ token }: ClientIdentity): Lease['headers'] {
    const { basic, impersonation } = this.remote;
    if (token !== undefined) return { ...impersonation, authorization: `Bearer ${token}` };
    if (basic === undefined) return { ...impersonation };
    const credentials = Buffer.from(`${basic.username}:${basic.password}`).toString('base64');
    return { ...impersonation, authorization: `Basic ${credentials}` };
  }

  /** A different certificate requires new connections. */
  private poolFor({ certificate, key }: ClientIdentity): Pool {
    const identity = `${certificate ?? ''}\n${key ?? ''}`;
    if (this.pool?.identity === identity) return this.pool;
    this.pool?.retire();
    const { url, ca, serverName, skipVerification, proxy = this.egress.proxyFor(url) } = this.remote;
    const maxSockets = this.remote.maxCalls ?? MAX_SOCKETS;
    const options: ConnectionOptions = {
      rejectUnauthorized: !skipVerification,
      checkServerIdentity,
      ...(ca !== undefined && { ca }),
      ...(serverName !== undefined && { servername: serverName }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    };
    const agent = agentFor(url, { ...options, keepAlive: true, maxSockets }, proxy, this.egress);
    const direct = url.protocol === 'https:' && proxy === undefined ? this.directPool(options, maxSockets) : undefined;
    this.pool = new Pool(identity, agent, direct);
    return this.pool;
  }

  private directPool(options: ConnectionOptions, max: number): ConnectionPool {
    let trusting: ConnectionOptions | undefined;
    const dial = ({ host, port, serverName }: Address): TLSSocket => {
      trusting ??= { ALPNProtocols: ['http/1.1'], ...withTrust(options, this.egress) };
      return connect({ servername: serverName, ...trusting, host, port });
    };
    return new ConnectionPool(dial, max, systemClock);
  }
}
