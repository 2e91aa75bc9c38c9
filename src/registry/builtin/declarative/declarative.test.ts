import * as fc from 'fast-check';
import { Registry } from 'prom-client';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { type FieldError, invalid, required } from '../../../apimachinery/meta/field-error.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import type { RequestContext } from '../../../request/context.js';
import { FeatureGates } from '../../../util/feature-gates.js';
import { silentLogger } from '../../../util/logger.js';
import type { ResourceType, Strategy } from '../../rest/interfaces.js';
import { certificateSigningRequests } from '../certificates/certificatesigningrequests/type.js';
import type { EscalationDependencies } from '../rbac/escalation.js';
import { offloadableKinds } from '../../kinds.js';
import { declaredType, type ValidationReport } from './declared-type.js';
import { MARKERS } from './markers.js';
import { declarativeReporter } from './metrics.js';
import { validateDeclaratively } from './validate.js';

const context = {} as RequestContext;
const ROLES = 'roles.rbac.authorization.k8s.io';
const [roles, roleBindings] = typesOf('roles', 'rolebindings');

function typesOf(...names: string[]): [ResourceType, ResourceType] {
  const all = offloadableKinds({} as EscalationDependencies);
  const [a, b] = names.map((name) => all.find(({ resource }) => resource === name));
  if (a === undefined || b === undefined) throw new Error('a type is missing');
  return [a, b];
}

function gatesOf(text: string): FeatureGates {
  const gates = new FeatureGates();
  gates.set(text);
  return gates;
}

/** Returns a type as served with these gates, and the validation reports about it. */
function served(
  type: ResourceType,
  gates = '',
): { strategy: Strategy; type: ResourceType; reports: ValidationReport[] } {
  const reports: ValidationReport[] = [];
  const report = (found: ValidationReport): void => void reports.push(found);
  const declared = declaredType(type, { gates: gatesOf(gates), report });
  return { strategy: declared.strategy, type: declared, reports };
}

const texts = (errors: readonly FieldError[]): string[] => errors.map(String);
const metadata = { name: 'a', namespace: 'b' };
const role = (...rules: JsonObject[]): KubeObject => ({ metadata: { ...metadata }, rules });
const RULE = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const WITHOUT_VERBS = { ...RULE, verbs: [] };

/** Returns a type whose hand-written validation returns these errors. */
const finding = (errors: readonly FieldError[]): ResourceType => ({
  ...roles,
  strategy: { ...roles.strategy, validateCreate: () => errors, validateUpdate: () => errors },
});

test.each([
  ['alpha', '', ['hand']],
  ['beta', '', ['rules[0].verbs']],
  ['beta', 'DeclarativeValidationBeta=false', ['hand']],
  ['beta', 'DeclarativeValidation=false', ['hand']],
  ['alpha', 'DeclarativeValidationTakeover=true', ['rules[0].verbs']],
  ['alpha', 'DeclarativeValidation=false,DeclarativeValidationTakeover=true', ['hand']],
] as const)('a rule of stage %s with gates %j returns the errors of %j', (stage, gates, fields) => {
  const hand = required('rules[0].verbs', 'hand');
  const markers = MARKERS[ROLES]?.map((marker) => ({ ...marker, stage }));
  const { strategy } = declaredType(finding([hand]), { gates: gatesOf(gates), report: () => undefined }, markers);
  const answered = strategy.validateCreate(context, role(WITHOUT_VERBS));
  expect(answered.map((error) => (error === hand ? 'hand' : error.field))).toEqual(fields);
});

test('returns the declarative errors, and errors that no marker covers stay', () => {
  const { strategy, reports } = served(roles);
  expect(texts(strategy.validateCreate(context, role({ ...WITHOUT_VERBS, resources: [] })))).toEqual([
    'rules[0].resources: Required value: resource rules must supply at least one resource',
    'rules[0].verbs: Required value',
  ]);
  expect(reports).toEqual([]);
});

test('without the gate nothing is compared', () => {
  const { strategy, reports } = served(finding([]), 'DeclarativeValidation=false');
  expect(strategy.validateCreate(context, role(WITHOUT_VERBS))).toEqual([]);
  expect(reports).toEqual([]);
});

describe('a mismatch', () => {
  const missing = { kind: 'mismatch', validation: 'role_create', field: 'rules[0].verbs', type: 'FieldValueRequired' };

  test('is an error that hand-written code does not find', () => {
    const { strategy, reports } = served(finding([]), 'DeclarativeValidationBeta=false');
    expect(strategy.validateCreate(context, role(WITHOUT_VERBS))).toEqual([]);
    expect(reports).toEqual([{ ...missing, foundBy: 'declarative' }]);
  });

  test('is an error that markers do not find, reported once', () => {
    const { strategy, reports } = served(
      finding([required('rules[0].verbs'), required('rules[0].verbs', 'again')]),
      'DeclarativeValidationBeta=false',
    );
    expect(strategy.validateUpdate(context, role(RULE), role())).toHaveLength(2);
    expect(reports).toEqual([{ ...missing, validation: 'role_update', foundBy: 'hand-written' }]);
  });

  test('excludes errors that no marker covers', () => {
    const { strategy, reports } = served(finding([required('rules[0].resources'), invalid('rules[0].verbs', '', '')]));
    expect(strategy.validateCreate(context, role(RULE))).toHaveLength(2);
    expect(reports).toEqual([]);
  });
});

