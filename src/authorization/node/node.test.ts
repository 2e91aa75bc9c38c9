import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { AuthorizerAttributes } from '../authorizer/interfaces.js';
import { NodeAuthorizer } from './node-authorizer.js';
import { NodeGraph } from './node-graph.js';

const pod = (name: string, nodeName: string, spec: JsonObject = {}, more: JsonObject = {}): KubeObject => ({
  metadata: { name, namespace: 'ns' },
  spec: { nodeName, ...spec },
  ...more,
});

const ask = (
  verb: string,
  resource: string,
  more: Partial<AuthorizerAttributes> = {},
  user = 'system:node:n1',
): AuthorizerAttributes => ({
  user: { name: user, uid: '', groups: ['system:nodes'], extra: {} },
  verb,
  resourceRequest: true,
  namespace: 'ns',
  apiGroup: '',
  apiVersion: 'v1',
  resource,
  subresource: '',
  name: '',
  path: '',
  ...more,
});

const every: JsonObject = {
  serviceAccountName: 'sa',
  imagePullSecrets: [{ name: 'pull' }],
  initContainers: [{ env: [{ valueFrom: { secretKeyRef: { name: 'init' } } }] }],
  containers: [
    {
      envFrom: [{ secretRef: { name: 'from' } }, { configMapRef: { name: 'cmfrom' } }],
      env: [{ valueFrom: { configMapKeyRef: { name: 'cmkey' } } }],
    },
  ],
  ephemeralContainers: [{ envFrom: [{ secretRef: { name: 'debug' } }] }],
  volumes: [
    { name: 'a', secret: { secretName: 'vol' } },
    { name: 'b', configMap: { name: 'cmvol' } },
    { name: 'c', projected: { sources: [{ secret: { name: 'proj' } }, { configMap: { name: 'cmproj' } }] } },
    { name: 'd', persistentVolumeClaim: { claimName: 'claim' } },
    { name: 'e', ephemeral: {} },
    { name: 'f', csi: { nodePublishSecretRef: { name: 'csi' } } },
    { name: 'g', iscsi: { secretRef: { name: 'iscsi' } } },
  ],
  resourceClaims: [
    { name: 'x', resourceClaimName: 'rc' },
    { name: 'y', resourceClaimTemplateName: 't' },
  ],
};

const volume = (name: string, spec: JsonObject): KubeObject => ({ metadata: { name }, spec });

function filled(): NodeGraph {
  const graph = new NodeGraph();
  graph.upsertPod(
    pod('p', 'n1', every, { status: { resourceClaimStatuses: [{ name: 'y', resourceClaimName: 'made' }] } }),
  );
  graph.upsertPod(pod('other', 'n2', { volumes: [{ name: 'v', secret: { secretName: 'theirs' } }] }));
  graph.upsertPod({
    ...pod('mirror', 'n1', { volumes: [{ name: 'v', secret: { secretName: 'grab' } }] }),
    metadata: { name: 'mirror', namespace: 'ns', annotations: { 'kubernetes.io/config.mirror': 'x' } },
  });
  graph.upsertPod(pod('waiting', '', { serviceAccountName: 'nobody' }));
  graph.upsertVolume(
    volume('pv', {
      claimRef: { namespace: 'ns', name: 'claim' },
      csi: {
        nodeStageSecretRef: { namespace: 'store', name: 'stage' },
        controllerPublishSecretRef: { namespace: 'store', name: 'control' },
      },
    }),
  );
  graph.upsertVolume(
    volume('pv2', { claimRef: { namespace: 'ns', name: 'unused' }, rbd: { secretRef: { name: 'unused' } } }),
  );
  graph.upsertVolume(
    volume('pv3', { claimRef: { namespace: 'ns', name: 'claim' }, rbd: { secretRef: { name: 'rbd' } } }),
  );
  graph.upsertVolume(volume('free', {}));
  return graph;
}

const unrelated = "no relationship found between node 'n1' and this object";

