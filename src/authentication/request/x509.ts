import { messageOf } from '../../util/error-message.js';
import { watchCache } from '../../util/caches/cache-metrics.js';
import { LruCache } from '../../util/caches/lru-cache.js';
import type { TLSSocket } from 'node:tls';
import type { X509Certificate } from 'node:crypto';
import type { Clock } from '../../util/clock.js';
import { metricsOf } from '../../util/metrics/metrics.js';
import {
  AuthenticationError,
  type AuthenticationRequest,
  type AuthenticationResponse,
  type RequestAuthenticator,
} from '../authenticator/interfaces.js';
import { CertificateInfo } from './certificate-info.js';
import type { ClientCaPool, PeerChain } from './client-ca.js';

const { histogram } = metricsOf();

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
const HOUR = 3600;
const DAY = 24 * HOUR;
const EXPIRATIONS = [
  0,
  1800,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  4 * DAY,
  7 * DAY,
  30 * DAY,
  90 * DAY,
  180 * DAY,
  360 * DAY,
];
const expirations = histogram(
  'apiserver_client_certificate_expiration_seconds',
  'Remaining lifetime in seconds of the client certificates used to authenticate requests.',
  [],
  EXPIRATIONS,
);
/** The maximum size of all remembered chains, in bytes of DER. A chain that takes more than a 64th of it is not remembered. */
const MAX_CHAIN_BYTES = 4 << 20;
const byteLength = ({ leaf, intermediates }: PeerChain): number =>
  [leaf, ...intermediates].reduce((sum, { certificate }) => sum + certificate.raw.length, 0);

/**
 * Verified chains with intermediates by the leaf's fingerprint: a resumed TLS session provides only the leaf. What strangers present
 * is not remembered.
 */
const chains = new LruCache<string, PeerChain>({
  capacity: MAX_CHAIN_BYTES,
  weigh: (_key, chain) => byteLength(chain),
});
watchCache('client_certificates', chains);
const byConnection = new WeakMap<TLSSocket, PeerChain | AuthenticationError | null>();

/** Verifies a chain and remembers it for connections that resume its TLS session. Throws what the pool throws. */
export function verifyChain(pool: ClientCaPool, chain: PeerChain, now: number): number {
  const until = pool.verify(chain, now);
  if (chain.intermediates.length > 0 && byteLength(chain) <= MAX_CHAIN_BYTES / 64)
    chains.set(chain.leaf.fingerprint, chain);
  return until;
}

function readChain(socket: TLSSocket): PeerChain | null {
  const leaf = socket.getPeerX509Certificate();
  if (leaf === undefined) return null;
  const intermediates: CertificateInfo[] = [];
  let current: X509Certificate | undefined = leaf.issuerCertificate;
  while (current !== undefined && intermediates.length < 8) {
    intermediates.push(new CertificateInfo(current));
    current = current.issuerCertificate;
  }
  const chain = { leaf: new CertificateInfo(leaf), intermediates };
  return intermediates.length === 0 ? (chains.get(chain.leaf.fingerprint) ?? chain) : chain;
}

/** Returns the client's certificates, read once per connection, or null if it presented none. Throws if they cannot be read. */
export function peerChain(socket: TLSSocket): PeerChain | null {
  let chain = byConnection.get(socket);
  if (chain === undefined) {
    try {
      chain = readChain(socket);
    } catch (error) {
      chain = new AuthenticationError(
        `the client certificate cannot be read: ${error instanceof Error ? error.message : ''}`,
      );
    }
    byConnection.set(socket, chain);
  }
  if (chain instanceof AuthenticationError) throw chain;
  return chain;
}

interface Verdict {
  readonly generation: number;
  readonly validUntil: number;
  /** The expiry of the client's certificate, in milliseconds since the epoch; undefined without a certificate. */
  readonly notAfter: number | undefined;
  readonly response: AuthenticationResponse | undefined;
}

/** Authenticates by client certificate: the common name is the user name, the organizations are the groups. */
export class X509Authenticator implements RequestAuthenticator {
  private readonly verdicts = new WeakMap<TLSSocket, Verdict>();

  constructor(
    private readonly pool: ClientCaPool,
    private readonly clock: Clock,
    private readonly parseUid: boolean,
  ) {}

  authenticateRequest(request: AuthenticationRequest): AuthenticationResponse | undefined {
    const { socket } = request;
    if (socket === undefined) return undefined;
    const now = this.clock.now();
    const verdict = this.verdicts.get(socket);
    if (verdict !== undefined && verdict.generation === this.pool.generation && now <= verdict.validUntil) {
      if (verdict.notAfter !== undefined) expirations.withLabelValues().observe((verdict.notAfter - now) / 1000);
      return verdict.response;
    }
    const chain = peerChain(socket);
    if (chain === null) return this.keep(socket, { validUntil: Infinity, notAfter: undefined, response: undefined });
    expirations.withLabelValues().observe((chain.leaf.notAfter - now) / 1000);
    let until: number;
    try {
      until = verifyChain(this.pool, chain, now);
    } catch (error) {
      const { serialNumber } = chain.leaf.certificate;
      const why = messageOf(error);
      throw new AuthenticationError(`verifying certificate SN=${serialNumber} failed: ${why}`);
    }
    const { notAfter } = chain.leaf;
    return this.keep(socket, { validUntil: until, notAfter, response: userOf(chain.leaf, this.parseUid) });
  }

  private keep(socket: TLSSocket, verdict: Omit<Verdict, 'generation'>): AuthenticationResponse | undefined {
    this.verdicts.set(socket, { generation: this.pool.generation, ...verdict });
    return verdict.response;
  }
}

function userOf(leaf: CertificateInfo, parseUid: boolean): AuthenticationResponse | undefined {
  if (leaf.commonName === '') return undefined;
  return {
    user: {
      name: leaf.commonName,
      uid: parseUid ? uidOf(leaf) : '',
      groups: leaf.organizations,
      extra: { [CREDENTIAL_ID]: [`X509SHA256=${leaf.fingerprint}`] },
    },
  };
}

function uidOf(leaf: CertificateInfo): string {
  const { uids } = leaf;
  if (uids.length > 1) throw new AuthenticationError(`expected 1 UID, but found multiple: ${uids.join(' ')}`);
  const [uid] = uids;
  if (uid === '') throw new AuthenticationError('UID cannot be an empty string');
  return uid ?? '';
}
