import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificate, generateKey, keyPem } from '../pki/certificates.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { checkCertificates } from './certificates.js';
import { lineOf } from './finding.js';

const DAY = 86_400_000;
const clock = new FakeClock();
const now = clock.now();
const NAME = 'annex.annex-system.svc';

function authority(commonName: string): {
  pem: string;
  key: ReturnType<typeof generateKey>['privateKey'];
  certificate: X509Certificate;
} {
  const { privateKey, publicKey } = generateKey();
  const request = {
    subject: { commonName },
    publicKey,
    usage: 'ca' as const,
    notBefore: now - DAY,
    notAfter: now + DAY,
  };
  const pem = createCertificate(request, { key: privateKey });
  return { pem, key: privateKey, certificate: new X509Certificate(pem) };
}

const ca = authority('ca');
const stranger = authority('stranger');

function leaf(name: string, notBefore: number, notAfter: number): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKey();
  const request = {
    subject: { commonName: NAME },
    publicKey,
    usage: 'server' as const,
    altNames: [name],
    notBefore,
    notAfter,
  };
  return { cert: createCertificate(request, ca), key: keyPem(privateKey) };
}

const good = leaf(NAME, now - DAY, now + DAY);
const expired = leaf(NAME, now - 2 * DAY, now - DAY);
const early = leaf(NAME, now + DAY, now + 2 * DAY);
const other = leaf('other.annex-system.svc', now - DAY, now + DAY);

describe('checkCertificates', () => {
  let directory = '';
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'annex-doctor-'))));
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  function check(cert: string, key: string, bundle: string): string {
    const path = (name: string, content: string): string => {
      writeFileSync(join(directory, name), content);
      return join(directory, name);
    };
    const options = {
      tlsCertFile: path('tls.crt', cert),
      tlsPrivateKeyFile: path('tls.key', key),
      serviceCaFile: path('ca.crt', bundle),
      serviceName: 'annex',
      serviceNamespace: 'annex-system',
    };
    return lineOf(checkCertificates(options, clock));
  }

  test.each<[string, { cert: string; key: string }, string, string]>([
    ['a valid one', good, ca.pem, `serving certificate: ok \\(for ${NAME}, until `],
    ['one of several CAs', good, stranger.pem + ca.pem, 'serving certificate: ok'],
    ['an expired one', expired, ca.pem, 'failed: .*tls.crt expired on .*; fix: renew it'],
    ['one of tomorrow', early, ca.pem, 'failed: .*tls.crt is not valid before '],
    ['one for another user', other, ca.pem, `failed: .* is not valid for ${NAME} \\(DNS:other.annex-system.svc\\)`],
    ['one of another CA', good, stranger.pem, 'failed: no valid CA in .*ca.crt issued .*tls.crt; fix:'],
    [
      'a key of another certificate',
      { cert: good.cert, key: other.key },
      ca.pem,
      'failed: .*tls.key is not the key of .*tls.crt',
    ],
    ['no certificate', { cert: 'x', key: good.key }, ca.pem, 'failed: .*tls.crt contains no certificate'],
    ['no CA', good, 'x', 'failed: data does not contain any valid .*; fix: put the PEM certificates of the CA'],
  ])('%s', (_, { cert, key }, bundle, expected) => {
    expect(check(cert, key, bundle)).toMatch(new RegExp(expected));
  });

  test('is skipped if Annex issues the certificate itself', () => {
    const options = {
      tlsCertFile: '',
      tlsPrivateKeyFile: '',
      serviceCaFile: '',
      serviceName: 'a',
      serviceNamespace: 'b',
    };
    expect(checkCertificates(options, clock).verdict).toBe('skipped');
  });
});
