import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SharedAuthority } from '../server/certificates/serving-certificates.js';
import { EmbeddedBackend } from '../storage/embedded/backend.js';
import { systemClock } from '../util/clock.js';
import { createCertificate, generateKey } from '../pki/certificates.js';
import { checkCaBundles, servedAuthorities } from './authorities.js';
import { lineOf } from './finding.js';

describe('servedAuthorities', () => {
  let dataDir = '';
  beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'annex-doctor-'))));
  afterEach(() => {
    rmSync(dataDir, { recursive: true });
  });
  const options = (over: object = {}) => ({
    dataDir,
    storageBackend: 'embedded',
    mongodbUri: '',
    mongodbUriFile: '',
    mongodbDatabase: 'annex',
    mongodbLogOverrides: [],
    mongodbFormerCluster: '',
    mongodbContinueAbove: 0,
    historyWindow: 300_000,
    given: new Set<string>(),
    tlsCertFile: '',
    serviceCaFile: '',
    ...over,
  });

  test('returns the CAs in the store', async () => {
    const backend = new EmbeddedBackend({ directory: join(dataDir, 'store'), clock: systemClock });
    await backend.open();
    const { caBundle } = await SharedAuthority.open(backend, systemClock, ['annex.system.svc']);
    await backend.close();
    const expected = [new X509Certificate(caBundle).fingerprint256];
    expect(await servedAuthorities(options(), systemClock)).toEqual(expected);
  });

  test('returns the CAs in the file', async () => {
    const { privateKey, publicKey } = generateKey();
    const request = { subject: { commonName: 'ca' }, publicKey, usage: 'ca' as const, notBefore: 0, notAfter: 4e12 };
    const pem = createCertificate(request, { key: privateKey });
    const serviceCaFile = join(dataDir, 'ca.crt');
    writeFileSync(serviceCaFile, pem);
    const found = await servedAuthorities(options({ tlsCertFile: 'tls.crt', serviceCaFile }), systemClock);
    expect(found).toEqual([new X509Certificate(pem).fingerprint256]);
  });

  test('returns undefined without a store and a file', async () => {
    expect(await servedAuthorities(options(), systemClock)).toBeUndefined();
    const gone = options({ tlsCertFile: 'tls.crt', serviceCaFile: join(dataDir, 'none') });
    expect(await servedAuthorities(gone, systemClock)).toBeUndefined();
  });
});

test('without APIServices the caBundle check is skipped', () => {
  expect(lineOf(checkCaBundles([], [], 0))).toBe('caBundle: skipped (no APIService has one)');
});
