import { createHash, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { compactVerify } from 'jose';
import { parse } from 'yaml';
import { makeCertificateRequest } from '../../fakes/pki/certificate-request.js';
import { keyPem } from '../../../src/pki/certificates.js';
import { type Address, type Answer, digList, digText, Http1, treeOf } from '../client.js';
import { eventually, serverForFile } from '../server.js';

const ID = 'abcdef';
const SECRET = '0123456789abcdef';
const TOKEN = `${ID}.${SECRET}`;
const GROUP = 'system:bootstrappers:kubeadm:default-node-token';
const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';

const server = serverForFile(['--enable-bootstrap-token-auth', '--controllers=*,bootstrapsigner,tokencleaner']);
const admin = (): Http1 => new Http1(server.current);

const token = (id: string, more: Readonly<Record<string, string>> = {}): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'bootstrap.kubernetes.io/token',
  metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
  stringData: {
    'token-id': id,
    'token-secret': SECRET,
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': GROUP,
    ...more,
  },
});
const addToken = async (id: string, more: Readonly<Record<string, string>> = {}): Promise<void> => {
  expect((await admin().post('/api/v1/namespaces/kube-system/secrets', token(id, more))).status).toBe(201);
};

/** The role bindings of `kubeadm init`. */
const bind = async (name: string, role: string): Promise<void> => {
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    subjects: [{ kind: 'Group', name: GROUP, apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { kind: 'ClusterRole', name: role, apiGroup: 'rbac.authorization.k8s.io' },
  };
  expect((await admin().post(`${RBAC}/clusterrolebindings`, binding)).status).toBe(201);
};

/** Like kubeadm, trusts no CA yet, so the server certificate is not verified. */
function stranger(): Http1 {
  const { url } = server.current;
  return new Http1({ url, ca: '' }, 1, { trusting: true });
}

const clusterInfo = async (key: string): Promise<string> =>
  digText(treeOf(await stranger().send({ path: CLUSTER_INFO, token: '' })), 'data', key);
const signature = (id: string): Promise<string> =>
  eventually(`a signature with ${id}`, async () => (await clusterInfo(`jws-kubeconfig-${id}`)) || undefined);

beforeAll(async () => {
  await addToken(ID);
  await bind('kubeadm:kubelet-bootstrap', 'system:node-bootstrapper');
});

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
}

/** Runs kubeadm's discovery, whose key is the second part of the token. Returns the server address and CA that the token's signature covers. */
async function discover(): Promise<Address> {
  const jws = await signature(ID);
  const kubeconfig = await clusterInfo('kubeconfig');
  const [header, none, mac] = jws.split('.');
  expect(none).toBe('');
  const whole = `${header ?? ''}.${Buffer.from(kubeconfig).toString('base64url')}.${mac ?? ''}`;
  const verified = await compactVerify(whole, Buffer.from(SECRET), { algorithms: ['HS256'] });
  expect(verified.protectedHeader).toEqual({ alg: 'HS256', kid: ID });
  await expect(compactVerify(whole, Buffer.from('0123456789abcdeg'))).rejects.toThrow('signature verification failed');
  const { cluster } = (parse(kubeconfig) as Kubeconfig).clusters[0] ?? { cluster: {} };
  const ca = Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64').toString();
  return { url: cluster['server'] ?? '', ca };
}

test('a node joins: discovery, bootstrap token, certificate, node', async () => {
  const found = await discover();
  expect(found).toEqual({ url: server.current.url, ca: server.current.ca });
  // The value that `kubeadm join --discovery-token-ca-cert-hash` compares.
  const pin = (pem: string): string =>
    createHash('sha256')
      .update(
        createPublicKey(new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'pem' })).export({
          type: 'spki',
          format: 'der',
        }),
      )
      .digest('hex');
  expect(pin(found.ca)).toBe(pin(server.current.ca));

  // From here on with the CA, authenticated by the token.
  const http = new Http1(found);
  const who = await http.send({ method: 'POST', path: REVIEWS, body: REVIEW, token: TOKEN });
  expect(treeOf(who)['status']).toEqual({
    userInfo: { username: `system:bootstrap:${ID}`, groups: ['system:bootstrappers', GROUP, 'system:authenticated'] },
  });
  expect((await http.send({ path: '/api/v1/nodes', token: TOKEN })).status).toBe(403);

  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const node = { commonName: 'system:node:worker-1', organizations: ['system:nodes'], pair };
  const request = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'node-csr-1' },
    spec: {
      request: Buffer.from(makeCertificateRequest(node)).toString('base64'),
      signerName: KUBELET_CLIENT,
      usages: ['digital signature', 'client auth'],
    },
  };
  const made = await http.send({ method: 'POST', path: REQUESTS, body: request, token: TOKEN });
  expect(made.status).toBe(201);
  expect(digText(treeOf(made), 'spec', 'username')).toBe(`system:bootstrap:${ID}`);
  expect(digList(treeOf(made), 'spec', 'groups')).toContain(GROUP);
  // The bootstrapper may not approve its own request.
  const approve = (client: Http1, by: string | undefined, object: object): Promise<Answer> =>
    client.send({
      method: 'PUT',
      path: `${REQUESTS}/node-csr-1/approval`,
      body: object,
      ...(by === undefined ? {} : { token: by }),
    });
  const condition = { type: 'Approved', status: 'True', reason: 'Test', message: 'ok' };
  const approved = { ...treeOf(made), status: { conditions: [condition] } };
  expect((await approve(http, TOKEN, approved)).status).toBe(403);
  expect((await approve(admin(), undefined, approved)).status).toBe(200);

  const certificate = await eventually('a certificate', async () => {
    const answer = await http.send({ path: `${REQUESTS}/node-csr-1`, token: TOKEN });
    return digText(treeOf(answer), 'status', 'certificate') || undefined;
  });
  const pem = Buffer.from(certificate, 'base64').toString();
  expect(new X509Certificate(pem).subject).toBe('O=system:nodes\nCN=system:node:worker-1');

  const kubelet = new Http1(found, 1, { key: keyPem(pair.privateKey), certificate: pem });
  const self = await kubelet.send({ method: 'POST', path: REVIEWS, body: REVIEW, token: '' });
  expect(treeOf(self)['status']).toMatchObject({
    userInfo: { username: 'system:node:worker-1', groups: ['system:nodes', 'system:authenticated'] },
  });
  const object = (name: string): object => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
  const register = (name: string): Promise<Answer> =>
    kubelet.send({ method: 'POST', path: '/api/v1/nodes', body: object(name), token: '' });
  expect((await register('worker-1')).status).toBe(201);
  const seen = async (name: string): Promise<number> =>
    (await kubelet.send({ path: `/api/v1/nodes/${name}`, token: '' })).status;
  expect([await seen('worker-1'), await seen('worker-2')]).toEqual([200, 403]);
});

