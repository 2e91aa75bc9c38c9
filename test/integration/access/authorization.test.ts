import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, dig, Http1, treeOf } from '../client.js';
import { TestCa } from '../openid/certificates.js';
import { eventually, NOBODY, run, scratchFolder, TestServer } from '../server.js';
import { ReviewWebhook } from './review-webhook.js';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const rule = (rules: readonly object[], kind = 'ClusterRole'): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name: 'jane' },
  rules,
});
const binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'jane' },
  subjects: [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }],
  roleRef: { kind: 'ClusterRole', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' },
};

interface Webhook {
  readonly name: string;
  readonly file: string;
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  readonly conditions: readonly string[];
  /** The default is longer than a busy machine needs. */
  readonly timeout?: string;
}

const webhook = ({ name, file, failurePolicy, conditions, timeout = '30s' }: Webhook): object => ({
  type: 'Webhook',
  name,
  webhook: {
    authorizedTTL: '5m',
    unauthorizedTTL: '30s',
    timeout,
    subjectAccessReviewVersion: 'v1',
    matchConditionSubjectAccessReviewVersion: 'v1',
    failurePolicy,
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: file },
    matchConditions: conditions.map((expression) => ({ expression })),
  },
});

const file = (...authorizers: object[]): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration', authorizers });

