import { FakeClock } from '../../../test/fakes/util/clock.js';
import { createCertificate, generateKey } from '../../pki/certificates.js';
import { renewCertificates } from './certificate-renewal.js';
import type { ServingPair } from './serving-certificates.js';

const START = Date.UTC(2026, 0, 1);
const SECOND = 1_000;

function pairUntil(notAfter: number): ServingPair {
  const { privateKey, publicKey } = generateKey();
  const request = { subject: { commonName: 'x' }, publicKey, usage: 'server' as const, notBefore: 0, notAfter };
  return { cert: createCertificate(request, { key: privateKey }), key: '' };
}

function setUp(first: ServingPair) {
  const clock = new FakeClock(START);
  const stop = new AbortController();
  const reported: string[] = [];
  const certificates = {
    pair: first,
    caBundle: '',
    next: undefined as ServingPair | Error | undefined,
    refresh(): Promise<boolean> {
      const { next } = this;
      this.next = undefined;
      if (next instanceof Error) return Promise.reject(next);
      if (next === undefined) return Promise.resolve(false);
      this.pair = next;
      return Promise.resolve(true);
    },
  };
  const at = (): string => `${(clock.now() - START) / SECOND} s`;
  const done = renewCertificates(certificates, {
    clock,
    signal: stop.signal,
    logger: { info: (text) => void reported.push(`${at()} ${text}`) },
    links: {
      broken: (link, what) => void reported.push(`${at()} ${link}: ${String(what)}`),
      restored: () => void reported.push(`${at()} fine`),
    },
    renewed: () => void reported.push(`${at()} renewed`),
    isCaPublished: () => true,
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(SECOND);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    }
  };
  return { certificates, reported, pass, stop, done };
}

describe('renewCertificates', () => {
  test('reports an expired certificate, and loads a new one within seconds', async () => {
    const { certificates, reported, pass } = setUp(pairUntil(START + 8 * SECOND));
    await pass(7);
    expect(reported).toEqual(['0 s fine']);
    await pass(1);
    expect(reported.slice(1)).toEqual(['8 s serving-certificate: it expired on 2026-01-01T00:00:08.000Z']);
    certificates.next = pairUntil(START + 3600 * SECOND);
    await pass(5);
    expect(reported.slice(2)).toEqual(['13 s renewed', '13 s renewed the serving certificate or its CA', '13 s fine']);
  });

  test('checks again within seconds after a renewal, and otherwise once a minute', async () => {
    const { certificates, reported, pass } = setUp(pairUntil(START + 3600 * SECOND));
    const exchange = (): void => {
      certificates.next = pairUntil(START + 7200 * SECOND);
    };
    exchange();
    await pass(60);
    exchange();
    await pass(10);
    exchange();
    await pass(60);
    expect(reported.filter((line) => / s renewed$/.test(line))).toEqual([
      '60 s renewed',
      '65 s renewed',
      '130 s renewed',
    ]);
  });

  test('a failed renewal keeps the old certificate, and is reported until a check succeeds', async () => {
    const first = pairUntil(START + 3600 * SECOND);
    const { certificates, reported, pass } = setUp(first);
    certificates.next = new Error('--tls-cert-file: no PEM');
    await pass(60);
    expect(reported).toEqual(['0 s fine', '60 s serving-certificate: it cannot be renewed: --tls-cert-file: no PEM']);
    expect(certificates.pair).toBe(first);
    await pass(60);
    expect(reported.at(-1)).toBe('120 s fine');
  });

  test('ends with the signal', async () => {
    const { stop, done, reported } = setUp(pairUntil(START + 3600 * SECOND));
    stop.abort();
    await done;
    expect(reported).toEqual(['0 s fine']);
  });
});
