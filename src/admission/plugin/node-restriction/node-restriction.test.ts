import type { JsonObject } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { makeCertificateRequest } from '../../../../test/fakes/pki/certificate-request.js';
import { fakeAttributes } from '../../../../test/fakes/admission/attributes.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { fakeReader } from '../../../../test/fakes/admission/object-reader.js';
import { nodeRestriction } from './node-restriction.js';

const asked: string[] = [];
const plugin = nodeRestriction({
  pods: fakeReader(
    { metadata: { namespace: 'ns', name: 'mine', uid: 'u1' }, spec: { nodeName: 'n', volumes: [token('vault')] } },
    { metadata: { namespace: 'ns', name: 'csi', uid: 'u2' }, spec: { nodeName: 'n', volumes: [claimVolume('c')] } },
    { metadata: { namespace: 'ns', name: 'other', uid: 'u3' }, spec: { nodeName: 'm' } },
  ),
  nodes: fakeReader({ metadata: { name: 'n', uid: 'node-uid' } }),
  claims: fakeReader({ metadata: { namespace: 'ns', name: 'c' }, spec: { volumeName: 'v' } }),
  volumes: fakeReader({ metadata: { name: 'v' }, spec: { csi: { driver: 'd' } } }),
  authorizer: {
    authorize: ({ resource, verb, name }) => {
      asked.push(`${verb} ${resource} ${name}`);
      return { decision: resource === 'allowed' ? 'allow' : 'no-opinion', reason: '' };
    },
  },
});

function token(audience: string): JsonObject {
  return { name: 't', projected: { sources: [{ serviceAccountToken: { audience, path: 'token' } }] } };
}

function claimVolume(claimName: string): JsonObject {
  return { name: 'c', persistentVolumeClaim: { claimName } };
}

const NODE = { name: 'system:node:n', uid: '', groups: ['system:nodes'], extra: {} };

async function admit(given: Parameters<typeof fakeAttributes>[0]): Promise<string> {
  try {
    await plugin.admit?.(fakeAttributes({ user: NODE, name: 'x', ...given }));
    return 'admitted';
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^\S+ "[^"]*" is forbidden: /, '') : String(error);
  }
}

const OWNER = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'node-uid', controller: true };
const mirror = (spec: JsonObject = {}, owners: JsonObject[] = [OWNER]): KubeObject => ({
  metadata: { name: 'x', annotations: { 'kubernetes.io/config.mirror': 'a' }, ownerReferences: owners },
  spec: { nodeName: 'n', ...spec },
});
const createPod = (object: KubeObject): Promise<string> => admit({ plural: 'pods', object });

test('users other than nodes are not restricted', async () => {
  expect(await admit({ plural: 'nodes', name: 'm', user: { ...NODE, groups: [] } })).toBe('admitted');
});

test('a node user without a node name is refused', async () => {
  expect(await admit({ user: { ...NODE, name: 'system:node:' } })).toBe(
    'could not determine node from user "system:node:"',
  );
});

