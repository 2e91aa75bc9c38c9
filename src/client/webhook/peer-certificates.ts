import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { checkServerIdentity as checkIdentity, type PeerCertificate, TLSSocket } from 'node:tls';
import { quote } from '../../apimachinery/meta/meta.js';
import { oidText, readDer } from '../../pki/der.js';

/** The number of calls, for the whole process, to webhooks with certificates of a kind that Go's TLS no longer accepts. */
export const certificateFaults = { missingSan: 0, insecureSha1: 0 };

/** An annotation for the audit event of a request that called such a webhook. */
export type FaultAnnotation = readonly [key: string, value: string];

const MISSING_SAN = 'relies on a legacy Common Name field instead of the SAN extension for subject validation';
const INSECURE_SHA1 = 'uses an insecure SHA-1 signature';

/** Node has no error code for it. */
const OPENSSL_WEAK_DIGEST = 'CA signature digest algorithm too weak';

/** The certificate names its host only in its subject. */
class CommonNameError extends Error {
  override readonly name = 'CommonNameError';
}

/** Checks names like Go's TLS: Node would accept a host name from the subject of a certificate without alternative names. */
export function checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
  const error = checkIdentity(host, certificate);
  if (certificate.subjectaltname !== undefined) return error;
  const { CN } = certificate.subject;
  if (error === undefined || CN === host) {
    return new CommonNameError('certificate relies on legacy Common Name field, use SANs instead');
  }
  return error;
}

export interface CertificateFault {
  readonly text: string;
  readonly annotation: FaultAnnotation;
}

/** Returns the error of Kubernetes' client for a call that failed because of such a certificate, and counts it; undefined for other failures. */
export function certificateFault(
  error: Error,
  { hostname }: URL,
  ca: string | undefined,
): CertificateFault | undefined {
  if (error instanceof CommonNameError) {
    certificateFaults.missingSan++;
    return { text: error.message, annotation: [`missing-san.invalid-cert.kubernetes.io/${hostname}`, MISSING_SAN] };
  }
  if (error.message !== OPENSSL_WEAK_DIGEST) return undefined;
  certificateFaults.insecureSha1++;
  return {
    text: `certificate signed by unknown authority${sha1Hint(ca)}`,
    annotation: [`insecure-sha1.invalid-cert.kubernetes.io/${hostname}`, INSECURE_SHA1],
  };
}

/** Names the CA that could have signed it; '' if it is unknown. */
function sha1Hint(ca: string | undefined): string {
  if (ca?.split('-----BEGIN CERTIFICATE-----').length !== 2) return '';
  const authority = new X509Certificate(ca);
  const name = /^CN=(.*)$/m.exec(authority.subject)?.[1] ?? '';
  const algorithm = authority.publicKey.asymmetricKeyType === 'ec' ? 'ECDSA-SHA1' : 'SHA1-RSA';
  const why = `x509: cannot verify signature: insecure algorithm ${algorithm}`;
  return ` (possibly because of ${quote(why)} while trying to verify candidate authority certificate ${quote(name)})`;
}

const NO_FAULTS = { missingSan: false, insecureSha1: false };
/** Reading the certificates of a connection costs as much as a call. */
const known = new WeakMap<Socket, typeof NO_FAULTS>();

/** Counts the certificate faults of calls that succeeded nevertheless. */
export function countFaults(socket: Socket): void {
  let faults = known.get(socket);
  if (faults === undefined) known.set(socket, (faults = socket instanceof TLSSocket ? faultsOf(socket) : NO_FAULTS));
  if (faults.missingSan) certificateFaults.missingSan++;
  if (faults.insecureSha1) certificateFaults.insecureSha1++;
}

function faultsOf(socket: TLSSocket): typeof NO_FAULTS {
  const first = socket.getPeerCertificate(true);
  if (Object.keys(first).length === 0) return NO_FAULTS;
  let insecureSha1 = false;
  const seen = new Set<object>();
  // A root is its own issuer, and an unknown issuer is undefined, whatever the types say.
  let at: Partial<typeof first> | undefined = first;
  while (at?.raw !== undefined && !seen.has(at)) {
    seen.add(at);
    insecureSha1 ||= isSignedWithSha1(at.raw) && JSON.stringify(at.issuer) !== JSON.stringify(at.subject);
    at = at.issuerCertificate;
  }
  return { missingSan: first.subjectaltname === undefined, insecureSha1 };
}

const SHA1_SIGNATURES: ReadonlySet<string> = new Set(['1.2.840.113549.1.1.5', '1.2.840.10045.4.1']);

function isSignedWithSha1(certificate: Buffer): boolean {
  const algorithm = readDer(certificate).children()[1]?.children()[0];
  return algorithm !== undefined && SHA1_SIGNATURES.has(oidText(algorithm.content));
}
