import { createPrivateKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, SignJWT } from 'jose';
import { encodeCbor } from '../../src/apimachinery/cbor/cbor.js';
import { decodeCbor } from '../fakes/apimachinery/decode-cbor.js';
import type { JsonObject } from '../../src/apimachinery/json/json.js';
import { defaultOptions } from '../../src/server/options/options.js';
import { type Answer, dig, digList, digText, Http1, treeOf } from './client.js';
import { define } from './objects.js';
import { eventually, NOBODY, scratchFolder, TestServer } from './server.js';

const GROUP = 'specification.example.com';
const THINGS = `/apis/${GROUP}/v1/namespaces/default/things`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CBOR = 'application/cbor';
const POLICY = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };

/** Statements of the specification that no other test covers. */
describe('the specification', () => {
  let server: TestServer;
  let http: Http1;
  const folder = scratchFolder(() => server.stop('SIGKILL'));

  beforeAll(async () => {
    // The first start creates the certificate that the second start is configured with.
    const first = await TestServer.start(folder);
    await first.stop();
    const pki = join(first.dataDir, 'pki');
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
    server = await TestServer.start(folder, [
      `--audit-policy-file=${join(folder, 'policy.json')}`,
      `--audit-log-path=${join(folder, 'audit.log')}`,
      '--anonymous-auth=false',
      '--feature-gates=CBORServingAndStorage=true',
      `--tls-cert-file=${join(pki, 'apiserver.crt')}`,
      `--tls-private-key-file=${join(pki, 'apiserver.key')}`,
      `--root-ca-file=${join(pki, 'ca.crt')}`,
    ]);
    http = new Http1(server);
    await define(http, GROUP, 'things', 'Thing');
  });

  test('--anonymous-auth=false: requests without credentials get 401', async () => {
    for (const path of ['/api/v1/namespaces', '/version', '/livez']) {
      const answer = await http.send({ path, token: '' });
      expect([path, answer.status]).toEqual([path, 401]);
    }
  });

  test('requests for deprecated versions are recorded in the audit log', async () => {
    const annotations = async (path: string): Promise<unknown> => {
      const id = String((await http.get(path)).headers['audit-id']);
      return eventually('its event', () => {
        // The last line may be incomplete.
        const lines = readFileSync(join(folder, 'audit.log'), 'utf8').split('\n').slice(0, -1);
        const line = lines.find((one) => one.includes(id) && one.includes('"ResponseComplete"'));
        return Promise.resolve(line === undefined ? undefined : dig(JSON.parse(line) as JsonObject, 'annotations'));
      });
    };
    expect(await annotations('/api/v1/endpoints')).toMatchObject({ 'k8s.io/deprecated': 'true' });
    expect(await annotations('/api/v1/configmaps')).not.toHaveProperty(['k8s.io/deprecated']);
  });

  test('the verb proxy is a right of its own', async () => {
    const path = '/api/v1/proxy/namespaces/default/services/web/x';
    const asked = async (): Promise<number> => (await http.send({ path, token: NOBODY })).status;
    const refused = await http.send({ path, token: NOBODY });
    expect([refused.status, digText(treeOf(refused), 'message')]).toEqual([
      403,
      'services "web" is forbidden: User "jane" cannot proxy resource "services" in API group "" in the namespace "default"',
    ]);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'proxies' };
    const subjects = [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }];
    const allow = (verbs: string[]): Promise<Answer> =>
      http.post(`${RBAC}/clusterroles`, {
        metadata: { name: 'proxies' },
        rules: [{ verbs, apiGroups: [''], resources: ['services'] }],
      });
    await http.post(`${RBAC}/clusterrolebindings`, { metadata: { name: 'proxies' }, roleRef, subjects });
    expect((await allow(['get', 'create', 'update', 'list', 'watch', 'delete'])).status).toBe(201);
    expect((await http.send({ path: '/api/v1/namespaces/default/services/web', token: NOBODY })).status).toBe(404);
    expect(await asked()).toBe(403);
    expect((await http.send({ method: 'DELETE', path: `${RBAC}/clusterroles/proxies` })).status).toBe(200);
    expect((await allow(['proxy'])).status).toBe(201);
    // Allowed; there is nothing behind it.
    expect(await eventually('it is allowed', async () => ((await asked()) === 403 ? undefined : asked()))).toBe(404);
  });

  test('a watch response is chunked', async () => {
    const answer = await http.open({ path: `${THINGS}?watch=1&timeoutSeconds=1` });
    expect([answer.statusCode, answer.headers['transfer-encoding']]).toEqual([200, 'chunked']);
    answer.destroy();
  });

  test('CBOR behind its feature gate: bodies, responses, apply, and watches', async () => {
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

  test('one request writes one object: a list is rejected', async () => {
    const list = { apiVersion: 'v1', kind: 'ConfigMapList', items: [{ metadata: { name: 'one' } }] };
    expect((await http.post('/api/v1/namespaces/default/configmaps', list)).status).toBe(400);
    expect((await http.get('/api/v1/namespaces/default/configmaps/one')).status).toBe(404);
  });

  test('without --service-account-key-file, the --tls-private-key-file key also verifies tokens', async () => {
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

  test('system:node has no subjects', async () => {
    expect(dig(treeOf(await http.get(`${RBAC}/clusterrolebindings/system:node`)), 'subjects')).toBeUndefined();
  });
});

/** The first server enables the CBOR gate. This one has the defaults, apart from what is disabled. */
describe('the specification, with defaults and disabled gates', () => {
  let server: TestServer;
  let http: Http1;
  const folder = scratchFolder(() => server.stop('SIGKILL'));
  const FREE = `free.${GROUP}`;
  const free = `/apis/${FREE}/v1/namespaces/default/things/free`;
  const openAPIV3Schema = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
  };
  const apply = (manager: string, items: readonly object[], query = ''): Promise<Answer> =>
    http.send({
      method: 'PATCH',
      path: `${free}?fieldManager=${manager}${query}`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: {
        apiVersion: `${FREE}/v1`,
        kind: 'Thing',
        metadata: { name: 'free' },
        spec: { items },
      },
    });
  const maps = '/api/v1/namespaces/default/configmaps';
  const large = {
    metadata: { name: 'large' },
    data: { text: 'x'.repeat(200_000) },
  };
  const encoding = async (): Promise<string | undefined> => {
    const response = await http.open({
      path: `${maps}/large`,
      headers: { 'accept-encoding': 'gzip' },
    });
    response.destroy();
    return response.headers['content-encoding'];
  };

  beforeAll(async () => {
    server = await TestServer.start(folder);
    http = new Http1(server);
    await define(http, FREE, 'things', 'Thing', {
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema },
        },
      ],
    });
    await eventually('the namespace', async () => ((await http.post(maps, large)).status === 201 ? true : undefined));
  });

  test.each(['livez', 'readyz'])('%s lists its checks', async (endpoint) => {
    const { text } = await http.get(`/${endpoint}?verbose`);
    const names = [...text.matchAll(/^\[\+\](\S+) ok$/gm)].map(([, name = '']) => name);
    const wanted = ['ping', 'log', 'etcd', 'autoregister-completion', ...(endpoint === 'readyz' ? ['shutdown'] : [])];
    expect(names).toEqual(expect.arrayContaining(wanted));
    expect(names.filter((name) => name.startsWith('poststarthook/')).length).toBeGreaterThan(3);
  });

  test.each(['admin', 'edit', 'view'])('the role %s aggregates roles with its label', async (name) => {
    const [to, from] = [`${name}-of-things`, name];
    const labels = {
      [`rbac.authorization.k8s.io/aggregate-to-${name}`]: 'true',
    };
    const rules = [{ apiGroups: [GROUP], resources: [to], verbs: ['get'] }];
    expect(
      (
        await http.post(`${RBAC}/clusterroles`, {
          metadata: { name: to, labels },
          rules,
        })
      ).status,
    ).toBe(201);
    await eventually(`${from} has the rule`, async () => {
      const { text } = await http.get(`${RBAC}/clusterroles/${from}`);
      return text.includes(`"${to}"`) ? true : undefined;
    });
  });

  test('lists without a schema are atomic: one manager owns the whole list', async () => {
    expect((await apply('one', [{ name: 'a' }])).status).toBe(201);
    const refused = await apply('two', [{ name: 'b' }]);
    expect([refused.status, digText(treeOf(refused), 'details', 'causes', 0, 'field')]).toEqual([409, '.spec.items']);
    expect(digText(treeOf(refused), 'details', 'causes', 0, 'reason')).toBe('FieldManagerConflict');
  });

  test('a PUT takes over a field, regardless of its manager', async () => {
    const object = treeOf(await http.get(free));
    const put = { ...object, spec: { items: [{ name: 'c' }] } };
    const answer = await http.send({
      method: 'PUT',
      path: `${free}?fieldManager=three`,
      body: put,
    });
    expect([answer.status, digText(treeOf(answer), 'spec', 'items', 0, 'name')]).toEqual([200, 'c']);
    expect((await apply('one', [{ name: 'a' }])).status).toBe(409);
    expect((await apply('one', [{ name: 'a' }], '&force=true')).status).toBe(200);
  });

  test('WatchList is off: a watch with initial events is rejected', async () => {
    const options = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const { status, text } = await http.get(`${maps}?watch=1&${options}`);
    expect([status, text]).toEqual([
      422,
      expect.stringContaining('sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled'),
    ]);
  });

  test('a token file is read only at startup', async () => {
    const tokens = join(folder, 'tokens.csv');
    const more = join(folder, 'more.csv');
    const known = `${readFileSync(tokens, 'utf8')}later,later,later\n`;
    for (const file of [tokens, more]) writeFileSync(file, known);
    const status = async (): Promise<number> => (await http.send({ path: '/version', token: 'later' })).status;
    expect(await status()).toBe(401);
    await server.stop();
    server = await TestServer.start(folder, ['--token-auth-file', more]);
    http = new Http1(server);
    expect(await status()).toBe(200);
  });

  test('responses are compressed by default; disabled gates turn off compression, statusz, and flagz', async () => {
    expect([await encoding(), (await http.get('/statusz')).status]).toEqual(['gzip', 200]);
    await server.stop();
    server = await TestServer.start(folder, [
      '--feature-gates=APIResponseCompression=false,ComponentStatusz=false,ComponentFlagz=false',
    ]);
    http = new Http1(server);
    expect(await encoding()).toBeUndefined();
    expect([(await http.get('/statusz')).status, (await http.get('/flagz')).status]).toEqual([404, 404]);
  });
});

test('the defaults are those of the specification', () => {
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
