import type { TLSSocket } from 'node:tls';
import { messageOf } from '../../util/error-message.js';
import type { Clock } from '../../util/clock.js';
import { headerText } from '../../util/text/header-text.js';
import { unescapePath } from '../../go/unescape-path.js';
import {
  AuthenticationError,
  type AuthenticationRequest,
  type AuthenticationResponse,
  type RequestAuthenticator,
} from '../authenticator/interfaces.js';
import type { ClientCaPool, PeerChain } from './client-ca.js';
import { peerChain, verifyChain } from './x509.js';

/** The headers in which a trusted front proxy sends the user. Header names are case-insensitive. */
export interface RequestHeaderConfig {
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeaderPrefixes: readonly string[];
  /** The allowed common names of the proxy's certificate; empty: any certificate that the CA verifies. */
  readonly allowedNames: readonly string[];
}

/** Trusts the user headers of a front proxy whose client certificate is verified by the request-header CA. */
export class RequestHeaderAuthenticator implements RequestAuthenticator {
  /** Connections whose certificate has been verified. */
  private readonly trusted = new WeakMap<TLSSocket, { readonly generation: number; readonly until: number }>();

  constructor(
    private readonly pool: ClientCaPool,
    /** Called on every request: in aggregated mode the settings change while the server runs. */
    private readonly config: () => RequestHeaderConfig,
    private readonly clock: Clock,
  ) {}

  authenticateRequest(request: AuthenticationRequest): AuthenticationResponse | undefined {
    const { socket } = request;
    if (socket === undefined) return undefined;
    const chain = peerChain(socket);
    if (chain === null) return undefined;
    const config = this.config();
    this.verify(socket, chain);
    const { commonName } = chain.leaf;
    if (config.allowedNames.length > 0 && !config.allowedNames.includes(commonName)) {
      throw new AuthenticationError(`x509: subject with cn=${commonName} is not in the allowed list`);
    }
    return fromHeaders(request.rawHeaders, config);
  }

  private verify(socket: TLSSocket, chain: PeerChain): void {
    const now = this.clock.now();
    const { generation } = this.pool;
    const known = this.trusted.get(socket);
    if (known?.generation === generation && now <= known.until) return;
    try {
      this.trusted.set(socket, { generation, until: verifyChain(this.pool, chain, now) });
    } catch (error) {
      throw new AuthenticationError(messageOf(error));
    }
  }
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const wanted = name.toLowerCase();
  const out: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === wanted) out.push(headerText(rawHeaders[i + 1] ?? ''));
  }
  return out;
}

/** Returns the first non-empty first value among the headers, or ''. */
function firstValue(rawHeaders: readonly string[], names: readonly string[]): string {
  for (const name of names) {
    const value = valuesOf(rawHeaders, name)[0];
    if (value !== undefined && value !== '') return value;
  }
  return '';
}

function fromHeaders(rawHeaders: readonly string[], config: RequestHeaderConfig): AuthenticationResponse | undefined {
  const name = firstValue(rawHeaders, config.usernameHeaders);
  if (name === '') return undefined;
  const groups = config.groupHeaders.flatMap((header) => valuesOf(rawHeaders, header)).filter((group) => group !== '');
  const extra: Record<string, string[]> = {};
  for (const prefix of config.extraHeaderPrefixes) {
    const wanted = prefix.toLowerCase();
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const header = rawHeaders[i]?.toLowerCase() ?? '';
      if (!header.startsWith(wanted)) continue;
      const encoded = header.slice(wanted.length);
      const key = unescapePath(encoded) ?? encoded;
      const value = headerText(rawHeaders[i + 1] ?? '');
      // Keys come from the client and may be `constructor`, so only own properties count.
      if (Object.hasOwn(extra, key)) extra[key]?.push(value);
      else extra[key] = [value];
    }
  }
  return { user: { name, uid: firstValue(rawHeaders, config.uidHeaders), groups, extra }, viaProxy: true };
}
