import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Call, digText, Http1, treeOf, WatchReader } from '../integration/client.js';
import { ADMIN, Command, eventually, NOBODY, run, scratchFolder, TestServer } from '../integration/server.js';
import { type Leak, leaksOf, plant } from './leaks.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const NS = '/api/v1/namespaces/default';

/** The secrets of this file, all different, so that a leak identifies its source. */
const planted: string[] = [ADMIN, NOBODY];
function secret(what: string): string {
  const text = `${what}-planted-${planted.length}-9b1e`;
  planted.push(text);
  return plant(text);
}

const leaks = (text: string): Leak[] => leaksOf(text, planted);

describe.each(['json', 'text'])('a server with full logs and audit, as %s', (format) => {
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  const path = (name: string): string => join(folder, name);
  const webhookToken = secret('webhook-client');

  const write = (name: string, content: string): string => {
    writeFileSync(path(name), content);
    return path(name);
  };
  const started = (): TestServer => {
    if (server === undefined) throw new Error('not started');
    return server;
  };
  const send = (call: Call) => new Http1(started()).send(call);
  const post = (to: string, body: Call['body'] & {}, headers = {}) => send({ method: 'POST', path: to, body, headers });
  const keptQuiet = (): void => {
    expect(started().log).toMatch(format === 'json' ? /^\{.*"message":"HTTP"/m : /^I\d{4} .* annex\] "HTTP" /m);
    expect(leaks(started().log)).toEqual([]);
    const audit = readFileSync(path('audit.log'), 'utf8');
    expect(audit).toContain('"stage":"ResponseComplete"');
    expect(leaks(audit)).toEqual([]);
  };

  beforeAll(async () => {
    const policy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n';
    const webhook = `clusters: [{name: c, cluster: {server: "https://127.0.0.1:1/review"}}]
users: [{name: u, user: {token: ${webhookToken}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`;
    server = await TestServer.start(folder, [
      ...['-v', '10', '--logging-format', format],
      ...['--audit-policy-file', write('policy.yaml', policy), '--audit-log-path', path('audit.log')],
      ...['--enable-bootstrap-token-auth', '--controllers', '*,bootstrapsigner,tokencleaner'],
      ...['--authentication-token-webhook-config-file', write('webhook.kubeconfig', webhook)],
    ]);
  });

  test('logs no refused credentials', async () => {
    const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
    const basic = `annex:${secret('password')}`;
    planted.push(basic);
    for (const headers of [
      bearer(secret('unknown')),
      bearer(`07401b.${'x'.repeat(15)}1`),
      bearer(`eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"iss":"x"}').toString('base64url')}.${base64(secret('signature'))}`),
      { authorization: `Basic ${base64(basic)}` },
      {
        'sec-websocket-protocol': `base64url.bearer.authorization.k8s.io.${Buffer.from(secret('websocket')).toString('base64url')}`,
      },
    ]) {
      expect([401, 403]).toContain((await send({ path: '/api/v1/secrets', token: '', headers })).status);
    }
    expect((await send({ path: '/api/v1/secrets', token: NOBODY })).status).toBe(403);
    keptQuiet();
  });

  test('logs no content of Secrets in any operation', async () => {
    const value = secret('content');
    const named = (name: string, more: object): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      ...more,
    });
    const s = named('s', { data: { k: base64(value) }, stringData: { l: value } });
    expect((await post(`${NS}/secrets`, s)).status).toBe(201);
    const yaml = `apiVersion: v1\nkind: Secret\nmetadata: {name: yaml}\nstringData: {k: ${value}}\n`;
    expect((await post(`${NS}/secrets`, yaml, { 'content-type': 'application/yaml' })).status).toBe(201);
    const patch = (type: string, body: Call['body'] & {}, query = '') =>
      send({ method: 'PATCH', path: `${NS}/secrets/s${query}`, body, headers: { 'content-type': type } });
    const applied = { ...named('s', { stringData: { m: value } }) };
    for (const answer of [
      await patch('application/merge-patch+json', { stringData: { a: value } }),
      await patch('application/strategic-merge-patch+json', { stringData: { b: value } }),
      await patch('application/json-patch+json', [{ op: 'add', path: '/data/c', value: base64(value) }]),
      await patch('application/apply-patch+yaml', applied, '?fieldManager=m'),
    ]) {
      expect(answer.status).toBe(200);
    }
    const refused = [
      await post(`${NS}/secrets`, named('bad', { data: { k: `!${value}` } })),
      await post(`${NS}/secrets`, named('bad', { data: value })),
      await post(
        `${NS}/secrets`,
        named('bad', { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': value } }),
      ),
      await post(`${NS}/secrets?fieldValidation=Strict`, named('bad', { oops: value, data: { k: [value] } })),
      await post(`${NS}/secrets`, `{"kind":"Secret","apiVersion":"v1","stringData":{"k":"${value}"`),
      await post(`${NS}/secrets`, `kind: Secret\nstringData: {k: ${value}`, { 'content-type': 'application/yaml' }),
      await post(`${NS}/secrets`, Buffer.from(`k8s\0${value}`), {
        'content-type': 'application/vnd.kubernetes.protobuf',
      }),
      await patch('application/merge-patch+json', { data: { k: value } }),
      await patch('application/json-patch+json', [{ op: 'test', path: '/data/k', value }]),
      await patch('application/json-patch+json', `[{"op":"add","path":"${value}`),
      await patch('application/apply-patch+yaml', `data: ${value}`, '?fieldManager=m'),
      await post(`${NS}/secrets`, s),
    ];
    for (const { status } of refused) expect([400, 409, 415, 422]).toContain(status);
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    expect((await new Http1(started()).get(`${NS}/secrets?includeObject=Object`, table)).text).toContain(base64(value));
    const watch = new WatchReader(await new Http1(started()).open({ path: `${NS}/secrets?watch=1&timeoutSeconds=1` }));
    await watch.until(({ ended }) => ended);
    expect((await send({ method: 'DELETE', path: `${NS}/secrets/yaml` })).status).toBe(200);
    keptQuiet();
  });

  test('logs no tokens that it issues', async () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };
    expect((await post(`${NS}/serviceaccounts`, account)).status).toBe(201);
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const token = digText(treeOf(await post(`${NS}/serviceaccounts/robot/token`, asked)), 'status', 'token');
    planted.push(plant(token));
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    expect((await post('/apis/authentication.k8s.io/v1/tokenreviews', review)).status).toBe(201);
    expect((await send({ path: '/version', token })).status).toBe(200);
    const type = 'kubernetes.io/service-account-token';
    const annotations = { 'kubernetes.io/service-account.name': 'robot' };
    await post(`${NS}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'robot', annotations }, type });
    const legacy = await eventually('the token', async () => {
      const filled = digText(treeOf(await send({ path: `${NS}/secrets/robot` })), 'data', 'token');
      return filled === '' ? undefined : Buffer.from(filled, 'base64').toString();
    });
    planted.push(plant(legacy));
    expect((await send({ path: '/version', token: legacy })).status).toBe(200);
    keptQuiet();
  });

  test('logs no bootstrap tokens', async () => {
    const [id, half] = ['07401b', 'f395accd246ae52d'];
    planted.push(plant(half));
    const stringData = {
      'token-id': id,
      'token-secret': half,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      expiration: new Date(Date.now() + 2_000).toISOString(),
    };
    const metadata = { name: `bootstrap-token-${id}` };
    const type = 'bootstrap.kubernetes.io/token';
    const path_ = '/api/v1/namespaces/kube-system/secrets';
    expect((await post(path_, { apiVersion: 'v1', kind: 'Secret', metadata, stringData, type })).status).toBe(201);
    await send({ path: '/version', token: `${id}.${half}` });
    await eventually('the token has ended', async () =>
      (await send({ path: `${path_}/${metadata.name}` })).status === 404 ? true : undefined,
    );
    keptQuiet();
  });

  test('reveals none of its own keys in metrics, configz, or logs', async () => {
    expect(leaks((await send({ path: '/metrics' })).text)).toEqual([]);
    expect(leaks((await send({ path: '/configz' })).text)).toEqual([]);
    keptQuiet();
  });
});

describe('a server that fails to start', () => {
  const folder = scratchFolder();
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const cases: readonly (readonly [string, () => string[]])[] = [
    ['token file', () => ['--token-auth-file', file('t.csv', `${secret('lonely')}\n`)]],
    ['quotes in a token file', () => ['--token-auth-file', file('q.csv', `${secret('quoted')},"a,b\n`)]],
    [
      'kubeconfig that is no YAML',
      () => ['--authentication-token-webhook-config-file', file('a', `users: [{token: ${secret('yaml')}`)],
    ],
    [
      'webhook address with credentials',
      () => {
        const server = `https://annex:${secret('webhook-address')}@127.0.0.1:1/review?a=b`;
        const config = {
          clusters: [{ name: 'c', cluster: { server } }],
          contexts: [{ name: 'x', context: { cluster: 'c' } }],
        };
        const webhook = file('w', JSON.stringify({ ...config, 'current-context': 'x' }));
        return ['--authorization-webhook-config-file', webhook, '--authorization-mode', 'Webhook'];
      },
    ],
    [
      'tracing endpoint with credentials',
      () => {
        const endpoint = `http://annex:${secret('collector')}@127.0.0.1:1`;
        const config = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration', endpoint };
        return ['--tracing-config-file', file('trace.json', JSON.stringify(config))];
      },
    ],
    [
      'kubeconfig that is none',
      () => [
        '--authorization-webhook-config-file',
        file('b', `token: ${secret('kubeconfig')}\n`),
        '--authorization-mode',
        'Webhook',
      ],
    ],
    ['key file', () => ['--service-account-key-file', file('k', `-----BEGIN PRIVATE KEY-----\n${secret('key')}\n`)]],
    ['serving key', () => ['--tls-cert-file', file('c', 'x'), '--tls-private-key-file', file('tk', secret('serving'))]],
    [
      'authentication configuration',
      () => ['--authentication-config', file('ac', `kind: [${secret('configuration')}`)],
    ],
    [
      'address that is none',
      () => ['--storage-backend', 'mongodb', '--mongodb-uri', `mongodb//annex:${secret('address')}@127.0.0.1`],
    ],
  ];
  test.each(cases)('reveals no secret of its %s', async (_name, flags) => {
    const { code, stdout, stderr } = await run([
      ...['serve', '--data-dir', join(folder, 'data'), '--secure-port', '0', '--bind-address', '127.0.0.1', '-v', '10'],
      ...flags(),
    ]);
    expect(code).not.toBe(0);
    expect(stderr).not.toBe('');
    expect(leaks(stdout + stderr)).toEqual([]);
  });

  test('a server that waits for its store does not reveal the password', async () => {
    const command = new Command([
      ...['serve', '--data-dir', join(folder, 'data'), '--secure-port', '0', '--bind-address', '127.0.0.1'],
      ...['-v', '10', '--storage-backend', 'mongodb', '--mongodb-uri'],
      `mongodb://annex:${secret('mongodb')}@127.0.0.1:1/?serverSelectionTimeoutMS=500&replicaSet=rs0`,
    ]);
    await eventually('it says that it waits', () =>
      Promise.resolve(/store|MongoDB/.test(command.stderr) ? true : undefined),
    );
    command.child.kill('SIGTERM');
    const { stdout, stderr } = await command.exit;
    expect(leaks(stdout + stderr)).toEqual([]);
  });
});