describe('an AuthorizationConfiguration', () => {
  const ca = new TestCa();
  let service: ReviewWebhook | undefined;
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => {
    service?.stop();
    await server?.stop('SIGKILL');
  });
  const path = join(folder, 'authorization.json');
  const replace = (text: string): void => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const asked = (): ReviewWebhook => {
    if (service === undefined) throw new Error('the service has not started');
    return service;
  };
  const http = (): Http1 => {
    if (server === undefined) throw new Error('the server has not started');
    return new Http1(server);
  };
  const jane = (at: string): Promise<Answer> => http().send({ path: at, token: NOBODY });
  const configMap = (name: string): Promise<Answer> => jane(`/api/v1/namespaces/default/configmaps/${name}`);
  const secret = (name: string): Promise<Answer> => jane(`/api/v1/namespaces/default/secrets/${name}`);
  const metric = async (line: RegExp): Promise<number> => {
    const { text } = await http().get('/metrics');
    return Number(line.exec(text)?.[1] ?? 0);
  };

  const chain = (more: readonly string[] = []): string => {
    const janes = ['has(request.resourceAttributes)', "request.user == 'jane'"];
    const lenient = (name: string, condition: string, timeout?: string): object =>
      webhook({
        name,
        file: join(folder, 'lenient.json'),
        failurePolicy: 'NoOpinion',
        conditions: [...janes, condition, ...more],
        ...(timeout === undefined ? {} : { timeout }),
      });
    const strict = (name: string, condition: string, timeout?: string): object =>
      webhook({
        name,
        file: join(folder, 'strict.json'),
        failurePolicy: 'Deny',
        conditions: [condition],
        ...(timeout === undefined ? {} : { timeout }),
      });
    const secrets = "request.resourceAttributes.resource == 'secrets'";
    const hangs = "request.resourceAttributes.name == 'hangs'";
    return file(
      lenient('lenient', `!(${hangs})`),
      lenient('lenient-hasty', hangs, '1s'),
      strict('strict', `!has(request.resourceAttributes) || ${secrets} && !(${hangs})`),
      strict('strict-hasty', `has(request.resourceAttributes) && ${secrets} && ${hangs}`, '1s'),
      { type: 'RBAC', name: 'rbac' },
    );
  };

  beforeAll(async () => {
    service = await ReviewWebhook.start(ca);
    service.kubeconfig(join(folder, 'lenient.json'), '/lenient');
    service.kubeconfig(join(folder, 'strict.json'), '/strict');
    writeFileSync(path, chain());
    server = await TestServer.start(folder, ['--authorization-config', path]);
    const role = rule([
      {
        apiGroups: [''],
        resources: ['configmaps', 'secrets'],
        resourceNames: ['known', 'hangs', 'broken', 'garbage'],
        verbs: ['get'],
      },
      { nonResourceURLs: ['/known', '/hangs'], verbs: ['get'] },
    ]);
    expect((await http().post(`${RBAC}/clusterroles`, role)).status).toBe(201);
    expect((await http().post(`${RBAC}/clusterrolebindings`, binding)).status).toBe(201);
  });

  test('a webhook allows a request, receives the whole review, and its answer is cached', async () => {
    expect((await configMap('allowed')).status).toBe(404);
    expect((await configMap('allowed')).status).toBe(404);
    const reviews = asked().about('allowed');
    expect(asked().asked.map(({ query }) => query)).toContain('?timeout=30s');
    expect(reviews).toEqual([
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec: {
          resourceAttributes: {
            namespace: 'default',
            verb: 'get',
            version: 'v1',
            resource: 'configmaps',
            name: 'allowed',
          },
          user: 'jane',
          groups: ['readers', 'writers', 'system:authenticated'],
          uid: 'jane-uid',
        },
        status: { allowed: false },
      },
    ]);
  });

  test('a webhook receives the selectors of a list', async () => {
    const before = asked().asked.length;
    const query = 'labelSelector=team%3Dweb&fieldSelector=metadata.namespace%3Ddefault';
    expect((await jane(`/api/v1/namespaces/default/configmaps?${query}`)).status).toBe(403);
    const [review] = asked().asked.slice(before);
    expect(dig(review?.review, 'spec', 'resourceAttributes')).toMatchObject({
      verb: 'list',
      labelSelector: { requirements: [{ key: 'team', operator: 'In', values: ['web'] }] },
      fieldSelector: { requirements: [{ key: 'metadata.namespace', operator: 'In', values: ['default'] }] },
    });
  });

  test('a webhook denies a request, and no other authorizer is called', async () => {
    const answer = await secret('denied');
    expect([answer.status, treeOf(answer)['message']]).toEqual([
      403,
      'secrets "denied" is forbidden: User "jane" cannot get resource "secrets" in API group "" in the namespace "default": not today',
    ]);
    expect(asked().about('denied', '/lenient')).toHaveLength(1);
    expect(asked().about('denied', '/strict')).toHaveLength(0);
  });

  test('without an opinion, the next authorizers decide', async () => {
    const answer = await secret('none');
    expect([answer.status, dig(treeOf(answer), 'reason')]).toEqual([403, 'Forbidden']);
    expect(asked().about('none')).toHaveLength(2);
    expect((await secret('known')).status).toBe(404);
  });

  test('a webhook is not called if its match conditions are false', async () => {
    const before = asked().asked.length;
    expect((await jane('/known')).status).toBe(404);
    // Only the condition of the strict webhook is true.
    expect(
      asked()
        .asked.slice(before)
        .map((item) => item.path),
    ).toEqual(['/strict']);
    expect((await http().get('/api/v1/namespaces/default/secrets/known')).status).toBe(404);
    // system:masters is allowed before any webhook.
    expect(asked().asked).toHaveLength(before + 1);
  });

  test.each(['broken', 'garbage', 'hangs'])('a lenient webhook that fails (%s) has no opinion', async (name) => {
    expect((await configMap(name)).status).toBe(404);
    // A webhook that hangs may not get the request before its timeout.
    if (name !== 'hangs') expect(asked().about(name, '/lenient').length).toBeGreaterThan(0);
  });

  test.each(['broken', 'garbage', 'hangs'])('a strict webhook that fails (%s) denies', async (name) => {
    const answer = await secret(name);
    expect(answer.status).toBe(500);
    expect(answer.text).toContain(`Internal Server Error: "/api/v1/namespaces/default/secrets/${name}": `);
    if (name !== 'hangs') expect(asked().about(name, '/strict').length).toBeGreaterThan(0);
  });

  test('a slow webhook delays its own requests only', async () => {
    let settled = false;
    const slow = jane('/hangs').then((answer) => {
      settled = true;
      return answer;
    });
    const reviews = (): readonly object[] =>
      asked().asked.filter(({ review }) => dig(review, 'spec', 'nonResourceAttributes', 'path') === '/hangs');
    await eventually('it is asked', () => Promise.resolve(reviews().length > 0 || undefined));
    for (let i = 0; i < 20; i++) expect((await http().get('/api/v1/namespaces/default')).status).toBe(200);
    expect((await configMap('allowed')).status).toBe(404);
    expect(settled).toBe(false);
    asked().release();
    expect((await slow).status).toBe(500);
  });

  test('counts decisions and webhook calls', async () => {
    const decisions = (type: string, name: string, decision: string): Promise<number> =>
      metric(
        new RegExp(
          `^apiserver_authorization_decisions_total\\{type="${type}",name="${name}",decision="${decision}"\\} (\\d+)`,
          'm',
        ),
      );
    expect(await decisions('Webhook', 'lenient', 'allowed')).toBeGreaterThan(1);
    expect(await decisions('Webhook', 'lenient', 'denied')).toBe(1);
    expect(await decisions('Webhook', 'strict', 'denied')).toBeGreaterThan(2);
    expect(await decisions('RBAC', 'rbac', 'allowed')).toBeGreaterThan(1);
    const failOpen =
      /^apiserver_authorization_webhook_evaluations_fail_open_total\{name="lenient-hasty",result="timeout"\} (\d+)/m;
    expect(await metric(failOpen)).toBeGreaterThan(0);
  });

  describe('is reloaded', () => {
    const reloads = (status: string): Promise<number> =>
      metric(
        new RegExp(
          `^apiserver_authorization_config_controller_automatic_reloads_total\\{.*status="${status}".*\\} (\\d+)`,
          'm',
        ),
      );

    test('when it changes', async () => {
      expect(await reloads('success')).toBe(0);
      const begun = Math.floor(Date.now() / 1000);
      replace(chain(["request.resourceAttributes.name != 'quiet'"]));
      await eventually('the new file', async () => ((await reloads('success')) === 1 ? true : undefined));
      await configMap('quiet');
      expect(asked().about('quiet')).toHaveLength(0);
      const { text } = await http().get('/metrics');
      const last = /automatic_reload_last_timestamp_seconds\{[^}]*status="success"[^}]*\} (\S+)/.exec(text)?.[1];
      expect(Number(last)).toBeGreaterThanOrEqual(begun);
      expect(Number(last)).toBeLessThanOrEqual(Date.now() / 1000);
    });

    test.each([
      ['not a document', '{"apiVersion":'],
      ['a rule that does not compile', () => chain(['request.x +'])],
      ['without what existed at the start', () => file({ type: 'Webhook', name: 'w' })],
    ])('but not if it is broken: %s', async (_name, text) => {
      const before = await reloads('failure');
      replace(typeof text === 'string' ? text : text());
      await eventually('the failure is counted', async () => ((await reloads('failure')) > before ? true : undefined));
      expect((await secret('denied')).status).toBe(403);
      expect((await configMap('allowed')).status).toBe(404);
      await configMap('quiet');
      expect(asked().about('quiet')).toHaveLength(0);
      expect(server?.log).toContain('reloading authorization config: ');
    });

    test('a match condition that fails is a failure of its webhook', async () => {
      const before = await reloads('success');
      const broken = webhook({
        name: 'strict',
        file: join(folder, 'strict.json'),
        failurePolicy: 'Deny',
        conditions: ["request.resourceAttributes.resource == 'secrets'"],
      });
      replace(file(broken, { type: 'RBAC', name: 'rbac' }));
      await eventually('the new file', async () => ((await reloads('success')) > before ? true : undefined));
      expect((await jane('/known')).status).toBe(500);
      expect((await configMap('known')).status).toBe(404);
    });
  });
});

