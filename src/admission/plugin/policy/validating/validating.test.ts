import { Registry } from 'prom-client';
import type { ApiError } from '../../../../apimachinery/meta/errors.js';
import type { AdmissionAttributes, AdmissionPlugin } from '../../../interfaces.js';
import { validatingPolicyMetrics } from '../metrics.js';
import { FakeClock } from '../../../../../test/fakes/util/clock.js';
import {
  binding,
  clock,
  createOf,
  FakeSource,
  FakeSources,
  policy,
} from '../../../../../test/fakes/admission/policies.js';
import { validatingAdmissionPolicy } from './validating.js';

const sources = new FakeSources();
const registry = new Registry();
const metrics = validatingPolicyMetrics(registry);
const plugin: AdmissionPlugin = validatingAdmissionPolicy({
  sources,
  clock,
  metrics,
  conditionMetrics: undefined,
  authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
});

const POLICY = policy('limit', {
  variables: [{ name: 'size', expression: 'int(object.data.size)' }],
  validations: [
    { expression: 'variables.size < 5', messageExpression: "'size is ' + string(variables.size)", reason: 'Forbidden' },
    { expression: "object.data.?color.orValue('') != 'red'" },
  ],
  auditAnnotations: [{ key: 'size', valueExpression: "'size ' + string(variables.size)" }],
});

const validate = async (attributes: AdmissionAttributes): Promise<void> => plugin.validate?.(attributes);

const refused = (run: Promise<void>): Promise<ApiError> =>
  run.then(
    () => {
      throw new Error('the request was admitted');
    },
    (error: unknown) => error as ApiError,
  );

beforeEach(() => {
  registry.resetMetrics();
  sources.validatingPolicies.set(POLICY);
  sources.validatingPolicyBindings.set(binding('all', 'limit'));
});

test('types that no policy with a binding may match are skipped', () => {
  sources.validatingPolicyBindings.set();
  expect(plugin.validate?.(createOf({ size: '7' }).attributes)).toBeUndefined();
  sources.validatingPolicyBindings.set(binding('all', 'limit'));
  const secrets = createOf({}, { resource: { group: '', version: 'v1', resource: 'secrets' } });
  expect(plugin.validate?.(secrets.attributes)).toBeUndefined();
  expect(plugin.readsObjects?.({ group: '', resource: 'secrets' })).toBe(false);
  expect(plugin.readsObjects?.({ group: '', resource: 'configmaps' })).toBe(true);
});

test.each([
  ['mutatingwebhookconfigurations', 422],
  ['validatingadmissionpolicies', undefined],
  ['mutatingadmissionpolicybindings', undefined],
])('requests for %s are answered with %s', async (resource, code) => {
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }];
  const spec = { matchConstraints: { resourceRules: rules }, validations: [{ expression: 'false' }] };
  sources.validatingPolicies.set(policy('limit', spec));
  const group = 'admissionregistration.k8s.io';
  const { attributes } = createOf({}, { resource: { group, version: 'v1', resource } });
  const answer = validate(attributes).catch((error: unknown) => (error as ApiError).code);
  expect(await answer).toBe(code);
});

test('the first denial is the response, with the reason of its validation', async () => {
  const { attributes, annotations } = createOf({ size: '7', color: 'red' });
  const error = await refused(validate(attributes));
  const text = "ValidatingAdmissionPolicy 'limit' with binding 'all' denied request: size is 7";
  expect([error.code, error.reason, error.message]).toEqual([
    403,
    'Forbidden',
    `configmaps "settings" is forbidden: ${text}`,
  ]);
  expect(error.details?.causes).toEqual([{ message: text }]);
  expect(annotations).toEqual({ 'limit/size': 'size 7' });
  expect(await registry.metrics()).toContain(
    'apiserver_validating_admission_policy_check_total{policy="limit",policy_binding="all",error_type="invalid_error",enforcement_action="deny"} 2',
  );
});

test('a policy that needs no asynchronous work returns no promise', () => {
  const { attributes, annotations } = createOf({ size: '3' });
  expect(plugin.validate?.(attributes)).toBeUndefined();
  expect(annotations).toEqual({ 'limit/size': 'size 3' });
});

test('bindings can warn and audit instead of deny', async () => {
  sources.validatingPolicyBindings.set(binding('soft', 'limit', { validationActions: ['Warn', 'Audit'] }));
  const { attributes, warnings, annotations } = createOf({ size: '7' });
  await validate(attributes);
  expect(warnings).toEqual(["Validation failed for ValidatingAdmissionPolicy 'limit' with binding 'soft': size is 7"]);
  expect(annotations['validation.policy.admission.k8s.io/validation_failure']).toBe(
    '[{"message":"size is 7","policy":"limit","binding":"soft","expressionIndex":0,"validationActions":["Warn","Audit"]}]',
  );
});

test('the failure policy applies if an expression fails', async () => {
  const error = await refused(validate(createOf({}).attributes));
  expect(error.message).toContain('composited variable "size" fails to evaluate: no such key: size');
  expect(error.code).toBe(422);
  sources.validatingPolicies.set({ ...POLICY, spec: { ...(POLICY['spec'] as object), failurePolicy: 'Ignore' } });
  await validate(createOf({}).attributes);
});

