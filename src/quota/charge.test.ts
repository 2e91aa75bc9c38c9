import type { JsonObject } from '../apimachinery/json/json.js';
import type { KubeObject } from '../apimachinery/meta/meta.js';
import { charge } from './charge.js';
import type { Evaluator, QuotaChange } from './evaluator.js';
import { evaluatorOf } from './evaluators.js';
import { type Quota, quotaOf } from './quota.js';
import { toJson } from './resource-list.js';

const quota = (hard: JsonObject, used: JsonObject, spec: JsonObject = {}): Quota =>
  quotaOf({ metadata: { name: 'q' }, spec, status: { hard, used } });

const evaluator = (resource: string): Evaluator => evaluatorOf({ group: '', resource }) as Evaluator;

const create = (object: KubeObject): QuotaChange => ({
  operation: 'CREATE',
  subresource: '',
  object,
  oldObject: undefined,
});
const update = (object: KubeObject, oldObject: KubeObject): QuotaChange => ({
  operation: 'UPDATE',
  subresource: '',
  object,
  oldObject: { ...oldObject, metadata: { ...oldObject.metadata, resourceVersion: '1' } },
});

function outcome(resource: string, change: QuotaChange, ...quotas: Quota[]): string | JsonObject[] {
  const result = charge(quotas, change, evaluator(resource), 0);
  return 'refused' in result ? result.refused : result.quotas.map(({ used }) => toJson(used));
}

const map: KubeObject = { metadata: { name: 'm' } };
const service = (type: string, ports: number): KubeObject => ({
  metadata: { name: 's' },
  spec: { type, ports: Array.from({ length: ports }, (_, i) => ({ port: i + 1 })) },
});

test('a quota that does not limit the type is returned unchanged, as the same object', () => {
  const quotas = [quota({ secrets: '1' }, {})];
  expect(charge(quotas, create(map), evaluator('configmaps'), 0)).toEqual({ quotas });
});

test('all quotas are charged, or none', () => {
  const wide = quota({ configmaps: '5', pods: '1' }, { configmaps: '1', pods: '1' });
  expect(
    outcome('configmaps', create(map), wide, quota({ 'count/configmaps': '1' }, { 'count/configmaps': '0' })),
  ).toEqual([{ configmaps: '2', pods: '1' }, { 'count/configmaps': '1' }]);
  expect(outcome('configmaps', create(map), wide, quota({ configmaps: '1' }, { configmaps: '1' }))).toBe(
    'exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1',
  );
});

test('a quota without known usage refuses the request', () => {
  expect(
    outcome('configmaps', create(map), quota({ configmaps: '1', 'count/configmaps': '1' }, { configmaps: '0' })),
  ).toBe('status unknown for quota: q, resources: configmaps,count/configmaps');
});

test('an update is charged the difference, but never less than zero', () => {
  const limits = quota({ 'services.nodeports': '3' }, { 'services.nodeports': '1' });
  expect(outcome('services', update(service('NodePort', 3), service('NodePort', 1)), limits)).toEqual([
    { 'services.nodeports': '3' },
  ]);
  expect(outcome('services', update(service('NodePort', 5), service('NodePort', 1)), limits)).toBe(
    'exceeded quota: q, requested: services.nodeports=4, used: services.nodeports=1, limited: services.nodeports=3',
  );
  expect(outcome('services', update(service('ClusterIP', 1), service('NodePort', 1)), limits)).toEqual([
    { 'services.nodeports': '1' },
  ]);
});

test('allows a request that does not add to a usage over the limit', () => {
  const full = quota({ services: '1', 'services.nodeports': '0' }, { services: '0', 'services.nodeports': '4' });
  expect(outcome('services', create(service('ClusterIP', 1)), full)).toEqual([
    { services: '1', 'services.nodeports': '4' },
  ]);
});

test('a status may exceed the quota', () => {
  const claim = (storage: string): KubeObject => ({
    metadata: { name: 'c', resourceVersion: '1' },
    spec: { resources: { requests: { storage: '1Gi' } } },
    status: { allocatedResources: { storage } },
  });
  const change = { ...update(claim('4Gi'), claim('1Gi')), subresource: 'status' };
  const limits = quota({ 'requests.storage': '2Gi' }, { 'requests.storage': '1Gi' });
  expect(evaluator('persistentvolumeclaims').handles(change)).toBe(true);
  expect(outcome('persistentvolumeclaims', change, limits)).toEqual([{ 'requests.storage': '4Gi' }]);
});

