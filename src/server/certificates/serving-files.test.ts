import { type KeyObject, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificate, generateKey, keyPem } from '../../pki/certificates.js';
import { FakeClock } from '../../../test/fakes/util/clock.js';
import { ServingFiles } from './serving-files.js';

const START = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const [everywhere, nowhere] = [(): boolean => true, (): boolean => false];

interface Ca {
  readonly cert: string;
  readonly key: KeyObject;
}

function authority(name: string): Ca {
  const { privateKey, publicKey } = generateKey();
  const validity = { notBefore: START - HOUR, notAfter: START + 1000 * HOUR };
  const cert = createCertificate(
    { subject: { commonName: name }, publicKey, usage: 'ca', ...validity },
    { key: privateKey },
  );
  return { cert, key: privateKey };
}

function leafOf(ca: Ca, hours = 100): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKey();
  const validity = { notBefore: START - HOUR, notAfter: START + hours * HOUR };
  const request = { subject: { commonName: 'annex.system.svc' }, publicKey, usage: 'server' as const, ...validity };
  const cert = createCertificate(request, { key: ca.key, certificate: new X509Certificate(ca.cert) });
  return { cert, key: keyPem(privateKey) };
}

describe('serving certificates in files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'annex-serving-'));
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), authorities: join(folder, 'ca.crt') };
  const put = (leaf: { cert: string; key: string }, authorities: string): void => {
    writeFileSync(files.cert, leaf.cert);
    writeFileSync(files.key, leaf.key);
    writeFileSync(files.authorities, authorities);
  };
  const [old, fresh] = [authority('old'), authority('fresh')];
  const first = leafOf(old);
  let clock: FakeClock;
  const open = (leaf = first): ServingFiles => {
    put(leaf, old.cert);
    clock = new FakeClock(START);
    return new ServingFiles(files, clock);
  };
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  test('a certificate issued by the known CA is served at once', async () => {
    const serving = open();
    expect(await serving.refresh(everywhere)).toBe(false);
    const next = leafOf(old);
    put(next, old.cert);
    expect(await serving.refresh(everywhere)).toBe(true);
    expect(serving.pair).toEqual(next);
    expect(serving.caBundle).toBe(old.cert);
  });

  test('a new CA is published before its certificate is served, and the old CA stays for an hour', async () => {
    const serving = open();
    const next = leafOf(fresh);
    put(next, fresh.cert);
    expect(await serving.refresh(everywhere)).toBe(true);
    expect(serving.pair).toEqual(first);
    expect(serving.caBundle).toBe(fresh.cert + old.cert);
    clock.advance(60 * SECOND);
    expect(await serving.refresh(everywhere)).toBe(false);
    expect(serving.pair).toEqual(first);
    clock.advance(60 * SECOND);
    expect(await serving.refresh(everywhere)).toBe(true);
    expect(serving.pair).toEqual(next);
    expect(serving.caBundle).toBe(fresh.cert + old.cert);
    clock.advance(HOUR);
    expect(await serving.refresh(everywhere)).toBe(true);
    expect(serving.caBundle).toBe(fresh.cert);
  });

  test('replicas that reload at different times only serve certificates that every CA bundle verifies', async () => {
    const early = open();
    const late = new ServingFiles(files, clock);
    put(leafOf(fresh), fresh.cert);
    const known = (shown: ServingFiles, by: ServingFiles): boolean => {
      const leaf = new X509Certificate(shown.pair.cert);
      return [old, fresh].some(
        ({ cert }) => by.caBundle.includes(cert) && leaf.verify(new X509Certificate(cert).publicKey),
      );
    };
    for (let second = 0; second < 300; second += 10) {
      if (second % 60 === 0) await early.refresh(everywhere);
      if (second % 60 === 50) await late.refresh(everywhere);
      expect([known(early, early), known(early, late), known(late, early), known(late, late)]).not.toContain(false);
      clock.advance(10 * SECOND);
    }
    expect(early.pair).toEqual(late.pair);
    expect(early.pair).not.toEqual(first);
  });

  test('a certificate of a CA that the cluster does not know is not served', async () => {
    const serving = open();
    const next = leafOf(fresh);
    put(next, fresh.cert);
    await serving.refresh(nowhere);
    clock.advance(HOUR / 2);
    expect(await serving.refresh(nowhere)).toBe(false);
    expect(serving.pair).toEqual(first);
    expect(await serving.refresh(everywhere)).toBe(true);
    expect(serving.pair).toEqual(next);
  });

  test('a renewed certificate of the initial CA does not wait for the cluster', async () => {
    const serving = open();
    const next = leafOf(old);
    put(next, old.cert);
    await serving.refresh(nowhere);
    expect(serving.pair).toEqual(next);
  });

  test('a new certificate is served at once if the old one has expired', async () => {
    const serving = open(leafOf(old, 1));
    clock.advance(HOUR);
    const next = leafOf(fresh);
    put(next, fresh.cert);
    expect(await serving.refresh(everywhere)).toBe(true);
    expect(serving.pair).toEqual(next);
  });

  test('a certificate that no CA in the file issued is served at once', async () => {
    const serving = open();
    const next = leafOf(fresh);
    put(next, old.cert);
    expect(await serving.refresh(everywhere)).toBe(true);
    expect(serving.pair).toEqual(next);
  });

  test.each([
    ['no CA', '', /^--service-ca-file: .*ca\.crt contains no certificate$/],
    [
      'a broken CA',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      /ca\.crt contains an invalid certificate/,
    ],
  ])('%s keeps the previous certificate and CA', (_, text, message) => {
    const serving = open();
    put(leafOf(fresh), text);
    expect(() => serving.refresh(everywhere)).toThrow(message);
    expect([serving.pair, serving.caBundle]).toEqual([first, old.cert]);
  });
});