test('params come from the binding, and an informer for their kind is kept', async () => {
  sources.configMaps.set('ns/limits', { metadata: { name: 'limits', namespace: 'ns' }, data: { max: '3' } });
  sources.validatingPolicies.set(
    policy('max', {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      validations: [
        { expression: 'int(object.data.size) <= int(params.data.max)', messageExpression: 'string(params.kind)' },
      ],
    }),
  );
  const paramRef = { name: 'limits', parameterNotFoundAction: 'Deny' };
  sources.validatingPolicyBindings.set(binding('all', 'max', { paramRef }));
  expect(sources.retained.at(-1)).toEqual(['ConfigMap']);
  await validate(createOf({ size: '3' }).attributes);
  expect((await refused(validate(createOf({ size: '4' }).attributes))).message).toMatch(/: ConfigMap$/);
  sources.configMaps.clear();
  expect((await refused(validate(createOf({ size: '1' }).attributes))).message).toMatch(
    /failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction$/,
  );
});

test('a policy whose paramKind does not exist denies the requests that it matches', async () => {
  sources.validatingPolicies.set(
    policy('gone', {
      paramKind: { apiVersion: 'example.com/v1', kind: 'Gone' },
      validations: [{ expression: 'true' }],
    }),
  );
  sources.validatingPolicyBindings.set(binding('all', 'gone'));
  expect((await refused(validate(createOf({}).attributes))).message).toMatch(
    /ValidatingAdmissionPolicy 'gone' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com\/v1, Kind=Gone'$/,
  );
});

test('policies do not match their own configuration', () => {
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }];
  sources.validatingPolicies.set(
    policy('limit', { matchConstraints: { resourceRules: rules }, validations: [{ expression: 'false' }] }),
  );
  const group = 'admissionregistration.k8s.io';
  const { attributes } = createOf(
    {},
    {
      kind: { group, version: 'v1', kind: 'ValidatingAdmissionPolicy' },
      resource: { group, version: 'v1', resource: 'validatingadmissionpolicies' },
    },
  );
  expect(plugin.validate?.(attributes)).toBeUndefined();
});

test('the expressions of a policy share its cost budget', async () => {
  const dear = 'authorizer.path("/a").check("get").allowed()';
  const spend = (count: number): void => {
    const validations = Array.from({ length: count }, () => ({ expression: dear, message: 'm' }));
    sources.validatingPolicies.set(policy('limit', { validations }));
  };
  spend(28);
  await validate(createOf({}).attributes);
  spend(29);
  expect((await refused(validate(createOf({}).attributes))).message).toMatch(
    /denied request: validation failed due to running out of cost budget, no further validation rules will be run$/,
  );
});

test('a request waits for the list of policies, up to a limit', async () => {
  class Unlisted extends FakeSources {
    override readonly validatingPolicies = Object.assign(new FakeSource(), {
      synced: () => false,
      whenSynced: () => new Promise<void>(() => undefined),
    });
  }
  const waiting = new FakeClock();
  const late = validatingAdmissionPolicy({
    sources: new Unlisted(),
    clock: waiting,
    metrics: validatingPolicyMetrics(new Registry()),
    conditionMetrics: undefined,
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
  });
  const answer = refused(Promise.resolve(late.validate?.(createOf({}).attributes)));
  waiting.advance(10_000);
  expect((await answer).message).toBe('configmaps "settings" is forbidden: not yet ready to handle request');
});

test('policies from files come first, apply to policies, and have bindings of their own', async () => {
  const files = { validatingPolicies: new FakeSource(), validatingPolicyBindings: new FakeSource() };
  const withFiles = validatingAdmissionPolicy({
    sources,
    files,
    clock,
    metrics,
    conditionMetrics: undefined,
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
  });
  const group = 'admissionregistration.k8s.io';
  const rules = [{ apiGroups: ['', group], apiVersions: ['*'], operations: ['*'], resources: ['*'] }];
  const spec = { matchConstraints: { resourceRules: rules }, validations: [{ expression: 'false', message: 'no' }] };
  const refusal = async (resource: string, of: string): Promise<string | undefined> => {
    const { attributes } = createOf({}, { resource: { group: of, version: 'v1', resource } });
    const run = async (): Promise<void> => withFiles.validate?.(attributes);
    return run().then(
      () => undefined,
      (error: unknown) => (error as ApiError).message,
    );
  };
  sources.validatingPolicies.set(policy('api', spec));
  sources.validatingPolicyBindings.set(binding('api', 'api'), binding('other', 'file'));
  files.validatingPolicies.set(policy('file', spec));
  expect(await refusal('configmaps', '')).toContain("'api' with binding 'api'");
  files.validatingPolicyBindings.set(binding('file', 'file'));
  expect(await refusal('configmaps', '')).toContain("'file' with binding 'file'");
  expect(await refusal('validatingadmissionpolicies', group)).toContain("'file' with binding 'file'");
});
