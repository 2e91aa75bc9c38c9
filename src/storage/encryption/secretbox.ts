import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Poly1305 } from './poly1305.js';
import { salsaKey, salsaXor } from './salsa20.js';
import { type Decrypted, TransformError, type Transformer } from './transformer.js';

const NONCE = 24;
const TAG = 16;
/** The first bytes of the stream are the authenticator's key. */
const KEY = 32;

/** NaCl's secretbox: XSalsa20 and Poly1305, with a random nonce in front of the box. The context is not authenticated. */
export class Secretbox implements Transformer {
  constructor(private readonly key: Uint8Array) {}

  fromStorage(data: Uint8Array): Decrypted {
    if (data.length < NONCE + TAG) throw new TransformError('the stored data was shorter than the required size');
    const plain = openBox(data.subarray(NONCE), data.subarray(0, NONCE), this.key);
    // The wording of kube-apiserver.
    if (plain === undefined) throw new TransformError('output array was not large enough for encryption');
    return { data: plain, stale: false };
  }

  toStorage(data: Uint8Array): Uint8Array {
    const nonce = randomBytes(NONCE);
    return Buffer.concat([nonce, sealBox(data, nonce, this.key)]);
  }
}

/** Returns the tag and the ciphertext. */
export function sealBox(message: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array {
  const { stream, subNonce } = begin(nonce, key);
  const padded = Buffer.alloc(KEY + message.length);
  padded.set(message, KEY);
  salsaXor(padded, subNonce, stream);
  const text = padded.subarray(KEY);
  const tag = new Poly1305(padded.subarray(0, KEY)).digest(text);
  return Buffer.concat([tag, text]);
}

/** Returns undefined if the box was not made with this key and nonce. */
export function openBox(box: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  const { stream, subNonce } = begin(nonce, key);
  const padded = Buffer.alloc(KEY + box.length - TAG);
  const text = box.subarray(TAG);
  const authenticator = Buffer.alloc(KEY);
  salsaXor(authenticator, subNonce, stream);
  if (!timingSafeEqual(new Poly1305(authenticator).digest(text), box.subarray(0, TAG))) return undefined;
  padded.set(text, KEY);
  salsaXor(padded, subNonce, stream);
  return padded.subarray(KEY);
}

const begin = (nonce: Uint8Array, key: Uint8Array): { readonly stream: Uint8Array; readonly subNonce: Uint8Array } => ({
  stream: salsaKey(key, nonce.subarray(0, 16)),
  subNonce: nonce.subarray(16, NONCE),
});
