import { createPublicKey, createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCertificate, generateKey, keyPem, validityFrom } from '../../src/pki/certificates.js';
import { newKey } from '../../src/server/certificates/data-directory.js';

const YEAR = 365 * 86_400_000;

/** Makes the keys that several servers share, as files in a folder, and returns the flags that name them. */
export function keyFiles(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  const now = Date.now();
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const [root, clients, accounts] = [
    newKey('serving-ca', now),
    newKey('client-ca', now),
    newKey('service-account', now),
  ];
  const { privateKey, publicKey } = generateKey();
  const request = {
    subject: { commonName: 'kube-apiserver' },
    publicKey,
    usage: 'server' as const,
    altNames: ['localhost', '127.0.0.1'],
    ...validityFrom(now, YEAR),
  };
  const issuer = { key: createPrivateKey(root.key), certificate: new X509Certificate(root.cert) };
  const publicPem = createPublicKey(accounts.key).export({ type: 'spki', format: 'pem' }).toString();
  return [
    `--tls-cert-file=${file('tls.crt', createCertificate(request, issuer))}`,
    `--tls-private-key-file=${file('tls.key', keyPem(privateKey))}`,
    `--root-ca-file=${file('ca.crt', root.cert)}`,
    `--cluster-signing-cert-file=${file('client-ca.crt', clients.cert)}`,
    `--cluster-signing-key-file=${file('client-ca.key', clients.key)}`,
    `--client-ca-file=${file('client-ca.crt', clients.cert)}`,
    `--service-account-signing-key-file=${file('sa.key', accounts.key)}`,
    `--service-account-key-file=${file('sa.pub', publicPem)}`,
  ];
}
