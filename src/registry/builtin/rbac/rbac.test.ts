import { readFileSync } from 'node:fs';
import { aggregate } from '../../../apimachinery/meta/field-error.js';
import { ApiError } from '../../../apimachinery/meta/errors.js';
import type { JsonObject, JsonValue } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { RbacIndex } from '../../../authorization/rbac/rbac-index.js';
import type { RequestContext } from '../../../request/context.js';
import type { Strategy } from '../../rest/interfaces.js';
import { aggregatedRules, sameRules } from './aggregation.js';
import { parseRbacDefaults } from './bootstrap.js';
import { uncovered } from './covers.js';
import { checkBindingEscalation, checkRoleEscalation } from './escalation.js';
import { reconcileBinding, reconcileRole } from './reconcile.js';
import { clusterRoleBindingStrategy, clusterRoleStrategy, roleBindingStrategy, roleStrategy } from './types.js';
import { NEVER_ABORTED } from '../../../util/never-aborted.js';

const GROUP = 'rbac.authorization.k8s.io';

function context(
  user: string,
  groups: readonly string[],
  resource: string,
  namespace: string,
  name = '',
): RequestContext {
  return {
    info: {
      isResourceRequest: true,
      path: '',
      verb: 'create',
      apiPrefix: 'apis',
      apiGroup: GROUP,
      apiVersion: 'v1',
      namespace,
      resource,
      subresource: '',
      name,
      parts: [],
      fieldSelector: '',
      labelSelector: '',
    },
    user: { name: user, uid: '', groups, extra: {} },
    userAgent: '',
    auditId: '',
    signal: NEVER_ABORTED,
    cancellation: NEVER_ABORTED,
    receivedAt: 0,
    warn: () => undefined,
    annotate: () => undefined,
    dryRun: false,
  };
}

const someone = context('u', [], 'roles', 'ns');
const namespaced = { name: 'x', namespace: 'ns' };
const role = (...rules: JsonObject[]): KubeObject => ({ metadata: { ...namespaced }, rules });
const clusterRole = (more: JsonObject): KubeObject => ({ metadata: { name: 'x' }, ...more });
const binding = (kind: string, name: string, ...subjects: JsonObject[]): KubeObject => ({
  metadata: { ...namespaced },
  roleRef: { kind, name },
  subjects,
});
const clusterBinding = (kind: string, name: string, ...subjects: JsonObject[]): KubeObject => ({
  ...binding(kind, name, ...subjects),
  metadata: { name: 'x' },
});