describe('pods', () => {
  test.each<[string, KubeObject, string]>([
    ['a mirror pod', mirror(), 'admitted'],
    [
      'no mirror pod',
      { metadata: { name: 'x' }, spec: { nodeName: 'n' } },
      'pod does not have "kubernetes.io/config.mirror" annotation, node "n" can only create mirror pods',
    ],
    ['another node', mirror({ nodeName: 'm' }), 'node "n" can only create pods with spec.nodeName set to itself'],
    ['no owner', mirror({}, []), 'node "n" can only create pods with an owner reference set to itself'],
    [
      'two owners',
      mirror({}, [OWNER, OWNER]),
      'node "n" can only create pods with a single owner reference set to itself',
    ],
    [
      'no controller',
      mirror({}, [{ ...OWNER, controller: false }]),
      'node "n" can only create pods with a controller owner reference set to itself',
    ],
    [
      'blocking',
      mirror({}, [{ ...OWNER, blockOwnerDeletion: true }]),
      'node "n" must not set blockOwnerDeletion on an owner reference',
    ],
    ['wrong uid', mirror({}, [{ ...OWNER, uid: 'z' }]), 'node n UID mismatch: expected z got node-uid'],
    ['an account', mirror({ serviceAccountName: 'a' }), 'node "n" can not create pods that reference serviceaccounts'],
    ['a secret', mirror({ imagePullSecrets: [{ name: 'a' }] }), 'node "n" can not create pods that reference secrets'],
    [
      'a config map',
      mirror({ containers: [{ envFrom: [{ configMapRef: { name: 'a' } }] }] }),
      'node "n" can not create pods that reference configmaps',
    ],
    [
      'a claim',
      mirror({ volumes: [claimVolume('c')] }),
      'node "n" can not create pods that reference persistentvolumeclaims',
    ],
    [
      'a token',
      mirror({ volumes: [token('a')] }),
      'node "n" can not create pods that reference serviceaccounts (via projected volumes)',
    ],
    [
      'an unknown volume',
      mirror({ volumes: [{ name: 'v', new: {} }] }),
      'error checking mirror pod for API references: unknown volume type for volume  "v"',
    ],
    ['a hostPath', mirror({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }), 'admitted'],
  ])('create: %s', async (_, pod, message) => {
    expect(await createPod(pod)).toBe(message);
  });

  const bound = (nodeName: string, labels = {}): KubeObject => ({
    metadata: { name: 'x', labels },
    spec: { nodeName },
  });

  test('other writes', async () => {
    const change = (given: Partial<AdmissionAttributes>): Promise<string> => admit({ plural: 'pods', ...given });
    expect(await change({ operation: 'DELETE', oldObject: bound('n') })).toBe('admitted');
    expect(await change({ operation: 'DELETE', oldObject: bound('m') })).toBe(
      'node "n" can only delete pods with spec.nodeName set to itself',
    );
    expect(await change({ operation: 'DELETE', name: '', oldObject: bound('n') })).toBe('pod "" not found');
    expect(await change({ operation: 'UPDATE', object: bound('n'), oldObject: bound('n') })).toBe(
      'unexpected operation "UPDATE", node "n" can only create and delete mirror pods',
    );
    expect(await change({ operation: 'UPDATE', subresource: 'ephemeralcontainers' })).toBe(
      `unexpected pod subresource "ephemeralcontainers", only 'status' and 'eviction' are allowed`,
    );
    const status = (object: KubeObject, oldObject: KubeObject): Promise<string> =>
      change({ operation: 'UPDATE', subresource: 'status', object, oldObject });
    expect(await status(bound('n'), bound('n'))).toBe('admitted');
    expect(await status(bound('n'), bound('m'))).toBe(
      'node "n" can only update pod status for pods with spec.nodeName set to itself',
    );
    expect(await status(bound('n', { a: 'b' }), bound('n'))).toBe('node "n" cannot update labels through pod status');
    const claims = { ...bound('n'), status: { resourceClaimStatuses: [{ name: 'a' }] } };
    expect(await status(claims, bound('n'))).toBe('node "n" cannot update resource claim statues');
  });
});

describe('nodes', () => {
  const node = (labels: Record<string, string>, spec: JsonObject = {}, name = 'n'): KubeObject => ({
    metadata: { name, labels },
    spec,
  });
  const write = (object: KubeObject, oldObject?: KubeObject): Promise<string> =>
    admit({
      plural: 'nodes',
      name: object.metadata.name ?? '',
      object,
      oldObject,
      operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    });

  test.each<[string, KubeObject, KubeObject | undefined, string]>([
    ['another one', node({}, {}, 'm'), undefined, 'node "n" is not allowed to modify node "m"'],
    [
      'its own labels',
      node({ a: 'b', 'kubernetes.io/hostname': 'n', 'x.node.kubernetes.io/y': '' }),
      undefined,
      'admitted',
    ],
    [
      'labels of others',
      node({ 'node-restriction.kubernetes.io/a': '', 'foo.k8s.io/b': '', 'kubernetes.io/c': '' }),
      undefined,
      'node "n" is not allowed to set the following labels: foo.k8s.io/b, kubernetes.io/c, node-restriction.kubernetes.io/a',
    ],
    [
      'a source of configuration',
      node({}, { configSource: {} }),
      undefined,
      'node "n" is not allowed to create pods with a non-nil configSource',
    ],
    [
      'another source',
      node({}, { configSource: {} }),
      node({}),
      'node "n" is not allowed to update configSource to a new non-nil configSource',
    ],
    ['taints', node({}, { taints: [{ key: 'a' }] }), node({}), 'node "n" is not allowed to modify taints'],
    [
      'owners',
      { ...node({}), metadata: { name: 'n', ownerReferences: [OWNER] } },
      node({}),
      'node "n" is not allowed to modify ownerReferences',
    ],
    [
      'a label is removed',
      node({}),
      node({ 'kubernetes.io/c': '' }),
      'is not allowed to modify labels: kubernetes.io/c',
    ],
    ['a label stays', node({ 'kubernetes.io/c': '' }), node({ 'kubernetes.io/c': '' }), 'admitted'],
  ])('%s', async (_, object, old, message) => {
    expect(await write(object, old)).toBe(message);
  });

  test('a node may delete only its own Node', async () => {
    expect(await admit({ plural: 'nodes', operation: 'DELETE', name: 'm' })).toBe(
      'node "n" is not allowed to modify node "m"',
    );
    expect(await admit({ plural: 'nodes', operation: 'DELETE', name: 'n' })).toBe('admitted');
  });
});

