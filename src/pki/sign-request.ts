import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto';
import type { ParsedRequest } from './certificate-request.js';
import { extension, keyId, OID, signCertificate, subjectOf } from './certificates.js';
import { bits, der, implicitTag, oid, sequence } from './der.js';
import { getOwn } from '../util/get-own.js';

/** The bits of the key usage extension, counted from the first. */
const KEY_USAGES: Readonly<Record<string, number>> = {
  signing: 0,
  'digital signature': 0,
  'content commitment': 1,
  'key encipherment': 2,
  'data encipherment': 3,
  'key agreement': 4,
  'cert sign': 5,
  'crl sign': 6,
  'encipher only': 7,
  'decipher only': 8,
};

const EXTENDED_USAGES: Readonly<Record<string, string>> = {
  any: '2.5.29.37.0',
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
  'email protection': '1.3.6.1.5.5.7.3.4',
  's/mime': '1.3.6.1.5.5.7.3.4',
  'ipsec end system': '1.3.6.1.5.5.7.3.5',
  'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
  'ipsec user': '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  'ocsp signing': '1.3.6.1.5.5.7.3.9',
  'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
  'netscape sgc': '2.16.840.1.113730.4.1',
};

export interface SigningTerms {
  /** Key usages under Kubernetes' names. */
  readonly usages: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** An ECDSA or RSA key with its certificate. */
export interface SigningAuthority {
  readonly key: KeyObject;
  readonly certificate: X509Certificate;
}

function keyUsage(usages: readonly string[]): Buffer[] {
  let mask = 0;
  let last = -1;
  for (const usage of usages) {
    const bit = getOwn(KEY_USAGES, usage);
    if (bit === undefined) continue;
    mask |= 0x8000 >> bit;
    last = Math.max(last, bit);
  }
  if (last < 0) return [];
  const content = last > 7 ? Buffer.from([mask >> 8, mask & 0xff]) : Buffer.from([mask >> 8]);
  return [extension(OID.keyUsage, bits(content, content.length * 8 - 1 - last), 'critical')];
}

function extendedUsage(usages: readonly string[]): Buffer[] {
  const ids = new Set(usages.flatMap((usage) => getOwn(EXTENDED_USAGES, usage) ?? []));
  return ids.size === 0 ? [] : [extension(OID.extKeyUsage, sequence(...[...ids].map(oid)))];
}

/**
 * Issues the certificate for a request. Only its subject, key and alternative names are used. The request's signature
 * must have been verified. Returns PEM.
 */
export function signRequest(request: ParsedRequest, terms: SigningTerms, authority: SigningAuthority): string {
  const { subject, publicKeyInfo, subjectAltName } = request;
  const { usages, notBefore, notAfter } = terms;
  const extensions = [
    ...keyUsage(usages),
    ...extendedUsage(usages),
    extension(OID.basicConstraints, sequence(), 'critical'),
    extension(OID.authorityKeyId, sequence(der(implicitTag(0), keyId(createPublicKey(authority.key))))),
    ...(subjectAltName === undefined ? [] : [extension(OID.subjectAltName, subjectAltName)]),
  ];
  const issuer = subjectOf(authority.certificate);
  return signCertificate({ issuer, notBefore, notAfter, subject, publicKeyInfo, extensions }, authority.key);
}