describe('validation', () => {
  const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
  const label =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const cases: readonly (readonly [string, Strategy, KubeObject, string])[] = [
    ['role', roleStrategy, role(pods), ''],
    [
      'no verbs',
      roleStrategy,
      role({ apiGroups: [''], resources: ['p'] }),
      'rules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'verbs only',
      roleStrategy,
      role(pods, { verbs: ['get'] }),
      '[rules[1].apiGroups: Required value: resource rules must supply at least one api group, rules[1].resources: Required value: resource rules must supply at least one resource]',
    ],
    [
      'paths in a role',
      roleStrategy,
      role({ nonResourceURLs: ['/x'], verbs: ['get'] }),
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ],
    [
      'paths in a cluster role',
      clusterRoleStrategy,
      clusterRole({ rules: [{ nonResourceURLs: ['nope'], verbs: ['get'] }] }),
      '',
    ],
    [
      'paths and resources',
      clusterRoleStrategy,
      clusterRole({ rules: [{ nonResourceURLs: ['/x', '<y>'], apiGroups: ['a'] }] }),
      '[rules[0].verbs: Required value: verbs must contain at least one value, rules[0].nonResourceURLs: Invalid value: ["/x","\\u003cy\\u003e"]: rules cannot apply to both regular resources and non-resource URLs]',
    ],
    [
      'name with a slash',
      clusterRoleStrategy,
      { metadata: { name: 'a/b' }, rules: null },
      'metadata.name: Invalid value: "a/b": may not contain \'/\'',
    ],
    ['name with colons', clusterRoleStrategy, { metadata: { name: 'system:Foo Bar' }, rules: null }, ''],
    [
      'name is dots',
      clusterRoleStrategy,
      { metadata: { name: '..' } },
      'metadata.name: Invalid value: "..": may not be \'..\'',
    ],
    [
      'generateName is dots',
      clusterRoleStrategy,
      { metadata: { name: '..a', generateName: '..' } },
      'metadata.generateName: Invalid value: "..": may not be \'..\'',
    ],
    [
      'aggregation',
      clusterRoleStrategy,
      clusterRole({ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }, {}] } }),
      '',
    ],
    [
      'aggregation without selectors',
      clusterRoleStrategy,
      clusterRole({ aggregationRule: {} }),
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ],
    [
      'aggregation with a bad selector',
      clusterRoleStrategy,
      clusterRole({ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'a b': 'c' } }] } }),
      `[aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "a b": ${label}, aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.]`,
    ],
    [
      'binding',
      roleBindingStrategy,
      binding(
        'Role',
        'r',
        { kind: 'User', name: 'u' },
        { kind: 'Group', name: 'g' },
        { kind: 'ServiceAccount', name: 's' },
      ),
      '',
    ],
    [
      'binding without subjects',
      roleBindingStrategy,
      { metadata: namespaced, roleRef: { kind: 'ClusterRole', name: 'r' } },
      '',
    ],
    [
      'other kind',
      roleBindingStrategy,
      binding('Bogus', 'r'),
      'roleRef.kind: Unsupported value: "Bogus": supported values: "Role", "ClusterRole"',
    ],
    ['no role name', roleBindingStrategy, binding('Role', ''), 'roleRef.name: Required value'],
    [
      'role name with a slash',
      roleBindingStrategy,
      binding('Role', 'a/b'),
      'roleRef.name: Invalid value: "a/b": may not contain \'/\'',
    ],
    [
      'other group',
      roleBindingStrategy,
      { metadata: namespaced, roleRef: { apiGroup: 'other', kind: 'Role', name: 'r' } },
      `roleRef.apiGroup: Unsupported value: "other": supported values: "${GROUP}"`,
    ],
    [
      'no roleRef',
      clusterRoleBindingStrategy,
      { metadata: { name: 'x' } },
      '[roleRef.kind: Unsupported value: "": supported values: "ClusterRole", roleRef.name: Required value]',
    ],
    [
      'cluster binding to a role',
      clusterRoleBindingStrategy,
      clusterBinding('Role', 'r'),
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ],
    [
      'subject of another kind',
      roleBindingStrategy,
      binding('Role', 'r', { kind: 'Robot', name: 'u' }),
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ],
    [
      'subject without a name',
      roleBindingStrategy,
      binding('Role', 'r', { kind: 'User', name: '' }),
      'subjects[0].name: Required value',
    ],
    [
      'subject of another group',
      roleBindingStrategy,
      binding('Role', 'r', { kind: 'User', name: 'u', apiGroup: 'other' }),
      `subjects[0].apiGroup: Unsupported value: "other": supported values: "${GROUP}"`,
    ],
    [
      'service account with a bad name',
      roleBindingStrategy,
      binding('Role', 'r', { kind: 'ServiceAccount', name: 'Bad_Name' }),
      "subjects[0].name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      'service account in a cluster binding',
      clusterRoleBindingStrategy,
      clusterBinding('ClusterRole', 'r', { kind: 'ServiceAccount', name: 's', apiGroup: 'y' }),
      '[subjects[0].apiGroup: Unsupported value: "y": supported values: "", subjects[0].namespace: Required value]',
    ],
  ];
  test.each(cases)('%s', (_name, strategy, object, expected) => {
    strategy.prepareForCreate?.(someone, object);
    const errors = strategy.validateCreate(someone, object);
    expect(errors.length === 0 ? '' : aggregate(errors)).toBe(expected);
  });

  test('sets the defaults of a binding', () => {
    const object = binding('Role', 'r', { kind: 'User', name: 'u' }, { kind: 'ServiceAccount', name: 's' });
    roleBindingStrategy.prepareForCreate?.(someone, object);
    expect(object).toMatchObject({
      roleRef: { apiGroup: GROUP },
      subjects: [
        { kind: 'User', apiGroup: GROUP },
        { kind: 'ServiceAccount', name: 's' },
      ],
    });
    expect((object['subjects'] as JsonObject[])[1]).not.toHaveProperty('apiGroup');
  });

  test('the role reference is immutable, subjects are not', () => {
    const stored = {
      ...binding('Role', 'r', { kind: 'User', name: 'u' }),
      metadata: { ...namespaced, resourceVersion: '1' },
    };
    roleBindingStrategy.prepareForCreate?.(someone, stored);
    const update = (kind: string, name: string): string => {
      const object = { ...binding(kind, name, { kind: 'User', name: 'w' }), metadata: { ...stored.metadata } };
      roleBindingStrategy.prepareForUpdate?.(someone, object, stored);
      const errors = roleBindingStrategy.validateUpdate(someone, object, stored);
      return errors.length === 0 ? '' : aggregate(errors);
    };
    expect(update('Role', 'r')).toBe('');
    expect(update('ClusterRole', 'view')).toBe(
      `roleRef: Invalid value: {"APIGroup":"${GROUP}","Kind":"ClusterRole","Name":"view"}: field is immutable`,
    );
  });
});