test.each([
  ['--authorization-mode', ['--authorization-mode=RBAC']],
  ['--authorization-webhook-*', ['--authorization-webhook-version=v1']],
])('a configuration combined with %s is refused', async (_name, flags) => {
  const { code, stderr } = await run(['serve', '--authorization-config=/nowhere', ...flags]);
  expect(code).toBe(1);
  expect(stderr).toContain(
    '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
  );
});

describe('ABAC', () => {
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  const policy = join(folder, 'policy.jsonl');
  const version = '"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy"';

  test('a policy file decides', async () => {
    writeFileSync(
      policy,
      [
        '# who may do what',
        `{${version},"spec":{"user":"jane","namespace":"default","resource":"configmaps","readonly":true}}`,
        `{${version},"spec":{"group":"readers","nonResourcePath":"/metrics","readonly":true}}`,
        '{"user":"jane","namespace":"default","resource":"secrets"}',
        '',
      ].join('\n'),
    );
    server = await TestServer.start(folder, ['--authorization-mode=ABAC', `--authorization-policy-file=${policy}`]);
    const http = new Http1(server);
    const status = async (method: string, path: string, body?: object): Promise<number> =>
      (await http.send({ method, path, token: NOBODY, ...(body === undefined ? {} : { body }) })).status;
    const core = '/api/v1/namespaces';
    const object = (kind: string): object => ({ apiVersion: 'v1', kind, metadata: { name: 'a' } });
    expect(await status('GET', `${core}/default/configmaps`)).toBe(200);
    expect(await status('POST', `${core}/default/configmaps`, object('ConfigMap'))).toBe(403);
    expect(await status('GET', `${core}/kube-system/configmaps`)).toBe(403);
    // A line without a version has the first format, in which a resource matches every group.
    expect(await status('POST', `${core}/default/secrets`, object('Secret'))).toBe(201);
    expect(await status('GET', '/metrics')).toBe(200);
    expect(await status('GET', '/version')).toBe(403);
    const refused = await http.send({ path: `${core}/default/pods`, token: NOBODY });
    expect(treeOf(refused)['message']).toBe(
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default": No policy matched.',
    );
  });

  test.each([
    ['is broken', `{${version},"spec":{}}\nnot JSON\n`],
    ['is not there', undefined],
  ])('refuses to start with a policy file that %s', async (_name, text) => {
    const path = join(folder, 'bad.jsonl');
    if (text !== undefined) writeFileSync(path, text);
    const { code, stderr } = await run([
      'serve',
      ...['--data-dir', join(folder, 'unused'), '--secure-port=0', '--authorization-mode=ABAC'],
      `--authorization-policy-file=${text === undefined ? '/nowhere' : path}`,
    ]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(text === undefined ? '/nowhere' : 'bad.jsonl')]);
  });
});