describe('claims', () => {
  const claim = (status: JsonObject, labels = {}): KubeObject => ({
    metadata: { name: 'c', labels, resourceVersion: String(Math.random()) },
    status,
  });
  const write = (object: KubeObject, oldObject: KubeObject, subresource = 'status'): Promise<string> =>
    admit({ plural: 'persistentvolumeclaims', operation: 'UPDATE', subresource, object, oldObject });

  test('nodes may update the capacity', async () => {
    expect(await write(claim({ phase: 'Bound', capacity: { storage: '2' } }), claim({ phase: 'Bound' }))).toBe(
      'admitted',
    );
  });
  test('nodes may update nothing else', async () => {
    expect(await write(claim({}), claim({}), '')).toBe('may only update PVC status');
    const message = await write(claim({ phase: 'Bound' }), claim({ phase: 'Pending' }));
    expect(message).toContain(
      'node "n" is not allowed to update fields other than status.quantity and status.conditions: ',
    );
    expect(message).toContain('Pending');
    expect(await write(claim({}, { a: 'b' }), claim({}))).toContain('"a": "b"');
  });
});

describe('tokens', () => {
  const request = (ref: JsonObject | undefined, ...audiences: string[]): Promise<string> =>
    admit({
      plural: 'serviceaccounts',
      subresource: 'token',
      name: 'sa',
      object: { metadata: {}, spec: { boundObjectRef: ref, audiences } },
    });
  const bound = (name: string, uid: string): JsonObject => ({ apiVersion: 'v1', kind: 'Pod', name, uid });

  test.each<[string, JsonObject | undefined, string[], string]>([
    ['unbound', undefined, [], 'node requested token not bound to a pod'],
    ['without a uid', bound('mine', ''), [], 'node requested token with a pod binding without a uid'],
    ['no such pod', bound('none', 'u'), [], 'pod "none" not found'],
    [
      'another uid',
      bound('mine', 'u'),
      [],
      'the UID in the bound object reference (u) does not match the UID in record. The object might have been deleted and then recreated',
    ],
    ['of another node', bound('other', 'u3'), [], 'node requested token bound to a pod scheduled on a different node'],
    ['two audiences', bound('mine', 'u1'), ['a', 'b'], 'node may only request 0 or 1 audiences'],
    ['a mounted audience', bound('mine', 'u1'), ['vault'], 'admitted'],
    ['an allowed audience', bound('mine', 'u1'), ['allowed'], 'admitted'],
    [
      'another audience',
      bound('mine', 'u1'),
      ['b'],
      'audience "b" not found in pod spec volume, system:node:n is not authorized to request tokens for this audience',
    ],
    [
      'an unknown driver',
      bound('csi', 'u2'),
      ['b'],
      'error validating audience "b": csidriver.storage.k8s.io "d" not found',
    ],
  ])('%s', async (_, ref, audiences, message) => {
    expect(await request(ref, ...audiences)).toBe(message);
  });

  test('the authorizer is called with the name of the service account', () => {
    expect(asked).toContain('request-serviceaccounts-token-audience b sa');
  });
});

test('leases of nodes', async () => {
  const lease = (namespace: string, name: string): Promise<string> =>
    admit({
      resource: { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' },
      namespace,
      object: { metadata: { name } },
    });
  expect(await lease('kube-node-lease', 'n')).toBe('admitted');
  expect(await lease('ns', 'n')).toBe('can only access leases in the "kube-node-lease" system namespace');
  expect(await lease('kube-node-lease', 'm')).toBe(
    'can only access node lease with the same name as the requesting node',
  );
});

test('certificate signing requests of kubelets', async () => {
  const request = (signerName: string, pem: string): Promise<string> =>
    admit({
      resource: { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' },
      object: {
        metadata: { name: 'x' },
        spec: { signerName, request: Buffer.from(pem).toString('base64') },
      },
    });
  const of = (commonName: string): string => makeCertificateRequest({ commonName, organizations: ['system:nodes'] });
  const serving = 'kubernetes.io/kubelet-serving';
  expect(await request(serving, of('system:node:n'))).toBe('admitted');
  expect(await request(serving, of('system:node:m'))).toBe('can only create a node CSR with CN=system:node:n');
  expect(await request(serving, 'x')).toBe('unable to parse csr: PEM block type must be CERTIFICATE REQUEST');
  expect(await request('a.b/c', of('system:node:m'))).toBe('admitted');
});