describe('escalation', () => {
  const index = new RbacIndex();
  const grant = (name: string, user: string, ...rules: JsonObject[]): void => {
    index.upsert('Role', { metadata: { name, namespace: 'ns' }, rules });
    index.upsert('RoleBinding', {
      metadata: { name, namespace: 'ns' },
      roleRef: { kind: 'Role', name },
      subjects: [{ kind: 'User', name: user }],
    });
  };
  const rbac = { apiGroups: [GROUP] };
  grant('pods', 'joe', { apiGroups: [''], resources: ['pods', '*/scale'], verbs: ['get', 'list'] });
  grant('escalate', 'eve', { ...rbac, resources: ['roles'], verbs: ['escalate'] });
  grant('bind', 'bob', { ...rbac, resources: ['clusterroles'], resourceNames: ['c'], verbs: ['bind'] });
  grant('dangling', 'dan', { apiGroups: ['x'], resources: ['y'], verbs: ['get'] });
  index.upsert('RoleBinding', {
    metadata: { name: 'd2', namespace: 'ns' },
    roleRef: { kind: 'Role', name: 'nope' },
    subjects: [{ kind: 'User', name: 'dan' }],
  });
  index.upsert('RoleBinding', {
    metadata: { name: 'd3', namespace: 'ns' },
    roleRef: { kind: 'ClusterRole', name: 'nope2' },
    subjects: [{ kind: 'User', name: 'dan' }],
  });
  index.upsert('ClusterRole', {
    metadata: { name: 'c' },
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ],
  });
  index.upsert('ClusterRole', {
    metadata: { name: 'p' },
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  });
  index.upsert('ClusterRoleBinding', {
    metadata: { name: 'root' },
    roleRef: { kind: 'ClusterRole', name: 'c' },
    subjects: [{ kind: 'User', name: 'root' }],
  });
  const dependencies = { authorizer: index, rules: index };

  const outcome = async (run: Promise<void>): Promise<string> => {
    try {
      await run;
      return '';
    } catch (error) {
      if (error instanceof ApiError) return `${error.code} ${error.message}`;
      throw error;
    }
  };
  const held = (text: string): string =>
    ` is forbidden: user "joe" (groups=["g" "h"]) is attempting to grant RBAC permissions not currently held:\n${text}`;

  const roles: readonly (readonly [string, string, KubeObject, string])[] = [
    [
      'all held',
      'joe',
      role({ apiGroups: [''], resources: ['pods'], verbs: ['list', 'get'], resourceNames: ['a'] }),
      '',
    ],
    ['subresource held by a wildcard', 'joe', role({ apiGroups: [''], resources: ['x/scale'], verbs: ['get'] }), ''],
    [
      'one verb more',
      'joe',
      role({ apiGroups: [''], resources: ['pods'], verbs: ['list', 'delete'] }),
      `403 roles.${GROUP} "x"${held('{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}')}`,
    ],
    [
      'sorted, joined by resource and name',
      'joe',
      role(
        { apiGroups: ['', 'b'], resources: ['nodes'], verbs: ['get', 'list'] },
        { apiGroups: [''], resources: ['secrets'], resourceNames: ['b', 'a'], verbs: ['nuke', 'ge'] },
      ),
      `403 roles.${GROUP} "x"${held('{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}\n{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["nuke" "ge"]}\n{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["nuke" "ge"]}\n{APIGroups:["b"], Resources:["nodes"], Verbs:["get" "list"]}')}`,
    ],
    ['with escalate', 'eve', role({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }), ''],
    ['everything, held', 'root', role({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }), ''],
    [
      'unresolved roles are reported',
      'dan',
      role({ apiGroups: ['x'], resources: ['z'], verbs: ['get'] }),
      `403 roles.${GROUP} "x" is forbidden: user "dan" (groups=["g" "h"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:["x"], Resources:["z"], Verbs:["get"]}; resolution errors: [[roles.${GROUP} "nope" not found, roles.${GROUP} "nope2" not found]]`,
    ],
    ['a rule that grants nothing', 'joe', role({ apiGroups: ['b'] }), ''],
  ];
  test.each(roles)('role: %s', async (_name, user, object, expected) => {
    expect(
      await outcome(checkRoleEscalation(context(user, ['g', 'h'], 'roles', 'ns'), object, undefined, dependencies)),
    ).toBe(expected);
  });

  const bindings: readonly (readonly [string, string, KubeObject, string])[] = [
    ['held', 'joe', binding('ClusterRole', 'p'), ''],
    [
      'not held',
      'joe',
      binding('ClusterRole', 'c'),
      `403 rolebindings.${GROUP} "x"${held('{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}')}`,
    ],
    ['with bind', 'bob', binding('ClusterRole', 'c'), ''],
    [
      'bind on another one',
      'bob',
      binding('Role', 'pods'),
      `403 rolebindings.${GROUP} "x" is forbidden: user "bob" (groups=["g" "h"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["*/scale"], Verbs:["get" "list"]}\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`,
    ],
    ['missing role', 'joe', binding('Role', 'missing'), `404 rolebindings.${GROUP} "missing" not found`],
    ['unknown kind', 'joe', binding('Bogus', 'c'), '500 unsupported role reference kind: "Bogus"'],
  ];
  test.each(bindings)('binding: %s', async (_name, user, object, expected) => {
    const given = context(user, ['g', 'h'], 'rolebindings', 'ns');
    expect(await outcome(checkBindingEscalation(given, object, undefined, dependencies))).toBe(expected);
  });

  test('system:masters may do everything', async () => {
    const masters = context('m', ['system:masters'], 'rolebindings', 'ns');
    await checkBindingEscalation(masters, binding('Role', 'missing'), undefined, dependencies);
    await checkRoleEscalation(
      masters,
      role({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }),
      undefined,
      dependencies,
    );
  });

  test('setting or removing an aggregation rule requires every permission', async () => {
    const aggregated = clusterRole({ aggregationRule: { clusterRoleSelectors: [{}] } });
    const text = `403 clusterroles.${GROUP} "x" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
    const joe = context('joe', [], 'clusterroles', '');
    expect(await outcome(checkRoleEscalation(joe, aggregated, undefined, dependencies))).toBe(text);
    expect(await outcome(checkRoleEscalation(joe, clusterRole({ rules: null }), aggregated, dependencies))).toBe(text);
    expect(
      await outcome(checkRoleEscalation(context('root', [], 'clusterroles', ''), aggregated, undefined, dependencies)),
    ).toBe('');
  });

  test('updates of only garbage collector fields need no permission', async () => {
    const old = {
      ...role({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }),
      metadata: { ...namespaced, finalizers: ['a/b'] },
    };
    const freed = { ...old, metadata: { ...namespaced, ownerReferences: [{ uid: '1' }] } };
    const joe = context('joe', [], 'roles', 'ns');
    expect(await outcome(checkRoleEscalation(joe, freed, old, dependencies))).toBe('');
    const labelled = { ...old, metadata: { ...old.metadata, labels: { a: 'b' } } };
    expect(await outcome(checkRoleEscalation(joe, labelled, old, dependencies))).toMatch(/^403 /);
  });
});

describe('aggregation', () => {
  const rule = (resource: string): JsonObject => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
  const part = (name: string, labels: Record<string, string>, ...rules: JsonObject[]): KubeObject => ({
    metadata: { name, labels },
    rules,
  });
  const aggregated: KubeObject = {
    metadata: { name: 'all', labels: { a: '1' } },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { b: '1' } }, { matchLabels: { a: '1' } }] },
    rules: [rule('own')],
  };
  const roles = [
    part('z', { a: '1' }, rule('z')),
    part('c', { a: '1', b: '1' }, rule('c')),
    aggregated,
    part('a', { a: '1' }, rule('a'), { ...rule('c'), resourceNames: [] }),
    part('n', {}, rule('n')),
  ];
  test('collects rules by selector, then by name, each once, without the role itself', () => {
    const rules = aggregatedRules(aggregated, roles) ?? [];
    expect(rules).toEqual([rule('c'), rule('a'), rule('z')]);
    expect(sameRules(aggregated, rules)).toBe(false);
    expect(
      sameRules({ ...aggregated, rules: [rule('c'), { ...rule('a'), nonResourceURLs: [] }, rule('z')] }, rules),
    ).toBe(true);
  });
  test('ignores roles that are not aggregated or have an invalid selector', () => {
    expect(aggregatedRules(part('x', {}), roles)).toBeUndefined();
    const broken = { ...aggregated, aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'a b': '' } }] } };
    expect(aggregatedRules(broken, roles)).toBeUndefined();
  });
});

describe('reconciliation', () => {
  const expected: KubeObject = {
    metadata: { name: 'r', labels: { boot: 'yes' }, annotations: { auto: 'true' } },
    rules: [{ apiGroups: [''], resources: ['a', 'b'], verbs: ['get'] }],
  };
  test('leaves an equal role alone, and keeps extra permissions', () => {
    const more = { ...expected, rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };
    expect(reconcileRole(more, expected)).toEqual({ operation: 'none' });
  });
  test('adds missing permissions, labels, and annotations, and keeps existing values', () => {
    const existing = {
      metadata: { name: 'r', labels: { boot: 'no', mine: '1' } },
      rules: [{ apiGroups: [''], resources: ['a'], verbs: ['get'] }],
    };
    expect(reconcileRole(existing, expected)).toEqual({
      operation: 'update',
      object: {
        metadata: { name: 'r', labels: { boot: 'no', mine: '1' }, annotations: { auto: 'true' } },
        rules: [...existing.rules, { apiGroups: [''], resources: ['b'], verbs: ['get'] }],
      },
    });
  });
  test('leaves a protected role alone', () => {
    const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    expect(reconcileRole({ metadata: { name: 'r', annotations }, rules: [] }, expected)).toEqual({ operation: 'none' });
    expect(
      reconcileBinding({ metadata: { name: 'r', annotations } }, { metadata: { name: 'r' }, roleRef: { kind: 'x' } }),
    ).toEqual({ operation: 'none' });
  });
  test('adds missing aggregation selectors, and removes an unexpected aggregation rule', () => {
    const one = { matchLabels: { a: '1' } };
    const two = { matchLabels: { b: '1' } };
    const aggregated = (...selectors: JsonObject[]): KubeObject => ({
      metadata: { name: 'r' },
      aggregationRule: { clusterRoleSelectors: selectors },
    });
    expect(reconcileRole(aggregated(two), aggregated(one))).toMatchObject({
      operation: 'update',
      object: aggregated(two, one),
    });
    expect(reconcileRole(aggregated(two, one), aggregated(one))).toEqual({ operation: 'none' });
    const removed = reconcileRole(aggregated(two), { metadata: { name: 'r' } });
    expect(removed.operation === 'update' && removed.object).toEqual({ metadata: { name: 'r' } });
  });
  test('adds missing subjects to a binding, and recreates one with another role', () => {
    const wanted: KubeObject = {
      metadata: { name: 'b' },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'r' },
      subjects: [{ kind: 'Group', apiGroup: GROUP, name: 'g' }],
    };
    const existing = { ...wanted, subjects: [{ kind: 'User', apiGroup: GROUP, name: 'u' }] };
    expect(reconcileBinding(existing, wanted)).toMatchObject({
      operation: 'update',
      object: { subjects: [...existing.subjects, ...(wanted['subjects'] as JsonValue[])] },
    });
    expect(reconcileBinding(wanted, wanted)).toEqual({ operation: 'none' });
    expect(
      reconcileBinding({ ...wanted, roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'other' } }, wanted),
    ).toEqual({ operation: 'recreate', object: wanted });
  });
});

test('the default roles and bindings are valid', () => {
  const defaults = parseRbacDefaults(JSON.parse(readFileSync('data/rbac-defaults.json', 'utf8')) as JsonValue);
  const strategies: Record<string, Strategy> = {
    Role: roleStrategy,
    ClusterRole: clusterRoleStrategy,
    RoleBinding: roleBindingStrategy,
    ClusterRoleBinding: clusterRoleBindingStrategy,
  };
  const invalid = defaults.filter(
    (object) => strategies[object.kind ?? '']!.validateCreate(someone, object).length > 0,
  );
  expect(invalid).toEqual([]);
  expect(defaults.length).toBeGreaterThan(100);
  expect(() => parseRbacDefaults([{ kind: 'Pod', metadata: {} }])).toThrow('not a role or binding');
});

test.each([
  ['role', roleStrategy],
  ['cluster role', clusterRoleStrategy],
])('stores an empty list of rules of a %s as null', (_name, strategy) => {
  const rule = { verbs: ['get'], nonResourceURLs: ['/x'] };
  const [empty, one] = [role(), role(rule)];
  for (const each of [empty, one]) strategy.prepareForCreate?.(someone, each);
  expect([empty['rules'], one['rules']]).toEqual([null, [rule]]);
});

describe('rules that stand for many permissions', () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `n${i}`);
  const one = { apiGroups: [''], resources: ['pods'], verbs: ['get'], resourceNames: [], nonResourceURLs: [] };
  const many = { ...one, apiGroups: names(1000), resources: names(1000), verbs: names(1000) };

  test('are refused after a bounded number of them', () => {
    const missing = uncovered([one], [many]);
    expect(missing).toHaveLength(10_000);
    const halves = [names(1000).slice(0, 500), names(1000).slice(500)].map((verbs) => ({ ...many, verbs }));
    // Both rules together cover it, but telling so takes 10^9 steps.
    expect(uncovered(halves, [many])).toHaveLength(1);
  });

  test('are granted if one rule covers them', () => {
    expect(uncovered([{ ...one, apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], [many])).toEqual([]);
    expect(uncovered([many], [many])).toEqual([]);
    expect(uncovered([{ ...many, resourceNames: ['a'] }], [many]).length).toBeGreaterThan(0);
    expect(uncovered([{ ...many, resourceNames: ['a', 'b'] }], [{ ...many, resourceNames: ['b'] }])).toEqual([]);
    const urls = { ...one, apiGroups: [], resources: [], verbs: names(100), nonResourceURLs: names(100) };
    expect(uncovered([{ ...urls, nonResourceURLs: ['*'] }], [urls])).toEqual([]);
    expect(uncovered([{ ...urls, nonResourceURLs: ['*'], resourceNames: ['a'] }], [urls])).toHaveLength(10_000);
  });
});