describe('decisions', () => {
  const select = (node: string): Partial<AuthorizerAttributes> => ({
    fieldSelector: [{ key: 'spec.nodeName', operator: 'In', values: [node] }],
  });
  const named = (name: string, namespace = 'ns'): Partial<AuthorizerAttributes> => ({ name, namespace });
  const yes = ['pull', 'init', 'from', 'debug', 'vol', 'proj', 'csi', 'iscsi', 'rbd'].map(
    (name): readonly [string, AuthorizerAttributes, string] => [
      `secret ${name}`,
      ask('get', 'secrets', named(name)),
      'allow',
    ],
  );
  const cases: readonly (readonly [string, AuthorizerAttributes, string])[] = [
    ...yes,
    ...['cmfrom', 'cmkey', 'cmvol', 'cmproj'].map((name): readonly [string, AuthorizerAttributes, string] => [
      `config map ${name}`,
      ask('watch', 'configmaps', named(name)),
      'allow',
    ]),
    ['secret of a volume in another namespace', ask('get', 'secrets', named('stage', 'store')), 'allow'],
    ['secret for controllers only', ask('get', 'secrets', named('control', 'store')), unrelated],
    ['secret of a volume nobody uses', ask('get', 'secrets', named('unused')), unrelated],
    ["another node's secret", ask('get', 'secrets', named('theirs')), unrelated],
    ['secret of a mirror pod', ask('get', 'secrets', named('grab')), unrelated],
    ['secret of the same name elsewhere', ask('get', 'secrets', named('vol', 'other')), unrelated],
    ['secret, written', ask('update', 'secrets', named('vol')), 'can only read resources of this type'],
    ['secrets, all', ask('list', 'secrets'), 'No Object name found'],
    [
      'secrets of all namespaces',
      ask('list', 'secrets', { namespace: '' }),
      'can only read namespaced object of this type',
    ],
    ['secret, subresource', ask('get', 'secrets', { ...named('vol'), subresource: 'x' }), 'cannot read subresource'],
    ['claim', ask('get', 'persistentvolumeclaims', named('claim')), 'allow'],
    ['claim of an ephemeral volume', ask('get', 'persistentvolumeclaims', named('p-e')), 'allow'],
    [
      'claims, all',
      ask('list', 'persistentvolumeclaims', named('claim')),
      'can only get individual resources of this type',
    ],
    ['claim status', ask('patch', 'persistentvolumeclaims', { ...named('claim'), subresource: 'status' }), 'allow'],
    [
      'claim status, read',
      ask('get', 'persistentvolumeclaims', { ...named('claim'), subresource: 'status' }),
      'can only get/update/patch this type',
    ],
    ['volume', ask('get', 'persistentvolumes', named('pv', '')), 'allow'],
    ['volume nobody uses', ask('get', 'persistentvolumes', named('pv2', '')), unrelated],
    ['volume without a claim', ask('get', 'persistentvolumes', named('free', '')), unrelated],
    ['service account', ask('get', 'serviceaccounts', named('sa')), 'allow'],
    ['token', ask('create', 'serviceaccounts', { ...named('sa'), subresource: 'token' }), 'allow'],
    ["another account's token", ask('create', 'serviceaccounts', { ...named('x'), subresource: 'token' }), unrelated],
    [
      'service account, created',
      ask('create', 'serviceaccounts', named('sa')),
      'can only create token subresource of serviceaccount',
    ],
    ['service accounts, all', ask('list', 'serviceaccounts'), 'can only create tokens for individual service accounts'],
    ['resource claim', ask('get', 'resourceclaims', { ...named('rc'), apiGroup: 'resource.k8s.io' }), 'allow'],
    [
      'resource claim made for the pod',
      ask('get', 'resourceclaims', { ...named('made'), apiGroup: 'resource.k8s.io' }),
      'allow',
    ],
    ['own node', ask('get', 'nodes', named('n1', '')), 'allow'],
    ['other node', ask('get', 'nodes', named('n2', '')), "node 'n1' cannot read 'n2', only its own Node object"],
    ['all nodes', ask('list', 'nodes', { namespace: '' }), "node 'n1' cannot read all nodes, only its own Node object"],
    ['node, created', ask('create', 'nodes', { namespace: '' }), 'allow'],
    ['node, deleted', ask('delete', 'nodes', named('n1', '')), ''],
    ['node status', ask('patch', 'nodes', { ...named('n1', ''), subresource: 'status' }), 'allow'],
    ['node proxy', ask('get', 'nodes', { ...named('n1', ''), subresource: 'proxy' }), ''],
    ['own pod', ask('get', 'pods', named('p')), 'allow'],
    ["another node's pod", ask('get', 'pods', named('other')), unrelated],
    ['own pods', ask('list', 'pods', select('n1')), 'allow'],
    [
      "another node's pods",
      ask('list', 'pods', select('n2')),
      'can only list/watch pods with spec.nodeName field selector',
    ],
    ['all pods', ask('watch', 'pods', { namespace: '' }), 'can only list/watch pods with spec.nodeName field selector'],
    ['one pod, watched', ask('watch', 'pods', named('p')), 'allow'],
    ['pod that is not bound', ask('get', 'pods', named('waiting')), unrelated],
    ['pod status', ask('update', 'pods', { ...named('p'), subresource: 'status' }), 'allow'],
    ['eviction', ask('create', 'pods', { ...named('p'), subresource: 'eviction' }), 'allow'],
    ['pod, updated', ask('update', 'pods', named('p')), ''],
    ['lease', ask('update', 'leases', { ...named('n1', 'kube-node-lease'), apiGroup: 'coordination.k8s.io' }), 'allow'],
    [
      'lease of another node',
      ask('update', 'leases', { ...named('n2', 'kube-node-lease'), apiGroup: 'coordination.k8s.io' }),
      'can only access node lease with the same name as the requesting node',
    ],
    [
      'lease elsewhere',
      ask('get', 'leases', { ...named('n1'), apiGroup: 'coordination.k8s.io' }),
      'can only access leases in the "kube-node-lease" system namespace',
    ],
    [
      'leases, all',
      ask('list', 'leases', { namespace: 'kube-node-lease', apiGroup: 'coordination.k8s.io' }),
      'can only get, create, update, patch, or delete a node lease',
    ],
    ['own CSINode', ask('get', 'csinodes', { ...named('n1', ''), apiGroup: 'storage.k8s.io' }), 'allow'],
    ['slices of the node', ask('list', 'resourceslices', { ...select('n1'), apiGroup: 'resource.k8s.io' }), 'allow'],
    [
      'all slices',
      ask('list', 'resourceslices', { apiGroup: 'resource.k8s.io' }),
      'can only list/watch/deletecollection resourceslices with nodeName field selector',
    ],
    ['services', ask('list', 'services'), 'allow'],
    ['endpoints', ask('get', 'endpoints', named('x')), 'allow'],
    ['events', ask('create', 'events'), 'allow'],
    ['certificate request', ask('create', 'certificatesigningrequests', { apiGroup: 'certificates.k8s.io' }), 'allow'],
    ['token review', ask('create', 'tokenreviews', { apiGroup: 'authentication.k8s.io' }), 'allow'],
    ['access review', ask('create', 'subjectaccessreviews', { apiGroup: 'authorization.k8s.io' }), 'allow'],
    ['something else', ask('get', 'deployments', { apiGroup: 'apps' }), ''],
    ['path', ask('get', '', { resourceRequest: false, path: '/healthz' }), ''],
    ['nameless node', ask('get', 'services', {}, 'system:node:'), 'unknown node for user "system:node:"'],
    ['other user', ask('get', 'services', {}, 'jane'), ''],
    [
      'node that is in no group',
      { ...ask('get', 'services'), user: { name: 'system:node:n1', uid: '', groups: [], extra: {} } },
      '',
    ],
  ];
  const authorizer = new NodeAuthorizer(filled());
  test.each(cases)('%s', (_name, attributes, expected) => {
    const { decision, reason } = authorizer.authorize(attributes);
    expect(decision === 'allow' ? 'allow' : reason).toBe(expected);
  });
});

