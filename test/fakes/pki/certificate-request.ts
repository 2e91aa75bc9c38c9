import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  bits,
  explicitTag,
  implicitTag,
  der,
  integer,
  octets,
  oid,
  pem,
  sequence,
  Tag,
  utf8,
} from '../../../src/pki/der.js';

export interface FakeRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  /** Signs with a different key than the one in the request. */
  readonly forged?: boolean;
  readonly key?: 'ec' | 'rsa' | 'ed25519';
  /** The hash of the signature, for keys that use one. */
  readonly hash?: 'sha256' | 'sha1' | 'md5';
  /** The length of the salt in bytes; if set, an RSA key signs with PSS. */
  readonly pss?: number;
  /** A key pair of the kind `key`; generated if not given. */
  readonly pair?: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
}

const ALGORITHMS = {
  sha256: { ec: '1.2.840.10045.4.3.2', rsa: '1.2.840.113549.1.1.11', ed25519: '1.3.101.112' },
  sha1: { ec: '1.2.840.10045.4.1', rsa: '1.2.840.113549.1.1.5', ed25519: '1.3.101.112' },
  md5: { ec: '', rsa: '1.2.840.113549.1.1.4', ed25519: '1.3.101.112' },
} as const;

function keyPair(kind: 'ec' | 'rsa' | 'ed25519'): { privateKey: KeyObject; publicKey: KeyObject } {
  if (kind === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  return kind === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
}

/** Creates a PKCS #10 request for tests, as PEM. */
export function makeCertificateRequest(request: FakeRequest): string {
  const { commonName, organizations = [], dnsNames = [], forged = false, key = 'ec', hash = 'sha256' } = request;
  const { pair = keyPair(key) } = request;
  const attribute = (type: string, value: string): Buffer => der(Tag.SET, sequence(oid(type), utf8(value)));
  const subject = sequence(
    ...organizations.map((organization) => attribute('2.5.4.10', organization)),
    attribute('2.5.4.3', commonName),
  );
  const names = sequence(...dnsNames.map((name) => der(implicitTag(2), Buffer.from(name))));
  const extensions = sequence(sequence(oid('2.5.29.17'), octets(names)));
  const attributes = dnsNames.length === 0 ? [] : [sequence(oid('1.2.840.113549.1.9.14'), der(Tag.SET, extensions))];
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
  const info = sequence(integer(Buffer.from([0])), subject, publicKey, der(explicitTag(0), ...attributes));
  const signer = forged ? keyPair(key).privateKey : pair.privateKey;
  const { pss: saltLength } = request;
  if (saltLength !== undefined) {
    const signed = sign(hash, info, { key: signer, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
    return pem('CERTIFICATE REQUEST', sequence(info, pssAlgorithm(saltLength), bits(signed)));
  }
  const signature = sign(key === 'ed25519' ? null : hash, info, signer);
  return pem('CERTIFICATE REQUEST', sequence(info, sequence(oid(ALGORITHMS[hash][key])), bits(signature)));
}

/** Returns PSS with SHA-256, also for the mask function. */
function pssAlgorithm(saltLength: number): Buffer {
  const sha256 = sequence(oid('2.16.840.1.101.3.4.2.1'));
  const parameters = sequence(
    der(explicitTag(0), sha256),
    der(explicitTag(1), sequence(oid('1.2.840.113549.1.1.8'), sha256)),
    der(explicitTag(2), integer(Buffer.from([saltLength]))),
  );
  return sequence(oid('1.2.840.113549.1.1.10'), parameters);
}
