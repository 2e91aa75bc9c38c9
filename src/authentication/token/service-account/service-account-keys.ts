import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';

/** A key that verifies service account tokens. */
export interface VerificationKey {
  readonly key: KeyObject;
  /** The digest of the key: the `kid` of token headers and of the published key set. */
  readonly id: string;
  /** The algorithm that the server signs with, as published in the key set. */
  readonly algorithm: string;
  /** All algorithms that the key can verify. */
  readonly algorithms: readonly string[];
}

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const CURVES: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };
const MIN_RSA_BITS = 2048;
const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

function algorithmsOf(key: KeyObject): readonly string[] {
  if (key.asymmetricKeyType === 'rsa') {
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits < MIN_RSA_BITS) throw new Error(`RSA keys must have at least ${MIN_RSA_BITS} bits; this one has ${bits}`);
    return RSA_ALGORITHMS;
  }
  const algorithm = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (key.asymmetricKeyType !== 'ec' || algorithm === undefined) {
    throw new Error('keys must be RSA, or ECDSA on the curves P-256, P-384 or P-521');
  }
  return [algorithm];
}

/** Accepts private keys too, and uses their public half. Throws an Error for other kinds of keys. */
export function verificationKey(key: KeyObject): VerificationKey {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const algorithms = algorithmsOf(publicKey);
  const id = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
  return { key: publicKey, id, algorithm: algorithms[0] ?? '', algorithms };
}

function readBlock(label: string, block: string): KeyObject | undefined {
  switch (label) {
    case 'PRIVATE KEY':
    case 'RSA PRIVATE KEY':
    case 'EC PRIVATE KEY':
      return createPrivateKey(block);
    case 'PUBLIC KEY':
    case 'RSA PUBLIC KEY':
      return createPublicKey(block);
    case 'CERTIFICATE':
      return new X509Certificate(block).publicKey;
    default:
      // PEM files of EC keys also contain the parameters of the curve.
      return undefined;
  }
}

/**
 * Returns all keys of a PEM text: public keys, private keys and those of certificates. Throws an Error if there is none
 * or one is invalid.
 */
export function readVerificationKeys(text: string): VerificationKey[] {
  const keys: VerificationKey[] = [];
  for (const [block, label = ''] of text.matchAll(BLOCK)) {
    const key = readBlock(label, block);
    if (key !== undefined) keys.push(verificationKey(key));
  }
  if (keys.length === 0) throw new Error('data does not contain any valid RSA or ECDSA public keys');
  return keys;
}

/** Returns the first private key of a PEM text. Throws an Error if there is none. */
export function readSigningKey(text: string): KeyObject {
  for (const [block, label = ''] of text.matchAll(BLOCK)) {
    const key = readBlock(label, block);
    if (key?.type === 'private') {
      algorithmsOf(createPublicKey(key));
      return key;
    }
  }
  throw new Error('data does not contain a valid RSA or ECDSA private key');
}

/** Removes duplicate keys. */
export function uniqueKeys(keys: readonly VerificationKey[]): VerificationKey[] {
  return [...new Map(keys.map((key) => [key.id, key])).values()];
}
