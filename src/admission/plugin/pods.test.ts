import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { admissionChain } from '../chain.js';
import type { AdmissionAttributes, AdmissionOperation } from '../interfaces.js';
import { storageObjectInUseProtection, taintNodesByCondition } from './nodes-and-volumes.js';
import { defaultTolerationSeconds, podPriority, runtimeClass } from './pods.js';

const chain = admissionChain([
  taintNodesByCondition(),
  podPriority(),
  defaultTolerationSeconds(),
  storageObjectInUseProtection(),
  runtimeClass(),
]);

function admit(
  resource: string,
  object: KubeObject,
  operation: AdmissionOperation = 'CREATE',
  oldObject?: KubeObject,
): KubeObject {
  const attributes = {
    operation,
    object,
    oldObject,
    resource: { group: '', version: 'v1', resource },
    subresource: '',
    name: 'x',
  };
  void chain.admit(attributes as AdmissionAttributes);
  return object;
}

const pod = (spec: JsonObject): KubeObject => ({ metadata: { name: 'x' }, spec });
const specOf = (object: KubeObject): JsonObject => object['spec'] as JsonObject;

describe('priority of pods', () => {
  test.each([
    ['none', {}, 0],
    ['of the cluster', { priorityClassName: 'system-cluster-critical' }, 2_000_000_000],
    ['of nodes', { priorityClassName: 'system-node-critical' }, 2_000_001_000],
    ['the valid one', { priority: 0, preemptionPolicy: 'PreemptLowerPriority' }, 0],
  ])('%s', (_, spec, priority) => {
    expect(specOf(admit('pods', pod({ ...spec })))).toMatchObject({
      priority,
      preemptionPolicy: 'PreemptLowerPriority',
    });
  });
  test.each([
    ['unknown class', { priorityClassName: 'a' }, 'pods "x" is forbidden: no PriorityClass with name a was found'],
    ['number', { priority: 5 }, 'the integer value of priority (5) must not be provided in pod spec'],
    [
      'policy',
      { preemptionPolicy: 'Never' },
      'the string value of PreemptionPolicy (Never) must not be provided in pod spec',
    ],
  ])('refused: %s', (_, spec, message) => {
    expect(() => admit('pods', pod({ ...spec }))).toThrow(message);
  });
  test('an update keeps the priority', () => {
    const old = pod({ priority: 7, preemptionPolicy: 'Never' });
    expect(specOf(admit('pods', pod({}), 'UPDATE', old))).toMatchObject({ priority: 7, preemptionPolicy: 'Never' });
  });
});

test.each([
  [{ runtimeClassName: 'a' }, 'pods "x" is forbidden: pod rejected: RuntimeClass "a" not found'],
  [{ runtimeClassName: '' }, 'resource name may not be empty'],
  [{ overhead: { cpu: '1' } }, 'Pod Overhead set without corresponding RuntimeClass defined Overhead'],
])('there are no runtime classes: %j', (spec, message) => {
  expect(() => admit('pods', pod({ ...spec }))).toThrow(message);
  expect(() => admit('pods', pod({ ...spec }), 'UPDATE', pod({}))).not.toThrow();
});

describe('tolerations of pods', () => {
  const keys = (spec: JsonObject): unknown[] =>
    (specOf(admit('pods', pod(spec)))['tolerations'] as JsonObject[]).map(({ key, tolerationSeconds }) => [
      key,
      tolerationSeconds,
    ]);
  const both = [
    ['node.kubernetes.io/not-ready', 300],
    ['node.kubernetes.io/unreachable', 300],
  ];
  test.each([
    ['none', {}, both],
    ['own', { tolerations: [{ key: 'a' }] }, [['a', undefined], ...both]],
    [
      'of one',
      { tolerations: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute', tolerationSeconds: 1 }] },
      [['node.kubernetes.io/not-ready', 1], both[1]],
    ],
    ['of all', { tolerations: [{ operator: 'Exists' }] }, [[undefined, undefined]]],
    [
      'with another effect',
      { tolerations: [{ operator: 'Exists', effect: 'NoSchedule' }] },
      [[undefined, undefined], ...both],
    ],
  ])('%s', (_, spec, expected) => {
    expect(keys(spec)).toEqual(expected);
  });
});

test.each([
  ['persistentvolumes', 'kubernetes.io/pv-protection'],
  ['persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
])('%s are protected once', (resource, finalizer) => {
  expect(admit(resource, { metadata: {} }).metadata.finalizers).toEqual([finalizer]);
  expect(admit(resource, { metadata: { finalizers: [finalizer] } }).metadata.finalizers).toEqual([finalizer]);
  expect(admit('configmaps', { metadata: {} }).metadata.finalizers).toBeUndefined();
});

test('new nodes are tainted once', () => {
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  expect(specOf(admit('nodes', { metadata: {} }))['taints']).toEqual([taint]);
  expect(specOf(admit('nodes', pod({ taints: [taint] })))['taints']).toEqual([taint]);
});