test('without selectors, nodes may read all nodes and pods, but not list secrets', () => {
  const authorizer = new NodeAuthorizer(filled(), { selectors: false });
  const decide = (attributes: AuthorizerAttributes): string => authorizer.authorize(attributes).decision;
  expect(decide(ask('list', 'pods'))).toBe('allow');
  expect(decide(ask('get', 'nodes', { name: 'n2' }))).toBe('allow');
  expect(decide(ask('list', 'secrets', { namespace: 'ns' }))).toBe('no-opinion');
});

test('changes of pods and volumes take effect immediately', () => {
  const graph = filled();
  const secret = (name: string, namespace = 'ns'): boolean => graph.hasPath('n1', 'secret', namespace, name);
  graph.upsertPod(pod('p2', 'n1', { imagePullSecrets: [{ name: 'pull' }] }));
  graph.deletePod('ns', 'p');
  expect([secret('pull'), secret('vol'), secret('stage', 'store')]).toEqual([true, false, false]);
  graph.deletePod('ns', 'p2');
  expect(secret('pull')).toBe(false);
  graph.upsertPod(pod('p', 'n1', every));
  expect(secret('stage', 'store')).toBe(true);
  graph.upsertVolume(volume('pv', { claimRef: { namespace: 'ns', name: 'unused' } }));
  expect([secret('stage', 'store'), graph.hasPath('n1', 'persistentvolume', '', 'pv')]).toEqual([false, false]);
  graph.upsertPod(pod('p', '', every));
  expect(secret('vol')).toBe(false);
});

test('the rules of nodes cannot be resolved', () => {
  const authorizer = new NodeAuthorizer(new NodeGraph());
  expect(authorizer.rulesFor(ask('get', 'x').user)).toMatchObject({
    incomplete: true,
    error: 'node authorizer does not support user rule resolution',
  });
  expect(authorizer.rulesFor(ask('get', 'x', {}, 'jane').user)).toMatchObject({ incomplete: false, error: '' });
});
