import { type Call, digText, Http1, treeOf } from '../client.js';
import { eventually, scratchFolder, TestServer } from '../server.js';

const NS = '/api/v1/namespaces/default';
const POD = { containers: [{ name: 'c', image: 'i' }] };

/** A kubelet that was taken over tries what it has no right to. Impersonation by an administrator stands for its certificate. */
describe('the identity of a kubelet', () => {
  let server: TestServer | undefined;
  let http: Http1;
  const folder = scratchFolder(async () => server?.stop('SIGKILL'));

  const asNode = (call: Call): ReturnType<Http1['send']> =>
    http.send({
      ...call,
      headers: { 'Impersonate-User': 'system:node:n1', 'Impersonate-Group': 'system:nodes', ...call.headers },
    });
  const answer = async (call: Call): Promise<[number, string]> => {
    const got = await asNode(call);
    return [got.status, got.status < 300 ? '' : digText(treeOf(got), 'message')];
  };
  const merge = (path: string, body: object): Call => ({
    method: 'PATCH',
    path,
    body,
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  const uids = new Map<string, string>();

  beforeAll(async () => {
    server = await TestServer.start(folder, [
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--controllers=',
    ]);
    http = new Http1(server);
    const create = async (path: string, body: object): Promise<void> => {
      const made = await http.post(path, body);
      expect([made.status, made.text]).toEqual([201, expect.anything()]);
      uids.set(digText(treeOf(made), 'metadata', 'name'), digText(treeOf(made), 'metadata', 'uid'));
    };
    for (const name of ['n1', 'n2']) await create('/api/v1/nodes', { metadata: { name } });
    for (const name of ['default', 'mine', 'theirs']) await create(`${NS}/serviceaccounts`, { metadata: { name } });
    for (const name of ['my-secret', 'their-secret', 'free-secret'])
      await create(`${NS}/secrets`, { metadata: { name }, stringData: { a: 'b' } });
    for (const [name, nodeName, account, secretName] of [
      ['my-pod', 'n1', 'mine', 'my-secret'],
      ['their-pod', 'n2', 'theirs', 'their-secret'],
    ]) {
      const token = { serviceAccountToken: { path: 'token' } };
      const volumes = [
        { name: 's', secret: { secretName } },
        { name: 't', projected: { sources: [token] } },
      ];
      const spec = { ...POD, nodeName, serviceAccountName: account, volumes };
      await create(`${NS}/pods`, { metadata: { name }, spec });
    }
    await eventually('the graph has the pod', async () =>
      (await asNode({ path: `${NS}/secrets/my-secret` })).status === 200 ? true : undefined,
    );
  });

  test('reads only the secrets of its pods, one by one', async () => {
    const unrelated = "no relationship found between node 'n1' and this object";
    for (const name of ['their-secret', 'free-secret', 'not-there'])
      expect(await answer({ path: `${NS}/secrets/${name}` })).toEqual([403, expect.stringContaining(unrelated)]);
    for (const path of [
      `${NS}/secrets`,
      '/api/v1/secrets',
      `${NS}/secrets?watch=1`,
      `${NS}/secrets?fieldSelector=metadata.name%3Dtheir-secret`,
      `/api/v1/watch/namespaces/default/secrets/their-secret`,
    ])
      expect([path, (await asNode({ path })).status]).toEqual([path, 403]);
    expect((await asNode(merge(`${NS}/secrets/my-secret`, { data: null }))).status).toBe(403);
    expect((await asNode({ path: `${NS}/secrets?fieldSelector=metadata.name%3Dmy-secret` })).status).toBe(200);
  });

  test('writes neither other nodes nor the labels that are kept from nodes', async () => {
    expect(await answer(merge('/api/v1/nodes/n2', { metadata: { labels: { a: 'b' } } }))).toEqual([
      403,
      expect.stringContaining('node "n1" is not allowed to modify node "n2"'),
    ]);
    expect((await asNode(merge('/api/v1/nodes/n2/status', { status: { phase: 'x' } }))).status).toBe(403);
    expect((await asNode({ method: 'DELETE', path: '/api/v1/nodes/n2' })).status).toBe(403);
    const restricted = { metadata: { labels: { 'node-restriction.kubernetes.io/pci': 'yes' } } };
    for (const path of ['/api/v1/nodes/n1', '/api/v1/nodes/n1/status'])
      expect(await answer(merge(path, restricted))).toEqual([
        403,
        expect.stringContaining('is not allowed to modify labels: node-restriction.kubernetes.io/pci'),
      ]);
    const applied = JSON.stringify({ apiVersion: 'v1', kind: 'Node', ...restricted });
    const apply: Call = {
      method: 'PATCH',
      path: '/api/v1/nodes/n1?fieldManager=m&force=true',
      body: applied,
      headers: { 'content-type': 'application/apply-patch+yaml' },
    };
    expect((await asNode(apply)).status).toBe(403);
    const taints = { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } };
    expect(await answer(merge('/api/v1/nodes/n1', taints))).toEqual([
      403,
      expect.stringContaining('is not allowed to modify taints'),
    ]);
    expect(await answer(merge('/api/v1/nodes/n1', { metadata: { labels: { mine: 'b' } } }))).toEqual([200, '']);
  });

  test('gets tokens only for the accounts of its pods, bound to them', async () => {
    const token = (account: string, pod?: string, ...audiences: string[]): Promise<[number, string]> => {
      const uid = uids.get(pod ?? '') ?? '';
      const ref = pod === undefined ? {} : { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod, uid } };
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { ...ref, audiences } };
      return answer({ method: 'POST', path: `${NS}/serviceaccounts/${account}/token`, body });
    };
    expect(await token('mine', 'my-pod')).toEqual([201, '']);
    expect(await token('mine')).toEqual([403, expect.stringContaining('node requested token not bound to a pod')]);
    expect((await token('mine', 'their-pod'))[0]).toBe(403);
    expect(await token('mine', 'my-pod', 'vault')).toEqual([
      403,
      expect.stringContaining('audience "vault" not found in pod spec volume'),
    ]);
    for (const pod of [undefined, 'my-pod', 'their-pod']) expect((await token('theirs', pod))[0]).toBe(403);
    expect((await token('default', 'my-pod'))[0]).toBe(403);
  });

  test('touches no pods of other nodes, and makes none that lead to secrets', async () => {
    expect((await asNode({ path: `${NS}/pods/their-pod` })).status).toBe(403);
    expect((await asNode({ method: 'DELETE', path: `${NS}/pods/their-pod` })).status).toBe(403);
    expect((await asNode(merge(`${NS}/pods/their-pod/status`, { status: { phase: 'Failed' } }))).status).toBe(403);
    const volumes = [{ name: 's', secret: { secretName: 'free-secret' } }];
    const mirror = {
      metadata: {
        name: 'grab',
        annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: uids.get('n1'), controller: true }],
      },
      spec: { ...POD, nodeName: 'n1', volumes },
    };
    expect(await answer({ method: 'POST', path: `${NS}/pods`, body: mirror })).toEqual([
      403,
      expect.stringContaining('can not create pods that reference secrets'),
    ]);
    const plain = { metadata: { name: 'grab' }, spec: { ...POD, nodeName: 'n1' } };
    expect((await asNode({ method: 'POST', path: `${NS}/pods`, body: plain })).status).toBe(403);
    expect((await asNode({ path: `${NS}/secrets/free-secret` })).status).toBe(403);
  });
});
