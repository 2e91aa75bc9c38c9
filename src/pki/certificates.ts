import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  type X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import {
  bits,
  explicitTag,
  implicitTag,
  der,
  integer,
  octets,
  oid,
  pem,
  readDer,
  sequence,
  Tag,
  time,
  TRUE,
  utf8,
} from './der.js';

export const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  rsaWithSha256: '1.2.840.113549.1.1.11',
} as const;

interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

export interface CertificateRequest {
  readonly subject: Subject;
  readonly publicKey: KeyObject;
  readonly usage: 'ca' | 'server' | 'client';
  /** DNS names and IP addresses. */
  readonly altNames?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** The signer: an ECDSA or RSA key with its certificate. Without a certificate the new one is self-signed. */
export interface Issuer {
  readonly key: KeyObject;
  readonly certificate?: X509Certificate;
}

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export const generateKey = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Reports whether an authority has issued the certificate. */
export const isIssuedBy = (certificate: X509Certificate, authority: X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey);

const SKEW_MILLIS = 3_600_000;

/** Returns a validity that begins an hour early, which tolerates clock skew. */
export const validityFrom = (now: number, millis: number): Pick<CertificateRequest, 'notBefore' | 'notAfter'> => ({
  notBefore: now - SKEW_MILLIS,
  notAfter: now + millis,
});

/** Returns the key as PKCS #8 in PEM. */
export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function name(subject: Subject): Buffer {
  const attribute = (type: string, value: string): Buffer => der(Tag.SET, sequence(oid(type), utf8(value)));
  const organizations = subject.organizations ?? [];
  return sequence(
    ...organizations.map((value) => attribute(OID.organization, value)),
    attribute(OID.commonName, subject.commonName),
  );
}

export const extension = (type: string, value: Buffer, critical?: 'critical'): Buffer =>
  sequence(oid(type), ...(critical ? [TRUE] : []), octets(value));

const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** Returns the SHA-1 of the public key's bits, as specified in RFC 5280. */
export function keyId(key: KeyObject): Buffer {
  const bitString = readDer(spki(key)).children()[1];
  return createHash('sha1')
    .update(bitString?.content.subarray(1) ?? Buffer.alloc(0))
    .digest();
}

function altName(value: string): Buffer {
  const family = isIP(value);
  if (family === 0) return der(implicitTag(2), Buffer.from(value, 'latin1'));
  return der(implicitTag(7), family === 4 ? Buffer.from(value.split('.').map(Number)) : ipv6(value));
}

function ipv6(text: string): Buffer {
  const [head = '', tail] = text.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const middle = new Array<number>(8 - left.length - right.length).fill(0);
  const out = Buffer.alloc(16);
  [...left, ...middle, ...right].forEach((group, i) => out.writeUInt16BE(group, i * 2));
  return out;
}

function extensions(request: CertificateRequest, issuerKey: KeyObject): Buffer[] {
  const ca = request.usage === 'ca';
  // digitalSignature, and for CAs also keyCertSign and cRLSign.
  const usage = ca ? bits(Buffer.from([0x86]), 1) : bits(Buffer.from([0x80]), 7);
  const out = [
    extension(OID.keyUsage, usage, 'critical'),
    extension(OID.basicConstraints, sequence(...(ca ? [TRUE] : [])), 'critical'),
    extension(OID.subjectKeyId, octets(keyId(request.publicKey))),
    extension(OID.authorityKeyId, sequence(der(implicitTag(0), keyId(issuerKey)))),
  ];
  if (!ca) {
    out.push(extension(OID.extKeyUsage, sequence(oid(request.usage === 'server' ? OID.serverAuth : OID.clientAuth))));
  }
  const names = request.altNames ?? [];
  if (names.length > 0) out.push(extension(OID.subjectAltName, sequence(...names.map(altName))));
  return out;
}

/** Creates an X.509 v3 certificate, signed with SHA-256, and returns it as PEM. */
export function createCertificate(request: CertificateRequest, issuer: Issuer): string {
  const subject = name(request.subject);
  return signCertificate(
    {
      issuer: issuer.certificate === undefined ? subject : subjectOf(issuer.certificate),
      notBefore: request.notBefore,
      notAfter: request.notAfter,
      subject,
      publicKeyInfo: spki(request.publicKey),
      extensions: extensions(request, createPublicKey(issuer.key)),
    },
    issuer.key,
  );
}

/** What a certificate states. Names, key and extensions are in DER, the times in milliseconds since the epoch. */
interface CertificateContent {
  readonly issuer: Buffer;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly subject: Buffer;
  readonly publicKeyInfo: Buffer;
  readonly extensions: readonly Buffer[];
}

const NULL = Buffer.from([5, 0]);

/** Signs a certificate with a random serial number, and returns it as PEM. */
export function signCertificate(content: CertificateContent, key: KeyObject): string {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const algorithm =
    key.asymmetricKeyType === 'rsa' ? sequence(oid(OID.rsaWithSha256), NULL) : sequence(oid(OID.ecdsaWithSha256));
  const body = sequence(
    der(explicitTag(0), integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    content.issuer,
    sequence(time(content.notBefore), time(content.notAfter)),
    content.subject,
    content.publicKeyInfo,
    der(explicitTag(3), sequence(...content.extensions)),
  );
  const signature = sign('sha256', body, { key, dsaEncoding: 'der' });
  return pem('CERTIFICATE', sequence(body, algorithm, bits(signature)));
}

/** Returns the subject's name exactly as encoded in the certificate. */
export function subjectOf(certificate: X509Certificate): Buffer {
  const fields = readDer(certificate.raw).children()[0]?.children() ?? [];
  const subject = fields[fields[0]?.tag === explicitTag(0) ? 5 : 4];
  if (subject === undefined) throw new Error('the certificate has no subject');
  return subject.raw;
}
