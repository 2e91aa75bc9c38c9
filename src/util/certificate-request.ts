import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { contextTag, DerError, type DerNode, oidText, readDer, stringText, Tag } from './der.js';
import { nextPemBlock } from './pem.js';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
const SUBJECT_ALT_NAME = '2.5.29.17';

const LABEL = 'CERTIFICATE REQUEST';

/** A PKCS #10 request as it was read; its signature is not yet checked. */
export interface ParsedRequest {
  /** The whole request. */
  readonly raw: Buffer;
  readonly subject: Buffer;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly publicKeyInfo: Buffer;
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  readonly ipAddresses: readonly Buffer[];
  /** The value of the extension with the other names, undefined where there is none. */
  readonly subjectAltName: Buffer | undefined;
}

/** What is wrong with a request, in the words of Go's library. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError';
}

/** Reads the request in a PEM text. Throws CertificateRequestError. */
export function parseCertificateRequest(pem: string): ParsedRequest {
  const block = nextPemBlock(pem);
  if (block?.label !== LABEL) throw new CertificateRequestError('PEM block type must be CERTIFICATE REQUEST');
  try {
    return parse(block.content);
  } catch (error) {
    if (error instanceof DerError) throw new CertificateRequestError(`asn1: structure error: ${error.message}`);
    throw error;
  }
}

function child(nodes: readonly DerNode[], at: number): DerNode {
  const node = nodes[at];
  if (node === undefined) throw new DerError('sequence truncated');
  return node;
}

function parse(raw: Buffer): ParsedRequest {
  const outer = readDer(raw).expect(Tag.SEQUENCE);
  if (outer.raw.length !== raw.length) throw new CertificateRequestError('asn1: syntax error: trailing data');
  const info = child(outer.children(), 0).expect(Tag.SEQUENCE).children();
  child(info, 0).expect(Tag.INTEGER);
  const subject = child(info, 1).expect(Tag.SEQUENCE);
  const names = namesOf(subject);
  const attributes = info[3]?.tag === contextTag(0, true) ? info[3].children() : [];
  const subjectAltName = requestedAltNames(attributes);
  return {
    raw,
    subject: subject.raw,
    commonName: names.get(COMMON_NAME)?.at(-1) ?? '',
    organizations: names.get(ORGANIZATION) ?? [],
    publicKeyInfo: child(info, 2).expect(Tag.SEQUENCE).raw,
    subjectAltName,
    ...altNames(subjectAltName),
  };
}

function namesOf(subject: DerNode): Map<string, string[]> {
  const out = new Map<string, string[]>();
  for (const set of subject.children()) {
    for (const attribute of set.expect(Tag.SET).children()) {
      const [type, value] = attribute.expect(Tag.SEQUENCE).children();
      if (type === undefined || value === undefined) throw new DerError('sequence truncated');
      const id = oidText(type.expect(Tag.OID).content);
      if (id !== COMMON_NAME && id !== ORGANIZATION) continue;
      const known = out.get(id);
      if (known === undefined) out.set(id, [stringText(value)]);
      else known.push(stringText(value));
    }
  }
  return out;
}

function requestedAltNames(attributes: readonly DerNode[]): Buffer | undefined {
  for (const attribute of attributes) {
    const parts = attribute.expect(Tag.SEQUENCE).children();
    if (oidText(child(parts, 0).expect(Tag.OID).content) !== EXTENSION_REQUEST) continue;
    const extensions = child(child(parts, 1).expect(Tag.SET).children(), 0).expect(Tag.SEQUENCE);
    for (const extension of extensions.children()) {
      const fields = extension.expect(Tag.SEQUENCE).children();
      const value = fields.at(-1);
      if (oidText(child(fields, 0).expect(Tag.OID).content) === SUBJECT_ALT_NAME && value !== undefined) {
        return value.expect(Tag.OCTET_STRING).content;
      }
    }
  }
  return undefined;
}

function altNames(
  value: Buffer | undefined,
): Pick<ParsedRequest, 'dnsNames' | 'emailAddresses' | 'uris' | 'ipAddresses'> {
  const texts: Record<number, string[]> = { 1: [], 2: [], 6: [] };
  const ipAddresses: Buffer[] = [];
  for (const node of value === undefined ? [] : readDer(value).expect(Tag.SEQUENCE).children()) {
    const number = node.tag & 0x1f;
    if (number === 7) ipAddresses.push(node.content);
    else texts[number]?.push(node.content.toString('latin1'));
  }
  return { emailAddresses: texts[1] ?? [], dnsNames: texts[2] ?? [], uris: texts[6] ?? [], ipAddresses };
}

interface Algorithm {
  readonly key: 'ec' | 'rsa' | 'ed25519';
  readonly hash: string | undefined;
}

/** SHA-1 is good enough for somebody who only says that a key is theirs. */
const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  '1.2.840.10045.4.1': { key: 'ec', hash: 'sha1' },
  '1.2.840.10045.4.3.2': { key: 'ec', hash: 'sha256' },
  '1.2.840.10045.4.3.3': { key: 'ec', hash: 'sha384' },
  '1.2.840.10045.4.3.4': { key: 'ec', hash: 'sha512' },
  '1.2.840.113549.1.1.5': { key: 'rsa', hash: 'sha1' },
  '1.3.14.3.2.29': { key: 'rsa', hash: 'sha1' },
  '1.2.840.113549.1.1.11': { key: 'rsa', hash: 'sha256' },
  '1.2.840.113549.1.1.12': { key: 'rsa', hash: 'sha384' },
  '1.2.840.113549.1.1.13': { key: 'rsa', hash: 'sha512' },
  '1.3.101.112': { key: 'ed25519', hash: undefined },
};

const MD5_WITH_RSA = '1.2.840.113549.1.1.4';

const FAILURES: Readonly<Record<Algorithm['key'], string>> = {
  ec: 'x509: ECDSA verification failure',
  rsa: 'crypto/rsa: verification error',
  ed25519: 'x509: Ed25519 verification failure',
};

/** Throws CertificateRequestError unless the request is signed with its own key. */
export function checkRequestSignature(request: ParsedRequest): void {
  const [info, algorithm, signature] = readDer(request.raw).children();
  const id = algorithm?.children()[0];
  if (info === undefined || id === undefined || signature === undefined) {
    throw new CertificateRequestError('asn1: syntax error: sequence truncated');
  }
  const name = oidText(id.content);
  if (name === MD5_WITH_RSA) {
    throw new CertificateRequestError('x509: cannot verify signature: insecure algorithm MD5-RSA');
  }
  const known = ALGORITHMS[name];
  const key = publicKeyOf(request);
  if (known === undefined || key === undefined || key.asymmetricKeyType !== known.key) {
    throw new CertificateRequestError('x509: cannot verify signature: algorithm unimplemented');
  }
  const options = known.key === 'rsa' ? { key, padding: constants.RSA_PKCS1_PADDING } : { key };
  if (!verify(known.hash, info.raw, options, signature.content.subarray(1))) {
    throw new CertificateRequestError(FAILURES[known.key]);
  }
}

function publicKeyOf(request: ParsedRequest): KeyObject | undefined {
  try {
    return createPublicKey({ key: request.publicKeyInfo, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}
