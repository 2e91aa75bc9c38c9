import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { pem } from '../../../../pki/der.js';
import { nextPemBlock } from '../../../../pki/pem.js';

interface Block {
  readonly type: string;
  readonly text: string;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  for (let found = nextPemBlock(text); found !== undefined; found = nextPemBlock(text, found.end)) {
    blocks.push({ type: found.label, text: pem(found.label, found.content) });
  }
  return blocks;
}

const list = (types: readonly string[]): string => `[${types.join(' ')}]`;

function certificateProblem(blocks: readonly Block[]): string | undefined {
  if (blocks.some((block) => block.type === 'CERTIFICATE')) return undefined;
  const skipped = blocks.map((block) => block.type);
  if (skipped.length === 0) return 'tls: failed to find any PEM data in certificate input';
  if (skipped.length === 1 && skipped[0]?.endsWith('PRIVATE KEY') === true) {
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${list(skipped)}`;
}

const isPrivateKey = (block: Block): boolean => block.type === 'PRIVATE KEY' || block.type.endsWith(' PRIVATE KEY');

function keyProblem(blocks: readonly Block[]): string | undefined {
  if (blocks.some(isPrivateKey)) return undefined;
  const skipped = blocks.map((block) => block.type);
  if (skipped.length === 0) return 'tls: failed to find any PEM data in key input';
  if (skipped.length === 1 && skipped[0] === 'CERTIFICATE') {
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${list(skipped)}`;
}

/** Returns the error of Go's TLS library for a certificate and its key, or undefined if they match. */
export function keyPairProblem(certificatePem: string, keyPem: string): string | undefined {
  const certificates = blocksOf(certificatePem);
  const keys = blocksOf(keyPem);
  const missing = certificateProblem(certificates) ?? keyProblem(keys);
  if (missing !== undefined) return missing;
  const certificateBlock = certificates.find((block) => block.type === 'CERTIFICATE');
  const keyBlock = keys.find(isPrivateKey);
  if (certificateBlock === undefined || keyBlock === undefined) return undefined;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(certificateBlock.text);
  } catch {
    return 'x509: malformed certificate';
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(keyBlock.text);
  } catch {
    return 'tls: failed to parse private key';
  }
  if (certificate.publicKey.asymmetricKeyType !== key.asymmetricKeyType) {
    return 'tls: private key type does not match public key type';
  }
  return certificate.checkPrivateKey(key) ? undefined : 'tls: private key does not match public key';
}