test('an exception is reported, and fails the request only if the markers decide', () => {
  const broken = role();
  Object.defineProperty(broken, 'rules', { get: () => fail() });
  const watching = served(finding([]), 'DeclarativeValidationBeta=false');
  expect(watching.strategy.validateCreate(context, broken)).toEqual([]);
  expect(watching.reports).toEqual([{ kind: 'panic', validation: 'role_create', error: 'broken' }]);
  const deciding = served(finding([]));
  expect(texts(deciding.strategy.validateCreate(context, broken))).toEqual([
    '<nil>: Internal error: panic during declarative validation: broken',
  ]);

  function fail(): never {
    throw new Error('broken');
  }
});

test('an update does not validate unchanged values again', () => {
  const markers = MARKERS[ROLES] ?? [];
  const old = role(WITHOUT_VERBS);
  expect(validateDeclaratively(markers, role(WITHOUT_VERBS), old)).toEqual([]);
  expect(texts(validateDeclaratively(markers, role(WITHOUT_VERBS, RULE), old))).toEqual([
    'rules[0].verbs: Required value',
  ]);
});

describe('certificate signing requests', () => {
  const { type, reports } = served(certificateSigningRequests);
  const approval = type.subresources['approval'];
  const request = (...types: string[]): KubeObject => ({
    metadata: { name: 'a' },
    status: { conditions: types.map((name) => ({ type: name, status: 'True' })) },
  });
  const both =
    'status.conditions: Invalid value: "{conditions[{\\"type\\": \\"Approved\\"}], conditions[{\\"type\\": \\"Denied\\"}]}": must specify at most one of: `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`';
  const found = (object: KubeObject, old: KubeObject): string[] =>
    texts(approval?.validateUpdate(context, object, old) ?? []).filter((text) => text.startsWith('status.'));

  test('cannot become both approved and denied', () => {
    expect(found(request('Approved', 'Denied'), request('Approved'))).toEqual([both]);
    expect(found(request('Approved', 'Failed'), request('Approved'))).toEqual([]);
    expect(reports).toEqual([]);
  });

  test('may stay both approved and denied', () => {
    expect(found(request('Approved', 'Denied', 'Failed'), request('Denied', 'Approved'))).toEqual([]);
    expect(reports).toEqual([]);
  });
});

test('both validations agree on random roles and bindings', () => {
  const words = fc.array(fc.constantFrom('', 'a'), { maxLength: 2 });
  const rule = fc.record(
    { verbs: words, apiGroups: words, resources: words, nonResourceURLs: words },
    { requiredKeys: [] },
  );
  const subject = fc.record(
    { kind: fc.constantFrom('User', 'ServiceAccount'), name: fc.constantFrom('', 'a') },
    { requiredKeys: ['kind'] },
  );
  const ref = fc.record({ kind: fc.constant('Role'), name: fc.constantFrom('', 'a') }, { requiredKeys: ['kind'] });
  const some = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(of, { maxLength: 3 });
  const roleOf = fc.record({ rules: some(rule) }, { requiredKeys: [] });
  const bindingOf = fc.record({ subjects: some(subject), roleRef: ref }, { requiredKeys: [] });
  const check = ({ strategy, reports }: ReturnType<typeof served>, object: JsonObject): void => {
    strategy.validateCreate(context, { metadata: { ...metadata }, ...object });
    expect(reports).toEqual([]);
  };
  const [asRole, asBinding] = [served(roles), served(roleBindings)];
  fc.assert(fc.property(roleOf, (object) => check(asRole, object as JsonObject)));
  fc.assert(fc.property(bindingOf, (object) => check(asBinding, object as JsonObject)));
});

test('reports are counted', async () => {
  const registry = new Registry();
  const report = declarativeReporter(registry, silentLogger);
  report({ kind: 'mismatch', validation: 'role_create', field: 'a', type: 'b', foundBy: 'declarative' });
  report({ kind: 'panic', validation: 'role_update', error: 'broken' });
  const shown = (await registry.metrics()).split('\n').filter((line) => !line.startsWith('#') && line !== '');
  expect(shown).toEqual([
    'declarative_validation_mismatch_total 1',
    'apiserver_validation_declarative_validation_mismatch_total 1',
    'apiserver_validation_declarative_validation_parity_discrepancies_total{validation_identifier="role_create"} 1',
    'apiserver_validation_declarative_validation_panic_total 1',
    'apiserver_validation_declarative_validation_panics_total{validation_identifier="role_update"} 1',
  ]);
});
