import { sign, X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createCertificate, generateKey, keyPem } from '../../pki/certificates.js';
import { bits, oid, pem, readDer, sequence } from '../../pki/der.js';
import { ResponseError } from './connection.js';
import type { RemoteConfig } from './kubeconfig.js';
import { certificateFaults } from './peer-certificates.js';
import { HttpsTransport } from './transport.js';

const PATIENCE = 60_000;
const notBefore = Date.now() - 1000;
const notAfter = Date.now() + 3_600_000;
const authority = generateKey();
const ca = createCertificate(
  { subject: { commonName: 'authority' }, publicKey: authority.publicKey, usage: 'ca', notBefore, notAfter },
  { key: authority.privateKey },
);
const leaf = generateKey();
const leafOf = (commonName: string, altNames: readonly string[]): string =>
  createCertificate(
    { subject: { commonName }, publicKey: leaf.publicKey, usage: 'server', altNames, notBefore, notAfter },
    { key: authority.privateKey, certificate: new X509Certificate(ca) },
  );

/** Returns the same certificate, signed with SHA-1. */
function withSha1(certificate: string): string {
  const [body] = readDer(new X509Certificate(certificate).raw).children();
  const algorithm = sequence(oid('1.2.840.10045.4.1'));
  const fields = body?.children() ?? [];
  const changed = sequence(...fields.map((field, i) => (i === 2 ? algorithm : field.raw)));
  const signature = sign('sha1', changed, { key: authority.privateKey, dsaEncoding: 'der' });
  return pem('CERTIFICATE', sequence(changed, algorithm, bits(signature)));
}

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** Posts to a server with this certificate. */
async function ask(cert: string, skipVerification = false): Promise<string | ResponseError> {
  const server = createServer({ cert, key: keyPem(leaf.privateKey), ciphers: 'DEFAULT@SECLEVEL=0' }, (_, response) => {
    response.end('answer');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const remote: RemoteConfig = {
    url: new URL('https://hook.example.com/'),
    dial: () => Promise.resolve({ host: '127.0.0.1', port }),
    serverName: 'hook.example.com',
    ca,
    skipVerification,
    certificate: undefined,
    key: undefined,
    token: undefined,
    tokenFile: undefined,
    basic: undefined,
    exec: undefined,
  };
  const transport = new HttpsTransport(remote, () => Promise.reject(new Error('no file')), undefined);
  try {
    const { body } = await transport.post('{}', PATIENCE, new AbortController().signal);
    await transport.post('{}', PATIENCE, new AbortController().signal);
    return body;
  } catch (error) {
    if (error instanceof ResponseError) return error;
    throw error;
  } finally {
    transport.close();
  }
}

const counts = (): [number, number] => [certificateFaults.missingSan, certificateFaults.insecureSha1];
const start = 'Post "https://hook.example.com:443/": tls: failed to verify certificate: x509: ';

beforeEach(() => {
  certificateFaults.missingSan = certificateFaults.insecureSha1 = 0;
});

test('a host name only in the subject is not accepted, and is counted', async () => {
  const error = await ask(leafOf('hook.example.com', []));
  expect(error).toMatchObject({
    message: `${start}certificate relies on legacy Common Name field, use SANs instead`,
    annotation: [
      'missing-san.invalid-cert.kubernetes.io/hook.example.com',
      'relies on a legacy Common Name field instead of the SAN extension for subject validation',
    ],
  });
  expect(counts()).toEqual([1, 0]);
});

test('a certificate for another host is not counted as missing SANs', async () => {
  const error = await ask(leafOf('elsewhere.example.com', []));
  const message = `${start}certificate is not valid for any names, but wanted to match hook.example.com`;
  expect(error).toMatchObject({ message, annotation: undefined });
  expect(counts()).toEqual([0, 0]);
});

test('a SHA-1 signature is not accepted, and is counted', async () => {
  const error = await ask(withSha1(leafOf('hook', ['hook.example.com'])));
  const why = '"x509: cannot verify signature: insecure algorithm ECDSA-SHA1"';
  expect(error).toMatchObject({
    message: `${start}certificate signed by unknown authority (possibly because of ${why} while trying to verify candidate authority certificate "authority")`,
    annotation: ['insecure-sha1.invalid-cert.kubernetes.io/hook.example.com', 'uses an insecure SHA-1 signature'],
  });
  expect(counts()).toEqual([0, 1]);
});

test('without verification, each call is counted', async () => {
  expect(await ask(leafOf('hook', []), true)).toBe('answer');
  expect(counts()).toEqual([2, 0]);
  expect(await ask(leafOf('hook', ['hook.example.com']))).toBe('answer');
  expect(counts()).toEqual([2, 0]);
});
