import { X509Certificate } from 'node:crypto';
import type { Clock } from '../../util/clock.js';
import { pemBlocks } from '../../pki/der.js';
import { messageOf } from '../../util/error-message.js';
import { parsePair, readFile, StartError } from './data-directory.js';
import type { IsCaPublished, ServingCertificates, ServingPair } from './serving-certificates.js';
import { isIssuedBy } from '../../pki/certificates.js';

/**
 * The time, in milliseconds, for which a new CA is published before a certificate that it issued is used. Every replica checks
 * the files once a minute.
 */
const PROPAGATION_MILLIS = 90_000;
/** The time, in milliseconds, for which removed CAs stay published: other replicas may still use certificates that they issued. */
const KEEP_MILLIS = 3_600_000;

interface Found {
  readonly pair: ServingPair;
  readonly chain: readonly X509Certificate[];
  readonly authorities: ReadonlyMap<string, X509Certificate>;
}

interface Authority {
  readonly certificate: X509Certificate;
  /** When the CA was first published, in monotonic milliseconds; -Infinity if at startup. */
  readonly since: number;
  /** When it stops being published, in monotonic milliseconds; Infinity while the files contain it. */
  readonly until: number;
}

/**
 * A certificate, key, and CAs in files that are renewed by another component. The CA may be rotated together with the
 * certificate, as cert-manager does. At no moment is kube-apiserver without a CA in common with a replica: the new CA is
 * published next to the old one, and the new certificate is used only after all replicas have had time to publish it.
 */
export class ServingFiles implements ServingCertificates {
  pair: ServingPair;
  /** The authorities by PEM. */
  private authorities: ReadonlyMap<string, Authority>;

  /** Throws StartError if the files cannot be used. */
  constructor(
    private readonly files: { readonly cert: string; readonly key: string; readonly authorities: string },
    private readonly clock: Clock,
  ) {
    const { pair, authorities } = this.read();
    this.pair = pair;
    this.authorities = new Map(
      [...authorities].map(([pem, certificate]) => [pem, { certificate, since: -Infinity, until: Infinity }]),
    );
  }

  get caBundle(): string {
    return [...this.authorities.keys()].join('');
  }

  refresh(isCaPublished: IsCaPublished): Promise<boolean> {
    const before = this.caBundle + this.pair.cert;
    const { pair, chain, authorities } = this.read();
    const now = this.clock.monotonic();
    const merged = new Map<string, Authority>();
    for (const [pem, certificate] of authorities) {
      merged.set(pem, { certificate, since: this.authorities.get(pem)?.since ?? now, until: Infinity });
    }
    for (const [pem, { certificate, since, until }] of this.authorities) {
      const end = Math.min(until, now + KEEP_MILLIS);
      if (!merged.has(pem) && end > now) merged.set(pem, { certificate, since, until: end });
    }
    this.authorities = merged;
    if (this.isIssuerPropagated(chain, now, isCaPublished) || this.isExpired()) this.pair = pair;
    return Promise.resolve(this.caBundle + this.pair.cert !== before);
  }

  /** Reports whether every replica and APIService has a CA that issued the chain. Also true if none of the CAs issued it: waiting would not help. */
  private isIssuerPropagated(chain: readonly X509Certificate[], now: number, isCaPublished: IsCaPublished): boolean {
    const issuers = [...this.authorities.values()].filter(({ certificate }) =>
      chain.some((link) => link.raw.equals(certificate.raw) || isIssuedBy(link, certificate)),
    );
    const isPropagated = ({ certificate, since }: Authority): boolean =>
      since === -Infinity || (now - since >= PROPAGATION_MILLIS && isCaPublished(certificate));
    return issuers.length === 0 || issuers.some(isPropagated);
  }

  /** Reports whether the certificate in use has expired. */
  private isExpired(): boolean {
    return Date.parse(new X509Certificate(this.pair.cert).validTo) <= this.clock.now();
  }

  private read(): Found {
    const { files } = this;
    const cert = readFile(files.cert, '--tls-cert-file');
    const key = readFile(files.key, '--tls-private-key-file');
    parsePair(cert, key, files.cert, files.key);
    const authorities = parsed(readFile(files.authorities, '--service-ca-file'), files.authorities);
    if (authorities.length === 0)
      throw new StartError(`--service-ca-file: ${files.authorities} contains no certificate`);
    return {
      pair: { cert, key },
      chain: parsed(cert, files.cert),
      authorities: new Map(authorities.map((certificate) => [certificate.toString(), certificate])),
    };
  }
}

function parsed(text: string, file: string): X509Certificate[] {
  return pemBlocks(text, 'CERTIFICATE').map((der) => {
    try {
      return new X509Certificate(der);
    } catch (error) {
      throw new StartError(`${file} contains an invalid certificate: ${messageOf(error)}`);
    }
  });
}
