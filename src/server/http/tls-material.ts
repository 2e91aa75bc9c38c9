import type { SecureContextOptions } from 'node:tls';

/** Ciphers in order of preference. AES-128-GCM is first: it is fast everywhere, and the benchmarks of peers use it. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

export interface TlsMaterial {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /** CAs whose names the server sends when it requests a client certificate. */
  readonly clientCAs: readonly (string | Buffer)[];
}

/** The TLS options of a listener with this material. */
export function secureContext(tls: TlsMaterial): SecureContextOptions {
  return {
    key: tls.key,
    cert: tls.cert,
    ca: [...tls.clientCAs],
    ciphers: CIPHERS,
    honorCipherOrder: true,
    minVersion: 'TLSv1.2',
  };
}