test('bootstrap requests are approved automatically if a role allows it', async () => {
  await bind('kubeadm:node-autoapprove-bootstrap', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient');
  const http = new Http1(server.current);
  const submit = async (name: string, commonName: string): Promise<void> => {
    const pem = makeCertificateRequest({ commonName, organizations: ['system:nodes'] });
    const spec = {
      request: Buffer.from(pem).toString('base64'),
      signerName: KUBELET_CLIENT,
      usages: ['digital signature', 'client auth'],
    };
    const body = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: { name }, spec };
    expect((await http.send({ method: 'POST', path: REQUESTS, body, token: TOKEN })).status).toBe(201);
  };
  const status = async (name: string): Promise<Answer> => admin().get(`${REQUESTS}/${name}`);
  await submit('auto', 'system:node:worker-3');
  const answer = await eventually('a certificate', async () => {
    const found = await status('auto');
    return digText(treeOf(found), 'status', 'certificate') === '' ? undefined : found;
  });
  expect(digText(treeOf(answer), 'status', 'conditions', 0, 'reason')).toBe('AutoApproved');
  // A request that is not from a node is neither approved nor signed.
  await submit('other', 'jane');
  await submit('auto-2', 'system:node:worker-4');
  await eventually('a certificate', async () =>
    digText(treeOf(await status('auto-2')), 'status', 'certificate') === '' ? undefined : true,
  );
  expect(treeOf(await status('other'))['status']).toEqual({});
});

test('signatures are added and removed with their tokens, and follow the content', async () => {
  const id = 'gone00';
  await addToken(id);
  await signature(id);
  const path = `/api/v1/namespaces/kube-system/secrets/bootstrap-token-${id}`;
  expect((await admin().send({ method: 'DELETE', path })).status).toBe(200);
  await eventually('the signature is gone', async () =>
    (await clusterInfo(`jws-kubeconfig-${id}`)) === '' ? true : undefined,
  );
  const whoAmI = async (): Promise<number> =>
    (await admin().send({ method: 'POST', path: REVIEWS, body: REVIEW, token: `${id}.${SECRET}` })).status;
  expect(await whoAmI()).toBe(401);

  const before = await signature(ID);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const kubeconfig = `${await clusterInfo('kubeconfig')}# changed\n`;
  await admin().send({ method: 'PATCH', path: CLUSTER_INFO, body: { data: { kubeconfig } }, headers });
  await eventually('a new signature', async () =>
    (await clusterInfo(`jws-kubeconfig-${ID}`)) === before ? undefined : true,
  );
  await discover();
});

test('expired tokens neither sign nor authenticate, and are deleted; tokens without a usage do nothing', async () => {
  await addToken('expire', { expiration: new Date(Date.now() - 60_000).toISOString() });
  await addToken('nosign', { 'usage-bootstrap-signing': 'false' });
  await addToken('noauth', { 'usage-bootstrap-authentication': 'false' });
  const status = async (id: string): Promise<number> =>
    (await admin().send({ method: 'POST', path: REVIEWS, body: REVIEW, token: `${id}.${SECRET}` })).status;
  expect([await status('expire'), await status('nosign'), await status('noauth')]).toEqual([401, 201, 401]);
  await signature('noauth');
  expect(await clusterInfo('jws-kubeconfig-nosign')).toBe('');
  expect(await clusterInfo('jws-kubeconfig-expire')).toBe('');
  await eventually('it is removed', async () => {
    const found = await admin().get('/api/v1/namespaces/kube-system/secrets/bootstrap-token-expire');
    return found.status === 404 ? true : undefined;
  });
});

test('anonymous users can read nothing else in kube-public', async () => {
  const http = stranger();
  expect((await http.send({ path: CLUSTER_INFO, token: '' })).status).toBe(200);
  expect((await http.send({ path: '/api/v1/namespaces/kube-public/configmaps', token: '' })).status).toBe(403);
  expect((await http.send({ path: `${CLUSTER_INFO}x`, token: '' })).status).toBe(403);
  expect((await http.send({ method: 'DELETE', path: CLUSTER_INFO, token: '' })).status).toBe(403);
});
