import { type Answer, digList, Http1, treeOf } from '../client.js';
import { eventually, NOBODY, scratchFolder, serverForFile, TestServer } from '../server.js';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const MERGE = { 'content-type': 'application/merge-patch+json' };
const role = (name: string, labels: object, verbs: readonly string[], more: object = {}): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name, labels },
  rules: [{ apiGroups: ['stable.example.com'], resources: ['widgets'], verbs }],
  ...more,
});
const binding = (name: string, to: string, subject: object): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: to },
});
const patch = (http: Http1, path: string, body: object): Promise<Answer> =>
  http.send({ method: 'PATCH', path: `${RBAC}/${path}`, body, headers: MERGE });
const remove = (http: Http1, path: string): Promise<Answer> => http.send({ method: 'DELETE', path: `${RBAC}/${path}` });
const rulesOf = async (http: Http1, name: string): Promise<string> =>
  JSON.stringify(digList(treeOf(await http.get(`${RBAC}/clusterroles/${name}`)), 'rules'));

describe('aggregated roles', () => {
  const server = serverForFile();
  const http = (): Http1 => new Http1(server.current);
  const list = async (): Promise<number> =>
    (await http().send({ path: '/apis/stable.example.com/v1/widgets', token: NOBODY })).status;
  const becomes = (status: number): Promise<true> =>
    eventually(`jane gets ${status}`, async () => ((await list()) === status ? true : undefined));

  test('the user-facing roles get the rules of roles that are created, changed, and deleted', async () => {
    const made = role('widgets-view', { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }, ['get', 'list']);
    expect(
      (await http().post(`${RBAC}/clusterrolebindings`, binding('jane', 'edit', { kind: 'User', name: 'jane' })))
        .status,
    ).toBe(201);
    expect(await list()).toBe(403);
    expect((await http().post(`${RBAC}/clusterroles`, made)).status).toBe(201);
    // The type does not exist, but she may access it. `edit` aggregates `view`.
    await becomes(404);
    for (const name of ['view', 'edit']) expect(await rulesOf(http(), name)).toContain('stable.example.com');
    await eventually('admin has it from edit', async () =>
      (await rulesOf(http(), 'admin')).includes('stable.example.com') ? true : undefined,
    );
    await patch(http(), 'clusterroles/widgets-view', {
      rules: [{ apiGroups: ['stable.example.com'], resources: ['widgets'], verbs: ['get'] }],
    });
    await becomes(403);
    await patch(http(), 'clusterroles/widgets-view', {
      metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'false' } },
    });
    await eventually('the rules are gone', async () =>
      (await rulesOf(http(), 'view')).includes('stable.example.com') ? undefined : true,
    );
    await patch(http(), 'clusterroles/widgets-view', {
      metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    });
    await eventually('they are there again', async () =>
      (await rulesOf(http(), 'admin')).includes('stable.example.com') ? true : undefined,
    );
    await remove(http(), 'clusterroles/widgets-view');
    await eventually('they went with their role', async () =>
      (await rulesOf(http(), 'admin')).includes('stable.example.com') ? undefined : true,
    );
  });

  test('a role with the label aggregate-to-edit lets editors write endpoints, which edit does not', async () => {
    const create = async (): Promise<number> => {
      const path = '/api/v1/namespaces/default/endpoints?dryRun=All';
      const body = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'e' } };
      return (await http().send({ method: 'POST', path, body, token: NOBODY })).status;
    };
    await http().post(`${RBAC}/clusterrolebindings`, binding('editor', 'edit', { kind: 'User', name: 'jane' }));
    await eventually('jane edits', async () => {
      const path = '/api/v1/namespaces/default/configmaps?dryRun=All';
      const answer = await http().send({ method: 'POST', path, body: { metadata: { name: 'c' } }, token: NOBODY });
      return answer.status === 201 ? true : undefined;
    });
    expect(await create()).toBe(403);
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' };
    const rules = [{ apiGroups: [''], resources: ['endpoints'], verbs: ['create'] }];
    await http().post(`${RBAC}/clusterroles`, { metadata: { name: 'endpoints', labels }, rules });
    await eventually('jane writes endpoints', async () => ((await create()) === 201 ? true : undefined));
  });

  test('changes to the rules of an aggregated role are reconciled', async () => {
    const before = await rulesOf(http(), 'view');
    await patch(http(), 'clusterroles/view', { rules: [] });
    await eventually('its rules', async () => ((await rulesOf(http(), 'view')) === before ? true : undefined));
  });
});

describe('health checks', () => {
  const server = serverForFile();
  const status = async (path: string, token?: string): Promise<number> =>
    (await new Http1(server.current).send({ path, ...(token === undefined ? {} : { token }) })).status;

  test('the endpoints are open to everyone, and single checks require the monitoring role', async () => {
    for (const endpoint of ['healthz', 'livez', 'readyz']) {
      expect([await status(`/${endpoint}`, ''), await status(`/${endpoint}`, NOBODY)]).toEqual([200, 200]);
      expect([await status(`/${endpoint}/ping`, ''), await status(`/${endpoint}/ping`, NOBODY)]).toEqual([403, 403]);
      expect(await status(`/${endpoint}/ping`)).toBe(200);
    }
    const monitor = binding('monitor', 'system:monitoring', { kind: 'User', name: 'jane' });
    expect((await new Http1(server.current).post(`${RBAC}/clusterrolebindings`, monitor)).status).toBe(201);
    expect([await status('/livez/ping', NOBODY), await status('/metrics', NOBODY)]).toEqual([200, 200]);
  });

  test('nobody can read them without the role binding', async () => {
    const path = `${RBAC}/clusterrolebindings/system:public-info-viewer`;
    expect((await new Http1(server.current).send({ method: 'DELETE', path })).status).toBe(200);
    expect([await status('/livez', ''), await status('/readyz')]).toEqual([403, 200]);
  });
});

