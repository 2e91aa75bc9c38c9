import { makeCertificateRequest } from '../../test/fakes/pki/certificate-request.js';
import { checkRequestSignature, parseCertificateRequest } from './certificate-request.js';
import { pem } from './der.js';
import { nextPemBlock } from './pem.js';
import { growth } from '../../test/fakes/util/growth.js';

test('parses the names of a request', () => {
  const parsed = parseCertificateRequest(
    makeCertificateRequest({
      commonName: 'system:node:n',
      organizations: ['system:nodes', 'b'],
      dnsNames: ['a.b', 'c'],
    }),
  );
  expect(parsed).toMatchObject({
    commonName: 'system:node:n',
    organizations: ['system:nodes', 'b'],
    dnsNames: ['a.b', 'c'],
    emailAddresses: [],
    uris: [],
    ipAddresses: [],
  });
});

test.each(['ec', 'rsa', 'ed25519'] as const)('verifies signatures of %s keys', (key) => {
  const check = (forged: boolean) => () => {
    checkRequestSignature(parseCertificateRequest(makeCertificateRequest({ commonName: 'x', key, forged })));
  };
  expect(check(false)).not.toThrow();
  expect(check(true)).toThrow(
    {
      ec: 'x509: ECDSA verification failure',
      rsa: 'crypto/rsa: verification error',
      ed25519: 'x509: Ed25519 verification failure',
    }[key],
  );
});

test('accepts signatures with SHA-1, but not with MD5', () => {
  const check = (key: 'ec' | 'rsa', hash: 'sha1' | 'md5') => () => {
    checkRequestSignature(parseCertificateRequest(makeCertificateRequest({ commonName: 'x', key, hash })));
  };
  expect(check('ec', 'sha1')).not.toThrow();
  expect(check('rsa', 'sha1')).not.toThrow();
  expect(check('rsa', 'md5')).toThrow('x509: cannot verify signature: insecure algorithm MD5-RSA');
});

test('accepts signatures with PSS if the salt is as long as the hash', () => {
  const check =
    (pss: number, forged = false) =>
    () => {
      checkRequestSignature(
        parseCertificateRequest(makeCertificateRequest({ commonName: 'x', key: 'rsa', pss, forged })),
      );
    };
  expect(check(32)).not.toThrow();
  expect(check(32, true)).toThrow('crypto/rsa: verification error');
  expect(check(11)).toThrow('x509: cannot verify signature: algorithm unimplemented');
});

describe('refused', () => {
  const good = makeCertificateRequest({ commonName: 'x' });
  const cases: readonly (readonly [string, string, string])[] = [
    ['no PEM', 'hello', 'PEM block type must be CERTIFICATE REQUEST'],
    [
      'another block',
      good.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE'),
      'PEM block type must be CERTIFICATE REQUEST',
    ],
    ['another block first', pem('X', Buffer.from('a')) + good, 'PEM block type must be CERTIFICATE REQUEST'],
    ['garbage', pem('CERTIFICATE REQUEST', Buffer.from('garbage')), 'asn1: structure error'],
    ['empty sequence', pem('CERTIFICATE REQUEST', Buffer.from([0x30, 0])), 'asn1: structure error: sequence truncated'],
    [
      'more behind it',
      pem('CERTIFICATE REQUEST', Buffer.concat([nextPemBlock(good)?.content ?? Buffer.alloc(0), Buffer.from('a')])),
      'trailing data',
    ],
  ];
  test.each(cases)('%s', (_name, text, why) => {
    expect(() => parseCertificateRequest(text)).toThrow(why);
  });

  test('every truncation, without a crash', () => {
    const raw = nextPemBlock(good)?.content ?? Buffer.alloc(0);
    for (let i = 0; i < raw.length; i++) {
      expect(() => {
        checkRequestSignature(parseCertificateRequest(pem('CERTIFICATE REQUEST', raw.subarray(0, i))));
      }).toThrow();
    }
  });
});

describe('PEM', () => {
  test('headers are reported and skipped', () => {
    const block = nextPemBlock('text\n-----BEGIN A-----\nk: v\n\nYQ==\n-----END A-----\n');
    expect(block).toMatchObject({ label: 'A', headers: true, content: Buffer.from('a') });
  });

  test('many unterminated blocks do not take quadratic time', () => {
    const took = (last: string): number =>
      growth(200_000, (size) => {
        const text = `${'-----BEGIN A-----\n'.repeat(size)}${last}`;
        return () => {
          expect(nextPemBlock(text)).toBeUndefined();
        };
      });
    expect(took('')).toBeLessThanOrEqual(1);
    expect(took('-----END B-----\n')).toBeLessThanOrEqual(1);
  });

  test('reads consecutive blocks', () => {
    const text = pem('A', Buffer.from('x')) + pem('B', Buffer.from('y'));
    const first = nextPemBlock(text);
    expect(first?.label).toBe('A');
    expect(nextPemBlock(text, first?.end)?.content).toEqual(Buffer.from('y'));
  });
});
