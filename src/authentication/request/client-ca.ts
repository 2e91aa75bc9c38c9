import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pem, pemBlocks } from '../../pki/der.js';
import { CertificateInfo, type SignatureBudget } from './certificate-info.js';

const MAX_DEPTH = 8;
/** The maximum number of signatures checked for one chain, as in Go: certificates of one name allow very many paths. */
const MAX_SIGNATURES = 100;
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ANY_USAGE = '2.5.29.37.0';

/** The certificates that the client presented on a connection, with its own first. */
export interface PeerChain {
  readonly leaf: CertificateInfo;
  readonly intermediates: readonly CertificateInfo[];
}

/** A set of CAs that client certificates are verified against. `generation` increases when the set changes. */
export interface ClientCaPool {
  readonly generation: number;
  /**
   * Throws an Error with the reason if no valid chain leads from the leaf to a CA of the pool at `now`. Returns the
   * time at which the chain that was found expires; it holds as long as the set does not change.
   */
  verify(chain: PeerChain, now: number): number;
  /** The PEM of each CA, for the names that the server sends in the TLS handshake. */
  readonly pems: readonly string[];
}

/** Parses every certificate of a PEM bundle. Throws if there is none or one is malformed. */
export function parseBundle(text: string): CertificateInfo[] {
  const blocks = pemBlocks(text, 'CERTIFICATE');
  if (blocks.length === 0) throw new Error('data does not contain any valid RSA or ECDSA certificates');
  return blocks.map((raw) => new CertificateInfo(new X509Certificate(raw)));
}

/** A bundle that can only be replaced as a whole. */
export class CaBundle implements ClientCaPool {
  private roots: readonly CertificateInfo[];
  private version = 1;

  constructor(text: string) {
    this.roots = parseBundle(text);
  }

  get generation(): number {
    return this.version;
  }

  get pems(): string[] {
    return this.roots.map((root) => pem('CERTIFICATE', root.certificate.raw));
  }

  /** Throws if the bundle is malformed; the old one then stays in use. */
  replace(text: string): void {
    this.roots = parseBundle(text);
    this.version++;
  }

  verify(chain: PeerChain, now: number): number {
    const { leaf } = chain;
    if (leaf.unhandledCriticalExtensions.length > 0) throw new Error('x509: unhandled critical extension');
    checkTime(leaf, now);
    const trusted = this.roots.some((root) => root.certificate.raw.equals(leaf.certificate.raw));
    const path = trusted ? [leaf] : this.pathTo(leaf, chain.intermediates, now, [leaf], { left: MAX_SIGNATURES });
    if (path === undefined) throw new Error('x509: certificate signed by unknown authority');
    for (const certificate of path) {
      const usages = certificate.extKeyUsages;
      if (usages.length > 0 && !usages.includes(CLIENT_AUTH) && !usages.includes(ANY_USAGE)) {
        throw new Error('x509: certificate specifies an incompatible key usage');
      }
    }
    // Name constraints are not evaluated here, so a chain that has them is not trusted for a leaf with alternative names.
    if (leaf.hasAltNames && path.some((certificate) => certificate.hasNameConstraints)) {
      throw new Error('x509: name constraints of a CA or intermediate are not supported');
    }
    return Math.min(...path.map(({ notAfter }) => notAfter));
  }

  private pathTo(
    current: CertificateInfo,
    intermediates: readonly CertificateInfo[],
    now: number,
    path: readonly CertificateInfo[],
    budget: SignatureBudget,
  ): readonly CertificateInfo[] | undefined {
    for (const root of this.roots) {
      if (validAt(root, now) && root.mayIssue(current, path.length - 1, budget)) return [...path, root];
    }
    if (path.length > MAX_DEPTH) return undefined;
    for (const candidate of intermediates) {
      if (path.includes(candidate) || !candidate.isCa || candidate.unhandledCriticalExtensions.length > 0) continue;
      if (!validAt(candidate, now) || !candidate.mayIssue(current, path.length - 1, budget)) continue;
      const found = this.pathTo(candidate, intermediates, now, [...path, candidate], budget);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

const validAt = (info: CertificateInfo, now: number): boolean => now >= info.notBefore && now <= info.notAfter;

function checkTime(info: CertificateInfo, now: number): void {
  const problem = 'x509: certificate has expired or is not yet valid: current time';
  const at = (millis: number): string => new Date(millis).toISOString().replace('.000Z', 'Z');
  if (now < info.notBefore) throw new Error(`${problem} ${at(now)} is before ${at(info.notBefore)}`);
  if (now > info.notAfter) throw new Error(`${problem} ${at(now)} is after ${at(info.notAfter)}`);
}

/** A bundle in a file. `reload` applies a changed file; if the file is broken, the old CAs stay in force. */
export class CaFile extends CaBundle {
  private text: string;

  constructor(readonly path: string) {
    const text = readFileSync(path, 'utf8');
    super(text);
    this.text = text;
  }

  /** Returns true if the CAs have changed. Throws if the file cannot be used. */
  reload(): boolean {
    const text = readFileSync(this.path, 'utf8');
    if (text === this.text) return false;
    this.replace(text);
    this.text = text;
    return true;
  }
}
