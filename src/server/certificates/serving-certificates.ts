import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, stringAt } from '../../apimachinery/json/json.js';
import { parseJson } from '../../apimachinery/json/decode.js';
import { encodeObject } from '../../storage/encode.js';
import type { Backend } from '../../storage/interfaces.js';
import { createCertificate, generateKey, keyPem, isIssuedBy, validityFrom } from '../../pki/certificates.js';
import type { Clock } from '../../util/clock.js';
import { StartError } from './data-directory.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const AUTHORITY_LIFE = 3650 * DAY;
const LEAF_LIFE = 365 * DAY;
const RENEW_BEFORE = 30 * DAY;
/** The time, in milliseconds, for every replica to load a new CA before anything is signed with it. */
const PROPAGATION_MILLIS = HOUR;

/** The location of Annex's own CAs in the store. They are never served: no type has this name. */
export const SERVING_AUTHORITIES = { resource: 'serving-authorities.internal.kubeannex.io', key: 'serving' };
const { resource: RESOURCE, key: KEY } = SERVING_AUTHORITIES;

export interface ServingPair {
  readonly cert: string;
  readonly key: string;
}

/** Reports whether kube-apiserver accepts certificates issued by the CA, that is, whether all APIServices of this server carry it. */
export type IsCaPublished = (authority: X509Certificate) => boolean;

/** The serving certificate that an aggregated API server presents to kube-apiserver, and the CAs that verify it. */
export interface ServingCertificates {
  readonly pair: ServingPair;
  readonly caBundle: string;
  /** Loads changed certificates and issues those that are due. Reports whether anything changed. */
  refresh(isCaPublished: IsCaPublished): Promise<boolean>;
}

interface ParsedPair extends ServingPair {
  readonly certificate: X509Certificate;
}

/**
 * Annex's own CA, shared by all replicas through the store. Each replica issues its own serving certificate. The CA is rotated 30
 * days before it expires. The new CA is added to the bundle next to the old one. It signs only after an hour and only once all
 * APIServices carry it, because replicas or the cluster may have been unavailable in the meantime.
 */
export class SharedAuthority implements ServingCertificates {
  private authorities: readonly ParsedPair[] = [];
  private leaf: ParsedPair | undefined;

  private constructor(
    private readonly backend: Backend,
    private readonly clock: Clock,
    private readonly names: readonly string[],
  ) {}

  static async open(backend: Backend, clock: Clock, names: readonly string[]): Promise<SharedAuthority> {
    const shared = new SharedAuthority(backend, clock, names);
    // At startup it is not known which CAs the APIServices carry.
    await shared.refresh(() => false);
    return shared;
  }

  get pair(): ServingPair {
    if (this.leaf === undefined) throw new Error('there is no serving certificate');
    return this.leaf;
  }

  get caBundle(): string {
    return this.authorities.map(({ cert }) => cert).join('');
  }

  async refresh(isCaPublished: IsCaPublished): Promise<boolean> {
    const before = this.caBundle + (this.leaf?.cert ?? '');
    this.authorities = await this.load();
    const signer = this.signer(isCaPublished);
    if (
      this.leaf === undefined ||
      this.isDueForRenewal(this.leaf.certificate) ||
      !isIssuedBy(this.leaf.certificate, signer.certificate)
    ) {
      this.leaf = this.issue(signer);
    }
    return this.caBundle + this.leaf.cert !== before;
  }

  /** Returns the authorities in the store, newest first. Adds one if the newest expires within 30 days. */
  private async load(): Promise<readonly ParsedPair[]> {
    for (;;) {
      const stored = await this.backend.get(RESOURCE, KEY);
      if (stored?.unreadable !== undefined) {
        throw new StartError(
          `the CA in the store cannot be decrypted (${stored.unreadable}): --encryption-provider-config must have its key`,
        );
      }
      const found = stored === undefined ? [] : authoritiesIn(parseJson(Buffer.from(stored.bytes)));
      const now = this.clock.now();
      const valid = found.filter(({ certificate }) => Date.parse(certificate.validTo) > now);
      const [newest] = valid;
      const lasts = newest !== undefined && !this.isDueForRenewal(newest.certificate);
      if (lasts && stored?.stale !== true) return valid;
      // Rewrite it here when the encryption keys change: no client can.
      const authorities = lasts ? valid : [this.createAuthority(), ...valid];
      const value = encodeObject(document(authorities));
      const result = await this.backend.write({ resource: RESOURCE, key: KEY, expected: stored?.revision ?? 0, value });
      // On a conflict another replica was faster, and its authority is used.
      if (result.outcome === 'committed') return authorities;
    }
  }

