import { X509Certificate } from 'node:crypto';
import { pemBlocks } from '../pki/der.js';
import type { Clock } from '../util/clock.js';
import { parseBundle } from '../authentication/request/client-ca.js';
import { parsePair, readFile } from '../server/certificates/data-directory.js';
import { type Finding, ok, skipped, failed } from './finding.js';
import { isIssuedBy } from '../pki/certificates.js';

const CHECK = 'serving certificate';
const MAX_DEPTH = 8;

export interface CertificateOptions {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly serviceCaFile: string;
  readonly serviceName: string;
  readonly serviceNamespace: string;
}

/** Checks whether the cluster's API server, which trusts the CAs of --service-ca-file, will accept the serving certificate. */
export function checkCertificates(options: CertificateOptions, clock: Clock): Finding {
  const { tlsCertFile, tlsPrivateKeyFile, serviceCaFile } = options;
  if (tlsCertFile === '') {
    return skipped(
      CHECK,
      'issued by Annex from a CA in the store; see the APIServices for whether the cluster accepts it',
    );
  }
  let chain: X509Certificate[];
  let roots: X509Certificate[];
  try {
    const cert = readFile(tlsCertFile, '--tls-cert-file');
    parsePair(cert, readFile(tlsPrivateKeyFile, '--tls-private-key-file'), tlsCertFile, tlsPrivateKeyFile);
    chain = pemBlocks(cert, 'CERTIFICATE').map((raw) => new X509Certificate(raw));
  } catch (error) {
    return failed(CHECK, error, 'set --tls-cert-file and --tls-private-key-file to a PEM certificate and its key');
  }
  try {
    roots = parseBundle(readFile(serviceCaFile, '--service-ca-file')).map(({ certificate }) => certificate);
  } catch (error) {
    return failed(CHECK, error, 'put the PEM certificates of the CA into --service-ca-file');
  }
  return inspect(chain, roots, options, clock.now());
}

function inspect(
  chain: X509Certificate[],
  roots: X509Certificate[],
  options: CertificateOptions,
  now: number,
): Finding {
  const [leaf, ...intermediates] = chain;
  const { tlsCertFile, serviceCaFile, serviceName, serviceNamespace } = options;
  if (leaf === undefined)
    return failed(CHECK, `${tlsCertFile} contains no certificate`, 'put a PEM certificate into it');
  if (Date.parse(leaf.validTo) <= now) {
    return failed(CHECK, `${tlsCertFile} expired on ${leaf.validTo}`, 'renew it; a running server reloads the file');
  }
  if (Date.parse(leaf.validFrom) > now) {
    return failed(
      CHECK,
      `${tlsCertFile} is not valid before ${leaf.validFrom}`,
      'correct the clock, or reissue the certificate',
    );
  }
  const name = `${serviceName}.${serviceNamespace}.svc`;
  // The API server checks alternative names only.
  if (leaf.checkHost(name, { subject: 'never' }) === undefined) {
    const names = leaf.subjectAltName ?? 'no alternative names';
    return failed(CHECK, `${tlsCertFile} is not valid for ${name} (${names})`, `reissue it for the DNS name ${name}`);
  }
  const trusted = roots.filter((root) => Date.parse(root.validTo) > now);
  if (!leads(leaf, intermediates, trusted, MAX_DEPTH)) {
    const what = `no valid CA in ${serviceCaFile} issued ${tlsCertFile}`;
    return failed(
      CHECK,
      what,
      'put the issuing CA into --service-ca-file, and append intermediate certificates to the serving certificate',
    );
  }
  return ok(CHECK, `for ${name}, until ${leaf.validTo}`);
}

function leads(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  depth: number,
): boolean {
  if (roots.some((root) => root.raw.equals(certificate.raw) || isIssuedBy(certificate, root))) return true;
  if (depth === 0) return false;
  return intermediates.some(
    (next) => next !== certificate && isIssuedBy(certificate, next) && leads(next, intermediates, roots, depth - 1),
  );
}
