import { X509Certificate } from 'node:crypto';
import { nextPemBlock } from '../../../../pki/pem.js';
import { messageOf } from '../../../../util/error-message.js';

/** Returns why a bundle of certificates (PEM in base64) is invalid, or undefined if it is valid. */
export function caBundleFault(bundle: string): string | undefined {
  const text = Buffer.from(bundle, 'base64').toString('latin1');
  if (text === '') return undefined;
  const blocks: Buffer[] = [];
  for (let found = nextPemBlock(text); found !== undefined; found = nextPemBlock(text, found.end)) {
    if (found.label === 'CERTIFICATE' && !found.headers) blocks.push(found.content);
  }
  if (blocks.length === 0) return 'unable to load root certificates: unable to parse bytes as PEM block';
  for (const block of blocks) {
    try {
      new X509Certificate(block);
    } catch (error) {
      const why = messageOf(error);
      return `unable to load root certificates: failed to parse certificate: ${why}`;
    }
  }
  return undefined;
}
