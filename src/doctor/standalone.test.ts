import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { ClusterError } from '../client/cluster-client.js';
import { createCertificate, generateKey } from '../pki/certificates.js';
import { lineOf } from './finding.js';
import { checkDefinitions, checkOwnCertificates, checkReadiness, checkServer } from './standalone.js';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 0, 1);
const answering = (status: number, body: JsonObject) => ({ call: () => Promise.resolve({ status, body }) });
const dead = { call: () => Promise.reject(new ClusterError(0, 'connect ECONNREFUSED')) };

describe('checkServer', () => {
  test.each<[string, Parameters<typeof checkServer>[0], boolean, string]>([
    ['one that answers', answering(200, { gitVersion: 'v1.36.3' }), true, 'server: ok (https://s, v1.36.3)'],
    [
      'one without the identity',
      answering(401, {}),
      true,
      'server: failed: https://s does not accept the credentials in use; fix: renew the credentials in the kubeconfig',
    ],
    [
      'one that no longer exists',
      dead,
      true,
      'server: failed: https://s: connect ECONNREFUSED; fix: start `annex serve`, or correct the server and CA in the kubeconfig',
    ],
    ['one that was not started', dead, false, 'server: skipped (not running (https://s: connect ECONNREFUSED))'],
  ])('%s', async (_, client, runs, line) => {
    expect(lineOf(await checkServer(client, 'https://s', runs))).toBe(line);
  });
});

test('readiness names the failing checks', async () => {
  expect(lineOf(await checkReadiness(answering(200, { message: 'ok' })))).toBe('readiness: ok');
  const message =
    '[+]ping ok\n[-]etcd failed: reason withheld\n[-]store-writes failed: reason withheld\nreadyz check failed';
  expect(lineOf(await checkReadiness(answering(500, { message })))).toBe(
    'readiness: failed: these checks fail: etcd, store-writes; fix: search the log of annex serve for these checks',
  );
});

test('definitions whose names are not accepted are reported', async () => {
  const named = (name: string, status: string): JsonObject => ({
    metadata: { name },
    status: { conditions: [{ type: 'NamesAccepted', status, message: `"${name}" is in use` }] },
  });
  const list = (...items: JsonObject[]) => ({ must: () => Promise.resolve({ metadata: {}, items } as KubeObject) });
  expect(lineOf(await checkDefinitions(list(named('a', 'True'), named('b', 'True'))))).toBe(
    'definitions: ok (2 served)',
  );
  expect(lineOf(await checkDefinitions(list(named('a', 'True'), named('b', 'False'))))).toBe(
    'definitions: failed: b: "b" is in use; fix: use unique names for each definition of a group',
  );
});

describe('checkOwnCertificates', () => {
  let dataDir = '';
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'annex-doctor-'));
    mkdirSync(join(dataDir, 'pki'));
  });
  afterEach(() => {
    rmSync(dataDir, { recursive: true });
  });

  function put(name: string, end: number): string {
    const { privateKey, publicKey } = generateKey();
    const request = { subject: { commonName: 'x' }, publicKey, usage: 'ca' as const, notBefore: 0, notAfter: end };
    const path = join(dataDir, name);
    writeFileSync(path, createCertificate(request, { key: privateKey }));
    return path;
  }
  const line = (tlsCertFile = ''): string => lineOf(checkOwnCertificates({ dataDir, tlsCertFile }, NOW));

  test('the earliest expiry counts', () => {
    put('pki/ca.crt', NOW + 400 * DAY);
    put('pki/apiserver.crt', NOW + 40 * DAY);
    expect(line()).toBe('certificates: ok (the earliest expires on 2026-02-10T00:00:00.000Z)');
    put('pki/admin.crt', NOW + DAY);
    expect(line()).toMatch(/^certificates: warning \(.*admin\.crt expires on 2026-01-02.*restart annex serve/);
    put('pki/admin.crt', NOW - DAY);
    expect(line()).toMatch(/^certificates: failed: .*admin\.crt expired on 2025-12-31.*; fix: restart annex/);
  });

  test("the file of --tls-cert-file counts instead of Annex's own certificate", () => {
    put('pki/apiserver.crt', NOW - DAY);
    expect(line(put('tls.crt', NOW + 40 * DAY))).toBe(
      'certificates: ok (the earliest expires on 2026-02-10T00:00:00.000Z)',
    );
    expect(line(put('tls.crt', NOW - DAY))).toMatch(/failed: .*tls\.crt expired .*; fix: renew it$/);
  });

  test('no certificates are fine before the first start; an invalid file is reported', () => {
    expect(line()).toBe('certificates: ok (created at the first start)');
    writeFileSync(join(dataDir, 'pki/ca.crt'), 'x');
    expect(line()).toMatch(/^certificates: failed: .*ca\.crt: .*; fix: put a PEM certificate/);
  });
});
