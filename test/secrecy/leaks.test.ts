import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FOLDER_VARIABLE, keepLog, leaksIn, leaksOf, plant } from './leaks.js';

const SECRET = 'planted-for-this-test-4711';

describe('leak detection', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['a signed token', 'token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJlLW9mLXRva2Vu!', 'a signed token'],
    ['a bootstrap token', 'for 07401b.f395accd246ae52d', 'a bootstrap token'],
    ['a bearer token', '"authorization":"Bearer s3cr3t-t0k3n"', 'a bearer token'],
    ['a MongoDB address', 'mongodb://annex:hunter2@localhost/annex', 'a password in an address'],
    ['a key', '-----BEGIN PRIVATE KEY-----', 'a private key'],
    ['a key of OpenSSL', '-----BEGIN EC PRIVATE KEY-----', 'a private key'],
    ['a kubeconfig', Buffer.from('-----BEGIN PRIVATE KEY-----\n').toString('base64'), 'a private key in base64'],
    ['planted', `x ${SECRET} y`, 'a planted secret'],
    ['planted, in base64', `data: ${Buffer.from(SECRET).toString('base64')}`, 'a planted secret'],
    ['planted, in hexadecimal digits', Buffer.from(SECRET).toString('hex'), 'a planted secret'],
  ];
  test.each(cases)('%s', (_name, line, what) => {
    expect(leaksOf(`first\n${line}\nlast`, [SECRET])).toEqual([{ what, line: 2 }]);
  });

  test.each([
    '{"level":"info","message":"unsupported bearer authentication"}',
    'https://127.0.0.1:6443/api/v1/namespaces/kube-system/secrets/bootstrap-token-07401b',
    'mongodb://localhost:27017/annex?replicaSet=rs0',
    'Post "https://annex:***@127.0.0.1:1/review": dial tcp',
    'k8s.io/client-go v0.36.3, system.indexes, eyJhbGciOiJSUzI1NiJ9',
    '-----BEGIN CERTIFICATE-----',
  ])('finds nothing in %s', (line) => {
    expect(leaksOf(line, [SECRET])).toEqual([]);
  });

  test('finds the leaks in the folder of a run', () => {
    const { [FOLDER_VARIABLE]: before } = process.env;
    const folder = mkdtempSync(join(tmpdir(), 'annex-leaks-'));
    process.env[FOLDER_VARIABLE] = folder;
    try {
      keepLog('server', 'nothing');
      keepLog('server', '');
      expect(leaksIn(folder)).toEqual([]);
      plant(SECRET);
      keepLog('server', `one\n${SECRET}`);
      const leaks = leaksIn(folder);
      expect(leaks).toHaveLength(1);
      expect(leaks[0]).toMatch(/server-\d+-\d+\.log:2: a planted secret$/);
    } finally {
      if (before === undefined) delete process.env[FOLDER_VARIABLE];
      else process.env[FOLDER_VARIABLE] = before;
      rmSync(folder, { recursive: true });
    }
  });
});
