import type { Agent as HttpAgent } from 'node:http';
import { Agent, type AgentOptions } from 'node:https';
import { checkServerIdentity as checkIdentity } from 'node:tls';
import { HttpsProxyAgent } from 'hpagent';
import { SocksProxyAgent } from 'socks-proxy-agent';
import type { ReadFile, RemoteConfig } from './kubeconfig.js';

const MAX_SOCKETS = 128;

/** Credentials that a plugin gives, for users with an `exec` entry. */
export interface CredentialSource {
  credentials(
    signal: AbortSignal,
  ): Promise<{ readonly token?: string; readonly certificate?: string; readonly key?: string }>;
  /** The service did not accept them. */
  rejected(): void;
}

/** What one call needs; to be released at its end, more than once is no harm. */
export interface Lease {
  readonly agent: HttpAgent;
  /** Who calls, as far as headers say it. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  release(): void;
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
    readonly agent: HttpAgent,
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

/** Kept-alive TLS connections to the service of a kubeconfig, as its user. */
export class Connections {
  private pool: Pool | undefined;

  constructor(
    private readonly remote: RemoteConfig,
    private readonly readFile: ReadFile,
    private readonly source: CredentialSource | undefined,
  ) {}

  async lease(signal: () => AbortSignal): Promise<Lease> {
    const identity = await this.identity(signal);
    const pool = this.poolFor(identity);
    pool.begin();
    let held = true;
    return {
      agent: pool.agent,
      headers: this.headersOf(identity),
      release: () => {
        if (held) pool.end();
        held = false;
      },
    };
  }

  /** The service did not accept who called. */
  rejected(): void {
    this.source?.rejected();
  }

  /** Calls under way end by themselves; then the connections are closed. */
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

  /** A different certificate takes new connections. */
  private poolFor({ certificate, key }: ClientIdentity): Pool {
    const identity = `${certificate ?? ''}\n${key ?? ''}`;
    if (this.pool?.identity === identity) return this.pool;
    this.pool?.retire();
    const { ca, serverName, skipVerification, proxy } = this.remote;
    const options: AgentOptions = {
      keepAlive: true,
      maxSockets: this.remote.maxCalls ?? MAX_SOCKETS,
      rejectUnauthorized: !skipVerification,
      ...(ca !== undefined && { ca }),
      ...(serverName !== undefined && { servername: serverName }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    };
    this.pool = new Pool(identity, makeAgent(options, proxy, serverName ?? this.remote.url.hostname));
    return this.pool;
  }
}

/** By way of a proxy where the kubeconfig names one. */
function makeAgent(options: AgentOptions, proxy: URL | undefined, host: string): HttpAgent {
  if (proxy === undefined) return new Agent(options);
  if (proxy.protocol === 'socks5:') {
    // The agent forgets addresses that are no names, and would take a certificate for localhost instead.
    const checkServerIdentity: AgentOptions['checkServerIdentity'] = (_host, certificate) =>
      checkIdentity(host.replace(/^\[|\]$/g, ''), certificate);
    return new SocksProxyAgent(proxy, { ...options, checkServerIdentity } as AgentOptions);
  }
  const { ca, rejectUnauthorized = true } = options;
  const proxyRequestOptions = { rejectUnauthorized, ...(typeof ca === 'string' && { ca: [ca] }) };
  return new HttpsProxyAgent({ ...options, proxy, proxyRequestOptions });
}
