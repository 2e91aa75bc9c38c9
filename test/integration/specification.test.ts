import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, SignJWT } from 'jose';
import { encodeCbor, decodeCbor } from '../../src/apimachinery/cbor/cbor.js';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { defaultOptions } from '../../src/server/options/options.js';
import { dig, digList, digText, Http1, treeOf } from './client.js';
import { define } from './objects.js';
import { scratchFolder, TestServer } from './server.js';

const GROUP = 'specification.example.com';
const THINGS = `/apis/${GROUP}/v1/namespaces/default/things`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CBOR = 'application/cbor';

/** Sentences of the specification that no other test holds. */
describe('the specification', () => {
  let server: TestServer;
  let http: Http1;
  const folder = scratchFolder(() => server.stop('SIGKILL'));

  beforeAll(async () => {
    // The first start makes a certificate, which the second is given.
    const first = await TestServer.start(folder);
    await first.stop();
    const pki = join(first.dataDir, 'pki');
    server = await TestServer.start(folder, [
      '--anonymous-auth=false',
      '--feature-gates=CBORServingAndStorage=true',
      `--tls-cert-file=${join(pki, 'apiserver.crt')}`,
      `--tls-private-key-file=${join(pki, 'apiserver.key')}`,
    ]);
    http = new Http1(server);
    await define(http, GROUP, 'things', 'Thing');
  });

  test('--anonymous-auth=false: who shows no credentials gets 401', async () => {
    for (const path of ['/api/v1/namespaces', '/version', '/livez']) {
      const answer = await http.send({ path, token: '' });
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });

  test('a watch is sent in chunks', async () => {
    const answer = await http.open({ path: `${THINGS}?watch=1&timeoutSeconds=1` });
    expect([answer.statusCode, answer.headers['transfer-encoding']]).toEqual([200, 'chunked']);
    answer.destroy();
  });

  test('CBOR behind its gate: bodies, answers, apply, watches', async () => {
    const object = { apiVersion: `${GROUP}/v1`, kind: 'Thing', metadata: { name: 'a' } };
    const bytes = async (path: string, accept: string, more: object = {}): Promise<[number, string, Buffer]> => {
      const response = await http.open({ path, headers: { accept, 'content-type': CBOR }, ...more });
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return [response.statusCode ?? 0, response.headers['content-type'] ?? '', Buffer.concat(chunks)];
    };
    const body = Buffer.from(encodeCbor(object));
    const [created, type, text] = await bytes(THINGS, CBOR, { method: 'POST', body });
    expect([created, type, digText(decodeCbor(text), 'metadata', 'name')]).toEqual([201, CBOR, 'a']);

    const intent = { ...object, metadata: { name: 'applied', labels: { by: 'cbor' } } };
    const apply = (contentType: string): Promise<[number, string, Buffer]> =>
      bytes(`${THINGS}/applied?fieldManager=m`, 'application/json', {
        method: 'PATCH',
        body: Buffer.from(encodeCbor(intent)),
        headers: { 'content-type': contentType },
      });
    const [applied, , shown] = await apply('application/apply-patch+cbor');
    expect([applied, dig(JSON.parse(shown.toString()) as JsonObject, 'metadata', 'labels')]).toEqual([
      201,
      { by: 'cbor' },
    ]);
    for (const without of ['json-patch', 'merge-patch', 'strategic-merge-patch']) {
      expect((await apply(`application/${without}+cbor`))[0]).toBe(415);
    }

    const [listed, , list] = await bytes(THINGS, CBOR);
    expect([listed, digList(decodeCbor(list), 'items').length]).toEqual([200, 2]);
    const [, sequence, events] = await bytes(`${THINGS}?watch=1&timeoutSeconds=1&resourceVersion=0`, CBOR);
    expect([sequence, events.length > 0]).toEqual(['application/cbor-seq', true]);
  });

  test('one request writes one object: a list is none', async () => {
    const list = { apiVersion: 'v1', kind: 'ConfigMapList', items: [{ metadata: { name: 'one' } }] };
    expect((await http.post('/api/v1/namespaces/default/configmaps', list)).status).toBe(400);
    expect((await http.get('/api/v1/namespaces/default/configmaps/one')).status).toBe(404);
  });

  test('without --service-account-key-file the key of --tls-private-key-file verifies tokens, too', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const token = digText(treeOf(await http.post(path, request)), 'status', 'token');
    const key = createPrivateKey(readFileSync(join(server.dataDir, 'pki', 'apiserver.key')));
    const alg = key.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256';
    const signed = await new SignJWT(decodeJwt(token)).setProtectedHeader({ alg }).sign(key);
    const who = await http.send({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      headers: { authorization: `Bearer ${signed}` },
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    });
    expect([who.status, digText(treeOf(who), 'status', 'userInfo', 'username')]).toEqual([
      201,
      'system:serviceaccount:default:default',
    ]);
  });

  test.each([
    ['system:basic-user', 'system:authenticated'],
    ['system:discovery', 'system:authenticated'],
    ['system:public-info-viewer', 'system:authenticated system:unauthenticated'],
    ['cluster-admin', 'system:masters'],
    ['system:monitoring', 'system:monitoring'],
    ['admin', undefined],
    ['edit', undefined],
    ['view', undefined],
    ['system:controller:namespace-controller', 'namespace-controller'],
    ['system:kube-scheduler', 'system:kube-scheduler'],
    ['system:auth-delegator', undefined],
  ])('the default role %s, bound to %s', async (name, subjects) => {
    const role = treeOf(await http.get(`${RBAC}/clusterroles/${name}`));
    expect(dig(role, 'metadata', 'labels', 'kubernetes.io/bootstrapping')).toBe('rbac-defaults');
    const binding = await http.get(`${RBAC}/clusterrolebindings/${name}`);
    if (subjects === undefined) expect(binding.status).toBe(404);
    else {
      const names = digList(treeOf(binding), 'subjects').map((subject) => digText(subject, 'name'));
      expect(names.join(' ')).toBe(subjects);
    }
  });

  test('system:node is bound to nobody', async () => {
    expect(dig(treeOf(await http.get(`${RBAC}/clusterrolebindings/system:node`)), 'subjects')).toBeUndefined();
  });
});

test('the defaults that the specification names', () => {
  expect(defaultOptions()).toMatchObject({
    historyWindow: 300_000,
    authenticationTokenWebhookCacheTtl: 120_000,
    authenticationTokenWebhookVersion: 'v1beta1',
    authorizationWebhookCacheAuthorizedTtl: 300_000,
    authorizationWebhookCacheUnauthorizedTtl: 30_000,
    oidcUsernameClaim: 'sub',
    oidcSigningAlgs: ['RS256'],
    anonymousAuth: true,
    serviceAccountLookup: true,
    enableBootstrapTokenAuth: false,
  });
});
