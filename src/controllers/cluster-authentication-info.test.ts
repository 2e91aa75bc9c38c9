import type { JsonObject } from '../apimachinery/json/json.js';
import { createCertificate, generateKey } from '../pki/certificates.js';
import { FakeLoopbackClients } from '../../test/fakes/registry/loopback-client.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { type AuthenticationInfo, AuthenticationInfoPublisher, published } from './cluster-authentication-info.js';

const NOW = Date.UTC(2026, 0, 2);
const DAY = 24 * 3_600_000;
const KEY = 'kube-system/extension-apiserver-authentication';

function authority(commonName: string, days = 100): string {
  const { privateKey, publicKey } = generateKey();
  const validity = { notBefore: NOW - DAY, notAfter: NOW + days * DAY };
  return createCertificate({ subject: { commonName }, publicKey, usage: 'ca', ...validity }, { key: privateKey });
}

const [clients, proxies, others] = ['clients', 'proxies', 'others'].map((name) => authority(name)) as [
  string,
  string,
  string,
];
const INFO: AuthenticationInfo = {
  clientCa: [clients],
  proxy: {
    ca: [proxies],
    usernameHeaders: ['X-Remote-User'],
    uidHeaders: [],
    groupHeaders: ['X-Remote-Group'],
    extraHeaderPrefixes: ['X-Remote-Extra-'],
    allowedNames: ['a', 'b'],
  },
};
const DATA = {
  'client-ca-file': clients,
  'requestheader-allowed-names': '["a","b"]',
  'requestheader-client-ca-file': proxies,
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-username-headers': '["X-Remote-User"]',
};

describe('published', () => {
  test('has the keys and values of kube-apiserver', () => {
    expect(published({}, INFO, NOW)).toEqual(DATA);
  });

  test('without a front proxy, only the client CA is published', () => {
    expect(published({}, { ...INFO, proxy: undefined }, NOW)).toEqual({ 'client-ca-file': clients });
  });

  test('values of other servers stay, without duplicates and expired certificates', () => {
    const before: JsonObject = {
      ...DATA,
      'client-ca-file': others + authority('old', -0.5) + clients,
      'requestheader-uid-headers': '["X-Remote-Uid"]',
      'requestheader-allowed-names': '["c","a"]',
      'what-nobody-knows': 'x',
    };
    expect(published(before, INFO, NOW)).toEqual({
      ...DATA,
      'client-ca-file': others + clients,
      'requestheader-uid-headers': '["X-Remote-Uid"]',
      'requestheader-allowed-names': '["c","a","b"]',
    });
    expect(published(before, { ...INFO, proxy: undefined }, NOW)).toMatchObject({
      'requestheader-client-ca-file': proxies,
      'requestheader-allowed-names': '["c","a"]',
    });
  });

  test('a value that is not a list is an error', () => {
    expect(() => published({ 'requestheader-allowed-names': '{}' }, INFO, NOW)).toThrow('is not a list of strings');
  });
});

test('the config map is written, restored after a deletion, and follows the CAs', async () => {
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
  };
  const local = new FakeLoopbackClients();
  const clock = new FakeClock(NOW);
  const stop = new AbortController();
  let info = INFO;
  const onError = jest.fn();
  new AuthenticationInfoPublisher({ clients: local, clock, info: () => info, onError }).start(stop.signal);
  await settle();
  const maps = local.for({ group: '', resource: 'configmaps' });
  const data = (): unknown => maps.objects.get(KEY)?.['data'];
  expect(data()).toEqual(DATA);
  await maps.delete('kube-system', 'extension-apiserver-authentication');
  await settle();
  expect(data()).toEqual(DATA);
  info = { ...INFO, clientCa: [clients, others] };
  clock.advance(60_000);
  await settle();
  expect(data()).toEqual({ ...DATA, 'client-ca-file': clients + others });
  const calls = maps.calls.filter((call) => !call.startsWith('get')).length;
  clock.advance(60_000);
  await settle();
  expect(maps.calls.filter((call) => !call.startsWith('get'))).toHaveLength(calls);
  expect(onError).not.toHaveBeenCalled();
  stop.abort();
});
