import type { JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import type { ClusterListener } from '../client/cluster-client.js';
import { createCertificate, generateKey } from '../pki/certificates.js';
import { FrontProxyTrust } from './front-proxy.js';

function ca(): string {
  const { privateKey, publicKey } = generateKey();
  const request = { subject: { commonName: 'ca' }, publicKey, usage: 'ca' as const, notBefore: 0, notAfter: 4e12 };
  return createCertificate(request, { key: privateKey });
}

const CA = ca();
const data = (over: JsonObject = {}): JsonObject => ({
  'client-ca-file': CA,
  'requestheader-client-ca-file': CA,
  'requestheader-username-headers': '["X-Remote-User"]',
  'requestheader-uid-headers': '["X-Remote-Uid"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  'requestheader-allowed-names': '["front-proxy-client"]',
  ...over,
});
const map = (content: JsonObject): KubeObject => ({ metadata: { name: 'm' }, data: content });
const client = (found: KubeObject | undefined) => ({ must: () => Promise.resolve(found) });

function followed() {
  let listener: ClusterListener | undefined;
  let changes = 0;
  const reported: string[] = [];
  const trust = new FrontProxyTrust();
  const follow = (_: string, given: ClusterListener): Promise<void> => {
    listener = given;
    return Promise.resolve();
  };
  void trust.follow({ follow }, new AbortController().signal, {
    changed: () => {
      changes++;
    },
    broken: (error) => void reported.push(String(error)),
    restored: () => void reported.push('restored'),
  });
  const given = listener;
  if (given === undefined) throw new Error('nothing is followed');
  const responded = (notify: (listener: ClusterListener) => void): void => {
    notify(given);
    given.responded?.();
  };
  return { trust, reported, responded, changes: () => changes };
}

describe('FrontProxyTrust', () => {
  test('takes CAs and names from the ConfigMap', async () => {
    const trust = new FrontProxyTrust();
    await trust.load(client(map(data())));
    expect(trust.config).toEqual({
      usernameHeaders: ['X-Remote-User'],
      uidHeaders: ['X-Remote-Uid'],
      groupHeaders: ['X-Remote-Group'],
      extraHeaderPrefixes: ['X-Remote-Extra-'],
      allowedNames: ['front-proxy-client'],
    });
    expect([trust.proxy?.pems.length, trust.clients?.pems.length]).toEqual([1, 1]);
  });

  test.each<[string, KubeObject | undefined, string]>([
    ['no ConfigMap', undefined, 'the cluster has no ConfigMap kube-system/extension-apiserver-authentication'],
    ['headers that are not a list', map(data({ 'requestheader-username-headers': '"X"' })), 'is not a list of strings'],
    ['headers that are not JSON', map(data({ 'requestheader-group-headers': '[' })), 'cannot be used: '],
    ['an invalid CA', map(data({ 'requestheader-client-ca-file': 'x' })), 'does not contain any valid'],
  ])('%s: the start fails with the reason', async (_, found, message) => {
    await expect(new FrontProxyTrust().load(client(found))).rejects.toThrow(message);
  });

  test('without a front proxy, no CA and no headers are trusted', async () => {
    const trust = new FrontProxyTrust();
    await trust.load(client(map({})));
    expect([trust.proxy, trust.clients, trust.config.usernameHeaders]).toEqual([undefined, undefined, []]);
  });

  test('follows changes; invalid content leaves the previous configuration in force', () => {
    const { trust, reported, responded, changes } = followed();
    responded((listener) => {
      listener.replaced([map(data())]);
    });
    const before = trust.proxy;
    responded((listener) => {
      listener.upsert(map(data({ 'requestheader-allowed-names': '[1]' })));
    });
    expect([trust.proxy, trust.config.allowedNames]).toEqual([before, ['front-proxy-client']]);
    responded((listener) => {
      listener.upsert(map(data({ 'requestheader-allowed-names': '["another"]' })));
    });
    expect(trust.config.allowedNames).toEqual(['another']);
    expect(changes()).toBe(2);
    expect(reported).toEqual([
      'restored',
      'Error: the ConfigMap kube-system/extension-apiserver-authentication cannot be used: requestheader-allowed-names is not a list of strings',
      'restored',
    ]);
  });

  test('a deleted ConfigMap is reported, and its configuration stays in force', () => {
    const { trust, reported, responded } = followed();
    responded((listener) => {
      listener.replaced([map(data())]);
    });
    responded((listener) => {
      listener.delete(map(data()));
    });
    responded((listener) => {
      listener.replaced([]);
    });
    expect(trust.proxy).toBeDefined();
    const gone = 'Error: the cluster has no ConfigMap kube-system/extension-apiserver-authentication';
    expect(reported).toEqual(['restored', gone, gone]);
  });
});
