import { X509Certificate } from 'node:crypto';
import type { Clock } from '../util/clock.js';
import { pem, pemBlocks } from '../pki/der.js';

const LABEL = 'CERTIFICATE';
/** How long a CA that this replica does not need stays in an APIService, in milliseconds. */
const KEEP_MILLIS = 3_600_000;
/** The maximum number of such CAs per APIService; during a CA rotation there are two or three. */
const KEEP_MOST = 16;

/**
 * Merges the CA bundles that replicas with different CAs write into the same APIServices, as they do during a CA rotation: what a replica
 * needs is added, and what was there stays for an hour, because another replica may still serve a certificate issued by it. The cluster
 * stores the bundle, so that a replica that restarts meanwhile continues with what all of them need.
 */
export class CaBundles {
  /** By APIService and certificate: since when (monotonic milliseconds) it is there without being needed. */
  private readonly foreignCas = new Map<string, Map<string, number>>();

  constructor(private readonly clock: Clock) {}

  /**
   * Returns the bundle that the APIService should have; `has` is its current one and `own` what this replica needs, both as base64 of PEM.
   * If a CA stays that is to be removed later, `later` is called with the milliseconds after which to call this again.
   */
  wanted(name: string, has: string, own: string, requeueAfter: (millis: number) => void): string {
    if (has === own) {
      this.foreignCas.delete(name);
      return has;
    }
    const present = certificatesIn(has);
    const needed = certificatesIn(own);
    const before = this.foreignCas.get(name);
    const kept = new Map<string, number>();
    const now = this.clock.monotonic();
    let over = false;
    for (const one of present) {
      if (needed.includes(one) || kept.has(one)) continue;
      const since = before?.get(one);
      if (since !== undefined && now - since >= KEEP_MILLIS) {
        over = true;
      } else if (kept.size < KEEP_MOST) {
        kept.set(one, since ?? now);
        if (since === undefined) requeueAfter(KEEP_MILLIS);
      }
    }
    if (kept.size === 0) this.foreignCas.delete(name);
    else this.foreignCas.set(name, kept);
    const enough = needed.length > 0 && needed.every((one) => present.includes(one));
    if (enough && !over) return has;
    const more = [...kept.keys()].filter((one) => this.isOfUse(one));
    return encoded(decoded(own) + more.map((one) => pem(LABEL, Buffer.from(one, 'base64'))).join(''));
  }

  /** Forgets a deleted APIService. */
  forget(name: string): void {
    this.foreignCas.delete(name);
  }

  private isOfUse(certificate: string): boolean {
    try {
      return Date.parse(new X509Certificate(Buffer.from(certificate, 'base64')).validTo) > this.clock.now();
    } catch {
      return false;
    }
  }
}

/** Reports whether a client that trusts the bundle (base64 of PEM) trusts the CA. */
export const bundleContains = (bundle: string, authority: X509Certificate): boolean =>
  certificatesIn(bundle).includes(authority.raw.toString('base64'));

/** Returns the same certificates in other bytes: with a line behind them that says `mark`. */
export const marked = (bundle: string, mark: string): string =>
  encoded(`${decoded(bundle).replace(/^#.*\n/gm, '')}# ${mark}\n`);

const decoded = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
const encoded = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
const certificatesIn = (bundle: string): string[] =>
  pemBlocks(decoded(bundle), LABEL).map((block) => block.toString('base64'));
