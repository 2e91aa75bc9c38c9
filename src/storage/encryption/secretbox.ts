import { randomBytes } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import { type Decrypted, TransformError, type Transformer } from './transformer.js';

const NONCE = 24;
const TAG = 16;

/** NaCl's secretbox: XSalsa20 and Poly1305, with a random nonce in front of the box. The context is not authenticated. */
export class Secretbox implements Transformer {
  constructor(private readonly key: Uint8Array) {}

  fromStorage(data: Uint8Array): Decrypted {
    if (data.length < NONCE + TAG) throw new TransformError('the stored data was shorter than the required size');
    try {
      return { data: xsalsa20poly1305(this.key, data.subarray(0, NONCE)).decrypt(data.subarray(NONCE)), stale: false };
    } catch {
      // The wording of kube-apiserver.
      throw new TransformError('output array was not large enough for encryption');
    }
  }

  toStorage(data: Uint8Array): Uint8Array {
    const nonce = randomBytes(NONCE);
    return Buffer.concat([nonce, xsalsa20poly1305(this.key, nonce).encrypt(data)]);
  }
}
