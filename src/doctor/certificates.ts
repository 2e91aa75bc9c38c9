import { X509Certificate } from 'node:crypto';
import { pemBlocks } from '../pki/der.js';
import type { Clock } from '../util/clock.js';
import { parseBundle } from '../authentication/request/client-ca.js';
import { parsePair, readFile } from '../server/certificates/data-directory.js';
import { type Finding, ok, skipped, wrong } from './finding.js';

const CHECK = 'serving certificate';
const MAX_DEPTH = 8;

export interface CertificateOptions {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly serviceCaFile: string;
  readonly serviceName: string;
  readonly serviceNamespace: string;
}

/** Whether the cluster's API server, which knows the CAs of --service-ca-file, will accept the serving certificate. */
export function checkCertificates(options: CertificateOptions, clock: Clock): Finding {
  const { tlsCertFile, tlsPrivateKeyFile, serviceCaFile } = options;
  if (tlsCertFile === '') {
    return skipped(
      CHECK,
      'Annex issues it itself, from a CA in the store; the APIServices tell whether it is accepted',
    );
  }
  let chain: X509Certificate[];
  let roots: X509Certificate[];
  try {
    const cert = readFile(tlsCertFile, '--tls-cert-file');
    parsePair(cert, readFile(tlsPrivateKeyFile, '--tls-private-key-file'), tlsCertFile, tlsPrivateKeyFile);
    chain = pemBlocks(cert, 'CERTIFICATE').map((raw) => new X509Certificate(raw));
  } catch (error) {
    return wrong(CHECK, error, 'giving a PEM certificate and the key that belongs to it');
  }
  try {
    roots = parseBundle(readFile(serviceCaFile, '--service-ca-file')).map(({ certificate }) => certificate);
  } catch (error) {
    return wrong(CHECK, error, 'giving the PEM certificates of the CA in --service-ca-file');
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
  if (leaf === undefined) return wrong(CHECK, `${tlsCertFile} holds no certificate`, 'giving one');
  if (Date.parse(leaf.validTo) <= now) {
    return wrong(
      CHECK,
      `${tlsCertFile} expired on ${leaf.validTo}`,
      'renewing it; a running server takes the new file',
    );
  }
  if (Date.parse(leaf.validFrom) > now) {
    return wrong(
      CHECK,
      `${tlsCertFile} is not valid before ${leaf.validFrom}`,
      'setting the clock, or issuing it anew',
    );
  }
  const name = `${serviceName}.${serviceNamespace}.svc`;
  // The API server looks at alternative names only.
  if (leaf.checkHost(name, { subject: 'never' }) === undefined) {
    const names = leaf.subjectAltName ?? 'no alternative names';
    return wrong(CHECK, `${tlsCertFile} is not for ${name} (${names})`, `issuing it for the DNS name ${name}`);
  }
  const trusted = roots.filter((root) => Date.parse(root.validTo) > now);
  if (!leads(leaf, intermediates, trusted, MAX_DEPTH)) {
    const what = `no valid CA of ${serviceCaFile} has issued ${tlsCertFile}`;
    return wrong(CHECK, what, 'giving the CA that did, and intermediate certificates behind the certificate');
  }
  return ok(CHECK, `for ${name}, until ${leaf.validTo}`);
}

function leads(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  depth: number,
): boolean {
  const issued = (by: X509Certificate): boolean => certificate.checkIssued(by) && certificate.verify(by.publicKey);
  if (roots.some((root) => root.raw.equals(certificate.raw) || issued(root))) return true;
  if (depth === 0) return false;
  return intermediates.some(
    (next) => next !== certificate && issued(next) && leads(next, intermediates, roots, depth - 1),
  );
}