describe('controllers with their own service accounts', () => {
  const server = serverForFile(['--use-service-account-credentials']);
  const http = (): Http1 => new Http1(server.current);
  const account = 'clusterrole-aggregation-controller';
  const path = `clusterrolebindings/system:controller:${account}`;

  test('each controller has a service account', async () => {
    for (const name of [account, 'namespace-controller', 'generic-garbage-collector', 'service-account-controller']) {
      expect((await http().get(`/api/v1/namespaces/kube-system/serviceaccounts/${name}`)).status).toBe(200);
    }
  });

  test('a controller without its role stops working until it is restored', async () => {
    const labels = { test: 'aggregated' };
    const sum = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: labels }] }, rules: [] };
    const found = treeOf(await http().get(`${RBAC}/${path}`));
    expect((await remove(http(), path)).status).toBe(200);
    expect((await http().post(`${RBAC}/clusterroles`, role('part', labels, ['get']))).status).toBe(201);
    expect((await http().post(`${RBAC}/clusterroles`, role('sum', {}, [], sum))).status).toBe(201);
    await eventually('the refusal is logged', () =>
      Promise.resolve(
        server.current.log.includes(`User \\"system:serviceaccount:kube-system:${account}\\" cannot `) || undefined,
      ),
    );
    expect(await rulesOf(http(), 'sum')).toBe('[]');
    // Other controllers continue: the namespace gets its service account.
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'goes-on' } };
    expect((await http().post('/api/v1/namespaces', namespace)).status).toBe(201);
    await eventually('the default account', async () =>
      (await http().get('/api/v1/namespaces/goes-on/serviceaccounts/default')).status === 200 ? true : undefined,
    );
    const { resourceVersion: _, uid: _uid, ...metadata } = found['metadata'] as Record<string, string>;
    expect((await http().post(`${RBAC}/clusterrolebindings`, { ...found, metadata })).status).toBe(201);
    await eventually('the sum has the rules of its part', async () =>
      (await rulesOf(http(), 'sum')).includes('stable.example.com') ? true : undefined,
    );
  });
});

describe('default roles at the next start', () => {
  let server: TestServer | undefined;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));
  const start = async (): Promise<Http1> => {
    server = await TestServer.start(folder);
    return new Http1(server);
  };
  const AUTOUPDATE = { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } };
  const extra = { nonResourceURLs: ['/extra'], verbs: ['get'] };

  test('restores what is missing, keeps what was added, and leaves protected roles alone', async () => {
    let http = await start();
    const before = await rulesOf(http, 'system:discovery');
    await patch(http, 'clusterroles/system:discovery', { rules: [extra] });
    await patch(http, 'clusterroles/system:basic-user', { metadata: AUTOUPDATE, rules: [] });
    await patch(http, 'clusterrolebindings/system:discovery', { subjects: [] });
    await patch(http, 'clusterrolebindings/system:public-info-viewer', { metadata: AUTOUPDATE, subjects: [] });
    await remove(http, 'clusterroles/system:monitoring');
    await remove(http, 'clusterrolebindings/cluster-admin');
    expect((await server?.stop())?.code).toBe(0);

    http = await start();
    const subjects = async (name: string): Promise<number> =>
      digList(treeOf(await http.get(`${RBAC}/clusterrolebindings/${name}`)), 'subjects').length;
    const now = await rulesOf(http, 'system:discovery');
    expect(now).toContain('"/extra"');
    for (const path of ['/api/*', '/healthz', '/openapi/*', '/version/'])
      expect([before, now].every((text) => text.includes(path))).toBe(true);
    expect(await rulesOf(http, 'system:basic-user')).toBe('[]');
    expect([await subjects('system:discovery'), await subjects('system:public-info-viewer')]).toEqual([1, 0]);
    expect([await rulesOf(http, 'system:monitoring'), await subjects('cluster-admin')]).toEqual([
      expect.stringContaining('/metrics'),
      1,
    ]);
  });
});

describe('server-side apply of a new object', () => {
  const server = serverForFile();
  const path = '/api/v1/namespaces/default/configmaps/new?fieldManager=jane';
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new' }, data: { a: 'b' } };
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const apply = (): Promise<Answer> =>
    new Http1(server.current).send({ method: 'PATCH', path, body, headers, token: NOBODY });

  test('requires the create permission too', async () => {
    const http = new Http1(server.current);
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['patch', 'update'] }];
    await http.post(`${RBAC}/clusterroles`, role('writer', {}, [], { rules }));
    await http.post(`${RBAC}/clusterrolebindings`, binding('writer', 'writer', { kind: 'User', name: 'jane' }));
    const refused = 'configmaps \\"new\\" is forbidden: User \\"jane\\" cannot create resource \\"configmaps\\"';
    await eventually('she may patch', async () => ((await apply()).text.includes('cannot create') ? true : undefined));
    const answer = await apply();
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(refused)]);
    await patch(http, 'clusterroles/writer', { rules: [{ ...rules[0], verbs: ['patch', 'update', 'create'] }] });
    await eventually('she may create', async () => ((await apply()).status === 201 ? true : undefined));
    expect((await apply()).status).toBe(200);
  });
});
