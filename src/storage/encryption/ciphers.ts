import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import { type Decrypted, TransformError, type Transformer } from './transformer.js';

const BLOCK = 16;
const NONCE = 12;
const TAG = 16;
const INFO = 32;
const SECRETBOX_NONCE = 24;
const TOO_SHORT = 'the stored data was shorter than the required size';

/** AES-CBC with PKCS#7 padding and a random IV in front of the blocks. It authenticates nothing. */
export class Cbc implements Transformer {
  private readonly algorithm: string;

  constructor(private readonly key: Uint8Array) {
    this.algorithm = `aes-${key.length * 8}-cbc`;
  }

  fromStorage(data: Uint8Array): Decrypted {
    if (data.length < BLOCK) throw new TransformError(TOO_SHORT);
    if (data.length % BLOCK !== 0) throw new TransformError('the stored data is not a multiple of the block size');
    const decipher = createDecipheriv(this.algorithm, this.key, data.subarray(0, BLOCK)).setAutoPadding(false);
    const plain = Buffer.concat([decipher.update(data.subarray(BLOCK)), decipher.final()]);
    const padding = plain.at(-1) ?? 0;
    if (padding === 0 || padding > plain.length) throw new TransformError('invalid PKCS7 data (empty or not padded)');
    const end = plain.length - padding;
    if (!plain.subarray(end).every((byte) => byte === padding)) throw new TransformError('invalid padding on input');
    return { data: plain.subarray(0, end), stale: false };
  }

  toStorage(data: Uint8Array): Uint8Array {
    const iv = randomBytes(BLOCK);
    const cipher = createCipheriv(this.algorithm, this.key, iv);
    return Buffer.concat([iv, cipher.update(data), cipher.final()]);
  }
}

/** AES-GCM with a random nonce in front of the text and the tag behind it. */
export class Gcm implements Transformer {
  constructor(private readonly key: Uint8Array) {}

  fromStorage(data: Uint8Array, context: Uint8Array): Decrypted {
    return { data: openGcm(this.key, data, context), stale: false };
  }

  toStorage(data: Uint8Array, context: Uint8Array): Uint8Array {
    return sealGcm(this.key, data, context, []);
  }
}

/**
 * AES-GCM with a separate key for each write, which HKDF expands from a seed and the 32 random bytes in front. So the uses of a key need
 * not be counted.
 */
export class SeededGcm implements Transformer {
  constructor(private readonly seed: Uint8Array) {
    if (seed.length < INFO) throw new TransformError(`invalid seed length ${seed.length} used for key generation`);
  }

  fromStorage(data: Uint8Array, context: Uint8Array): Decrypted {
    if (data.length < INFO) throw new TransformError(TOO_SHORT);
    const key = this.keyFor(data.subarray(0, INFO));
    return { data: openGcm(key, data.subarray(INFO), context), stale: false };
  }

  toStorage(data: Uint8Array, context: Uint8Array): Uint8Array {
    const info = randomBytes(INFO);
    return sealGcm(this.keyFor(info), data, context, [info]);
  }

  /** Returns the first block of HKDF's expansion with SHA-256, which is as long as a key. */
  private keyFor(info: Uint8Array): Uint8Array {
    return createHmac('sha256', this.seed).update(info).update(Uint8Array.of(1)).digest();
  }
}

/** NaCl's secretbox: XSalsa20 and Poly1305, with a random nonce in front of the box. The context is not authenticated. */
export class Secretbox implements Transformer {
  constructor(private readonly key: Uint8Array) {}

  fromStorage(data: Uint8Array): Decrypted {
    if (data.length < SECRETBOX_NONCE + TAG) throw new TransformError(TOO_SHORT);
    try {
      return {
        data: xsalsa20poly1305(this.key, data.subarray(0, SECRETBOX_NONCE)).decrypt(data.subarray(SECRETBOX_NONCE)),
        stale: false,
      };
    } catch {
      // The wording of kube-apiserver.
      throw new TransformError('output array was not large enough for encryption');
    }
  }

  toStorage(data: Uint8Array): Uint8Array {
    const nonce = randomBytes(SECRETBOX_NONCE);
    return Buffer.concat([nonce, xsalsa20poly1305(this.key, nonce).encrypt(data)]);
  }
}

function openGcm(key: Uint8Array, data: Uint8Array, context: Uint8Array): Uint8Array {
  if (data.length < NONCE) throw new TransformError(TOO_SHORT);
  try {
    const end = data.length - TAG;
    if (end < NONCE) throw new RangeError('too short');
    const decipher = createDecipheriv(gcmOf(key), key, data.subarray(0, NONCE)).setAAD(context);
    decipher.setAuthTag(data.subarray(end));
    return Buffer.concat([decipher.update(data.subarray(NONCE, end)), decipher.final()]);
  } catch {
    throw new TransformError('cipher: message authentication failed');
  }
}

function sealGcm(key: Uint8Array, data: Uint8Array, context: Uint8Array, before: readonly Uint8Array[]): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(gcmOf(key), key, nonce).setAAD(context);
  return Buffer.concat([...before, nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
}

type GcmName = 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm';

const gcmOf = (key: Uint8Array): GcmName =>
  key.length === 16 ? 'aes-128-gcm' : key.length === 24 ? 'aes-192-gcm' : 'aes-256-gcm';
