import { getOwn } from '../util/get-own.js';
import { append } from '../util/append.js';
import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { explicitTag, DerError, type DerNode, oidText, readDer, stringText, Tag } from './der.js';
import { OID } from './certificates.js';
import { nextPemBlock } from './pem.js';

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

const LABEL = 'CERTIFICATE REQUEST';

/** A parsed PKCS #10 request, whose signature has not been verified yet. */
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
  /** The value of the extension with the subject alternative names, or undefined if there is none. */
  readonly subjectAltName: Buffer | undefined;
}

/** The request is invalid; the message is that of Go's library. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError';
}

/** Parses the request in a PEM text. Throws CertificateRequestError. */
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
  if (raw.length === 0) throw new CertificateRequestError('asn1: syntax error: sequence truncated');
  const outer = readDer(raw).expect(Tag.SEQUENCE);
  if (outer.raw.length !== raw.length) throw new CertificateRequestError('asn1: syntax error: trailing data');
  const info = child(outer.children(), 0).expect(Tag.SEQUENCE).children();
  child(info, 0).expect(Tag.INTEGER);
  const subject = child(info, 1).expect(Tag.SEQUENCE);
  const names = namesOf(subject);
  const attributes = info[3]?.tag === explicitTag(0) ? info[3].children() : [];
  const subjectAltName = requestedAltNames(attributes);
  return {
    raw,
    subject: subject.raw,
    commonName: names.get(OID.commonName)?.at(-1) ?? '',
    organizations: names.get(OID.organization) ?? [],
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
      if (id === OID.commonName || id === OID.organization) append(out, id, stringText(value));
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
      if (oidText(child(fields, 0).expect(Tag.OID).content) === OID.subjectAltName && value !== undefined) {
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
  /** The length of the salt in bytes for RSA with PSS; absent for PKCS #1. */
  readonly saltLength?: number;
}

/** SHA-1 is good enough here, because the signature only proves possession of the key. */
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

const PSS = '1.2.840.113549.1.1.10';
const MGF1 = '1.2.840.113549.1.1.8';
/** The hashes that PSS may use. The salt has the length of the hash. */
const PSS_HASHES: Readonly<Record<string, Algorithm>> = {
  '2.16.840.1.101.3.4.2.1': { key: 'rsa', hash: 'sha256', saltLength: 32 },
  '2.16.840.1.101.3.4.2.2': { key: 'rsa', hash: 'sha384', saltLength: 48 },
  '2.16.840.1.101.3.4.2.3': { key: 'rsa', hash: 'sha512', saltLength: 64 },
};

/** Returns PSS with parameters that Go's library supports, or undefined for others. */
function pssAlgorithm(parameters: DerNode | undefined): Algorithm | undefined {
  if (parameters?.tag !== Tag.SEQUENCE) return undefined;
  const members = new Map(parameters.children().map((node) => [node.tag, node.children()[0]]));
  const idOf = (node: DerNode | undefined): string =>
    node?.tag === Tag.SEQUENCE ? oidText(child(node.children(), 0).expect(Tag.OID).content) : '';
  const numberOf = (node: DerNode | undefined, normal: number): number =>
    node === undefined ? normal : parseInt(node.expect(Tag.INTEGER).content.toString('hex'), 16);
  const hash = members.get(explicitTag(0));
  const mask = members.get(explicitTag(1));
  const name = idOf(hash);
  const known = getOwn(PSS_HASHES, name);
  const maskHash = mask?.tag === Tag.SEQUENCE ? mask.children()[1] : undefined;
  if (known === undefined || idOf(mask) !== MGF1 || idOf(maskHash) !== name) return undefined;
  if (numberOf(members.get(explicitTag(2)), 20) !== known.saltLength) return undefined;
  return numberOf(members.get(explicitTag(3)), 1) === 1 ? known : undefined;
}

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
  const known = name === PSS ? pssAlgorithm(algorithm?.children()[1]) : ALGORITHMS[name];
  const key = publicKeyOf(request);
  if (known === undefined || key === undefined || key.asymmetricKeyType !== known.key) {
    throw new CertificateRequestError('x509: cannot verify signature: algorithm unimplemented');
  }
  const { saltLength } = known;
  const options =
    saltLength !== undefined
      ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
      : known.key === 'rsa'
        ? { key, padding: constants.RSA_PKCS1_PADDING }
        : { key };
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