describe('pods', () => {
  const pod = (spec: JsonObject, status: JsonObject = {}): KubeObject => ({ metadata: { name: 'p' }, spec, status });
  const usage = (object: KubeObject, now = 0): JsonObject => toJson(evaluator('pods').usage(object, now));
  const needs = (requests: JsonObject, limits: JsonObject = {}): JsonObject => ({ resources: { requests, limits } });

  test('huge pages and devices', () => {
    const container = needs({ 'hugepages-2Mi': '4Mi', 'a.b/c': '2', cpu: '1' }, { memory: '1Gi' });
    expect(usage(pod({ containers: [container] }))).toEqual({
      'count/pods': '1',
      pods: '1',
      cpu: '1',
      'requests.cpu': '1',
      'limits.memory': '1Gi',
      'hugepages-2Mi': '4Mi',
      'requests.hugepages-2Mi': '4Mi',
      'requests.a.b/c': '2',
    });
  });

  test('overhead counts, toward limits only if a limit is set', () => {
    const spec = { containers: [needs({}, { cpu: '1' })], overhead: { cpu: '100m', memory: '1Mi' } };
    expect(usage(pod(spec))).toEqual({
      'count/pods': '1',
      pods: '1',
      cpu: '100m',
      'requests.cpu': '100m',
      memory: '1Mi',
      'requests.memory': '1Mi',
      'limits.cpu': '1100m',
    });
  });

  test('while a container is resized, the maximum of its actual and desired resources counts', () => {
    const spec = { containers: [{ name: 'a', ...needs({ cpu: '1' }) }] };
    const has = { containerStatuses: [{ name: 'a', ...needs({ cpu: '2' }), allocatedResources: { cpu: '3' } }] };
    expect(usage(pod(spec, has))).toMatchObject({ cpu: '3' });
    const wants = { containers: [{ name: 'a', ...needs({ cpu: '5' }) }] };
    expect(usage(pod(wants, has))).toMatchObject({ cpu: '5' });
    const cannot = { ...has, conditions: [{ type: 'PodResizePending', reason: 'Infeasible' }] };
    expect(usage(pod(wants, cannot))).toMatchObject({ cpu: '3' });
  });

  test('a terminated or overdue pod counts only as an object', () => {
    expect(usage(pod({ containers: [needs({ cpu: '1' })] }, { phase: 'Failed' }))).toEqual({ 'count/pods': '1' });
    const deleted: KubeObject = {
      metadata: { name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 },
      spec: {},
    };
    const at = Date.parse('2026-01-01T00:00:00Z');
    expect(usage(deleted, at + 30_000)).toEqual({ 'count/pods': '1', pods: '1' });
    expect(usage(deleted, at + 30_001)).toEqual({ 'count/pods': '1' });
  });

  test.each<[string, JsonObject, boolean]>([
    ['BestEffort', { containers: [{}] }, true],
    ['BestEffort', { containers: [needs({ cpu: '1' })] }, false],
    ['NotBestEffort', { containers: [{}], resources: { limits: { memory: '1Mi' } } }, true],
    ['Terminating', { activeDeadlineSeconds: 0 }, true],
    ['NotTerminating', { activeDeadlineSeconds: 0 }, false],
    ['PriorityClass', { priorityClassName: 'a' }, true],
    ['PriorityClass', {}, false],
    ['VolumeAttributesClass', {}, false],
  ])('scope %s of %j: %s', (scopeName, spec, expected) => {
    const requirement = { scopeName, operator: 'Exists', values: [] };
    expect(evaluator('pods').matchesScope(requirement, pod(spec))).toBe(expected);
  });

  test.each([
    ['In', ['a', 'b'], 'a', true],
    ['In', ['b'], 'a', false],
    ['In', ['b'], '', false],
    ['NotIn', ['b'], 'a', true],
    ['NotIn', ['b'], '', true],
    ['DoesNotExist', [], '', true],
    ['DoesNotExist', [], 'a', false],
    ['Other', [], 'a', false],
  ])('class %s %j of %j: %s', (operator, values, priorityClassName, expected) => {
    const requirement = { scopeName: 'PriorityClass', operator, values };
    expect(evaluator('pods').matchesScope(requirement, pod({ priorityClassName }))).toBe(expected);
  });
});

test('events and reviews are never counted', () => {
  expect(evaluatorOf({ group: '', resource: 'events' })).toBeUndefined();
  expect(evaluatorOf({ group: 'events.k8s.io', resource: 'events' })).toBeUndefined();
  expect(evaluatorOf({ group: 'authorization.k8s.io', resource: 'localsubjectaccessreviews' })).toBeUndefined();
});

test('every other type is counted by resource and group', () => {
  const widgets = evaluatorOf({ group: 'example.com', resource: 'widgets' });
  expect(widgets?.matchesResource('count/widgets.example.com')).toBe(true);
  expect(widgets?.matchesResource('count/widgets')).toBe(false);
});