  /** Returns the newest authority that every replica and APIService has; else the one that signed the current certificate; else the oldest. */
  private signer(isCaPublished: IsCaPublished): ParsedPair {
    const now = this.clock.now();
    const settled = this.authorities.find(
      ({ certificate }) =>
        Date.parse(certificate.validFrom) + HOUR + PROPAGATION_MILLIS <= now && isCaPublished(certificate),
    );
    // A certificate is useless once its CA expires, so do not sign with a CA that has less than a day left.
    const lasting = this.authorities.filter(({ certificate }) => Date.parse(certificate.validTo) - now > DAY);
    const { leaf } = this;
    const before = leaf && lasting.find(({ certificate }) => isIssuedBy(leaf.certificate, certificate));
    const signer = settled ?? before ?? lasting.at(-1) ?? this.authorities[0];
    if (signer === undefined) throw new Error('there is no authority');
    return signer;
  }

  private createAuthority(): ParsedPair {
    const { privateKey, publicKey } = generateKey();
    const subject = { commonName: `annex-serving-ca-${this.clock.now()}` };
    const request = { subject, publicKey, usage: 'ca' as const, ...validityFrom(this.clock.now(), AUTHORITY_LIFE) };
    const cert = createCertificate(request, { key: privateKey });
    return { cert, key: keyPem(privateKey), certificate: new X509Certificate(cert) };
  }

  private issue(signer: ParsedPair): ParsedPair {
    const { privateKey, publicKey } = generateKey();
    const subject = { commonName: this.names[0] ?? 'annex' };
    const validity = validityFrom(this.clock.now(), LEAF_LIFE);
    const request = { subject, publicKey, usage: 'server' as const, altNames: this.names, ...validity };
    const issuer = { key: createPrivateKey(signer.key), certificate: signer.certificate };
    const cert = createCertificate(request, issuer);
    return { cert, key: keyPem(privateKey), certificate: new X509Certificate(cert) };
  }

  private isDueForRenewal(certificate: X509Certificate): boolean {
    return Date.parse(certificate.validTo) - this.clock.now() < RENEW_BEFORE;
  }
}

/** Returns a self-signed certificate, which no client can verify, to use while the CA in the store is unavailable. */
export function temporaryPair(commonName: string, clock: Clock): ServingPair {
  const { privateKey, publicKey } = generateKey();
  const validity = validityFrom(clock.now(), LEAF_LIFE);
  const request = { subject: { commonName }, publicKey, usage: 'server' as const, altNames: [commonName], ...validity };
  return { cert: createCertificate(request, { key: privateKey }), key: keyPem(privateKey) };
}

function document(authorities: readonly ParsedPair[]): JsonObject {
  return {
    apiVersion: 'internal.kubeannex.io/v1',
    kind: 'ServingAuthorities',
    metadata: { name: KEY },
    authorities: authorities.map(({ cert, key }) => ({ cert, key })),
  };
}

function authoritiesIn(value: JsonValue): ParsedPair[] {
  const list = isObject(value) ? value['authorities'] : undefined;
  if (!Array.isArray(list)) throw new StartError('the CA in the store cannot be read; delete it there and start again');
  return list.filter(isObject).map((one) => {
    const cert = stringAt(one, 'cert') ?? '';
    return { cert, key: stringAt(one, 'key') ?? '', certificate: new X509Certificate(cert) };
  });
}

/** Returns the CA certificates in the stored object. */
export const servingCas = (bytes: Uint8Array): string[] =>
  authoritiesIn(parseJson(Buffer.from(bytes))).map(({ cert }) => cert);
