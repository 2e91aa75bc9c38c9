import { Registry } from 'prom-client';
import type { ApiError } from '../../../../apimachinery/meta/errors.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { admissionChain } from '../../../chain.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../../interfaces.js';
import { mutatingPolicyMetrics } from '../metrics.js';
import { mutatingAdmissionPolicy } from './mutating.js';
import { binding, clock, createOf, FakeSources, policy, RULES } from '../../../../../test/fakes/admission/policies.js';

const sources = new FakeSources();
const registry = new Registry();
const plugin: AdmissionPlugin = mutatingAdmissionPolicy({
  sources,
  clock,
  metrics: mutatingPolicyMetrics(registry),
  conditionMetrics: undefined,
  authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
});

const patch = (expression: string): JsonObject => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
const apply = (expression: string): JsonObject => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});

function use(...policies: readonly (readonly [name: string, spec: JsonObject])[]): void {
  sources.mutatingPolicies.set(...policies.map(([name, spec]) => policy(name, spec)));
  sources.mutatingPolicyBindings.set(...policies.map(([name]) => binding(name, name)));
}

async function mutated(data: JsonObject, ...others: AdmissionPlugin[]): Promise<JsonObject> {
  const { attributes } = createOf(data);
  await admissionChain([plugin, ...others]).admit(attributes);
  return attributes.object?.['data'] as JsonObject;
}

test('patches and apply configurations are applied in order', async () => {
  use(
    [
      'a',
      {
        mutations: [
          apply("Object{data: Object.data{n: '1'}}"),
          patch("[JSONPatch{op: 'add', path: '/data/m', value: object.data.n + '0'}]"),
        ],
      },
    ],
    [
      'b',
      { mutations: [patch("[JSONPatch{op: 'move', from: '/data/m', path: '/data/' + jsonpatch.escapeKey('x/y')}]")] },
    ],
  );
  expect(await mutated({ was: 'there' })).toEqual({ was: 'there', n: '1', 'x/y': '10' });
});

test('a failed test operation leaves the object unchanged', async () => {
  use([
    'a',
    {
      mutations: [
        patch(
          "[JSONPatch{op: 'add', path: '/data/n', value: '1'}, JSONPatch{op: 'test', path: '/data/n', value: '2'}]",
        ),
      ],
    },
  ]);
  expect(await mutated({})).toEqual({});
});

test('policies with reinvocationPolicy IfNeeded run again after later changes, once', async () => {
  const count = "[JSONPatch{op: 'add', path: '/data/n', value: object.data.?n.orValue('') + 'x'}]";
  const rename: AdmissionPlugin = {
    name: 'Rename',
    handles: () => true,
    admit: ({ object }) => {
      (object?.['data'] as JsonObject)['seen'] = 'yes';
    },
  };
  use(['a', { mutations: [patch(count)], reinvocationPolicy: 'IfNeeded' }]);
  expect(await mutated({}, rename)).toEqual({ n: 'xx', seen: 'yes' });
  use(['a', { mutations: [patch(count)], reinvocationPolicy: 'Never' }]);
  expect(await mutated({}, rename)).toEqual({ n: 'x', seen: 'yes' });
});

test('a failed mutation refuses the request, unless the failure policy is Ignore', async () => {
  const mutations = [patch("[JSONPatch{op: 'remove', path: '/data/nosuch'}]")];
  use(['a', { mutations }]);
  const error = await mutated({}).then(
    () => undefined,
    (thrown: unknown) => thrown as ApiError,
  );
  const text =
    "policy 'a' with binding 'a' denied request: JSON Patch: error in remove for path: '/data/nosuch': Unable to remove nonexistent key: nosuch: missing value";
  expect([error?.code, error?.reason, error?.message]).toEqual([403, 'Invalid', text]);
  expect(await registry.metrics()).toContain(
    'apiserver_mutating_admission_policy_check_total{policy="a",policy_binding="a",error_type="invalid_error"} 1',
  );
  use(['a', { mutations, failurePolicy: 'Ignore' }]);
  expect(await mutated({ n: '1' })).toEqual({ n: '1' });
});

test('fields of object literals can be selected', async () => {
  const literal = "Object.data{was: 'a', list: ['x'] + Object.data{list: ['y']}.list}";
  use(['a', { mutations: [apply(`Object{data: Object.data{n: ${literal}.was + ${literal}.list[1]}}`)] }]);
  expect(await mutated({})).toEqual({ n: 'ay' });
  use([
    'a',
    { mutations: [apply(`Object{data: Object.data{n: string(has(${literal}.was)) + string(has(${literal}.no))}}`)] },
  ]);
  expect(await mutated({})).toEqual({ n: 'truefalse' });
});

test('object literals must have the type of their field', async () => {
  use(['a', { mutations: [apply('Object{data: Object.other{n: "1"}}')] }]);
  await expect(mutated({})).rejects.toThrow(
    'type mismatch: unexpected type name "Object.other", expected "Object.data"',
  );
});

test('objects that kube-apiserver cannot convert back to the request kind are refused', async () => {
  const resourceRules = [{ ...RULES[0], resources: ['configmaps', 'configmaps/scale'] }];
  const refusal = async (given: Parameters<typeof createOf>[1], mutation: JsonObject): Promise<string> => {
    use(['a', { mutations: [mutation], matchConstraints: { matchPolicy: 'Equivalent', resourceRules } }]);
    const { attributes } = createOf({}, given);
    return Promise.resolve(plugin.admit?.(attributes)).then(
      () => 'admitted',
      (error: unknown) => (error as ApiError).message,
    );
  };
  const scale = {
    subresource: 'scale',
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    object: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' } },
  };
  const noType = { ...createOf({}).attributes.versions, mergeType: () => undefined } as AdmissionAttributes['versions'];
  expect(
    await refusal({ ...scale, versions: noType }, patch("[JSONPatch{op: 'test', path: '/x', value: 1}]")),
  ).toContain('denied request: request to convert CR to an invalid group/version: autoscaling/v1');
  expect(await refusal({ ...scale, versions: noType }, apply('Object{}'))).toContain(
    'failed to convert patch object to typed object: no corresponding type for autoscaling/v1, Kind=Scale',
  );
  const event = { group: 'events.k8s.io', version: 'v1', kind: 'Event' };
  const twin = { resource: { group: '', version: 'v1', resource: 'configmaps' }, kind: { ...event, group: '' } };
  const versions = { ...createOf({}).attributes.versions, equivalents: [twin] } as AdmissionAttributes['versions'];
  const resource = { group: 'events.k8s.io', version: 'v1', resource: 'configmaps' };
  expect(
    await refusal({ kind: event, resource, versions }, patch("[JSONPatch{op: 'test', path: '/x', value: 1}]")),
  ).toContain('v1.Event is not suitable for converting to "events.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"');
});
