import { createServer, type Server } from 'node:https';
import { X509Certificate } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCertificate, generateKey, keyPem } from '../../../pki/certificates.js';
import type { Conversion } from '../../../registry/customresource/conversion/conversion.js';
import type { Definition } from '../../../registry/customresource/definition.js';
import { conversions } from './conversion-webhooks.js';

const times = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const caKey = generateKey();
const ca = createCertificate(
  { subject: { commonName: 'ca' }, publicKey: caKey.publicKey, usage: 'ca', ...times },
  { key: caKey.privateKey },
);

let server: Server;
let port: number;
const open: ServerResponse[] = [];
let answer: (response: ServerResponse) => void = (response) => open.push(response);

beforeAll(async () => {
  const pair = generateKey();
  const cert = createCertificate(
    {
      subject: { commonName: 'hook' },
      publicKey: pair.publicKey,
      usage: 'server',
      altNames: ['127.0.0.1'],
      ...times,
    },
    { key: caKey.privateKey, certificate: new X509Certificate(ca) },
  );
  server = createServer({ cert, key: keyPem(pair.privateKey) }, (_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const make = conversions(() => Promise.reject(new Error('no services')));
const definition = (name: string): Conversion =>
  make({
    name,
    conversion: {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { url: `https://127.0.0.1:${String(port)}/`, caBundle: Buffer.from(ca).toString('base64') },
      },
    },
  } as unknown as Definition);
const convert = (conversion: Conversion): Promise<string> =>
  conversion.convertAll([{ apiVersion: 'g/v1', kind: 'W', metadata: { name: 'w' } }], 'g/v2').then(
    () => 'converted',
    (error: unknown) => String(error),
  );

test('an answer of more than 8 MiB is refused', async () => {
  answer = (response) => response.end(`"${'x'.repeat(9 << 20)}"`);
  expect(await convert(definition('large'))).toContain('the response exceeds 8388608 bytes');
});

test('a webhook that never answers holds 16 reviews, and all definitions together 64', async () => {
  answer = (response) => open.push(response);
  const slow = Array.from({ length: 6 }, (_, i) => definition(`slow-${String(i)}`));
  const [first] = slow as [Conversion];
  const asked = Array.from({ length: 40 }, () => convert(first));
  await until(() => open.length >= 16);
  expect(open).toHaveLength(16);
  for (const conversion of slow.slice(1)) for (let i = 0; i < 20; i++) asked.push(convert(conversion));
  await until(() => open.length >= 64);
  expect(open).toHaveLength(64);
  answer = (response) => response.end('{}');
  for (const response of open) response.end('{}');
  for (const outcome of await Promise.all(asked)) expect(outcome).toContain('ConversionReview');
});

/** Waits for a condition, and then a little for what would exceed it. */
async function until(met: () => boolean): Promise<void> {
  while (!met()) await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, 200));
}
