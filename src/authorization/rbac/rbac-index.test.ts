import fc from 'fast-check';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { UserInfo } from '../../authentication/user/user.js';
import type { AuthorizerAttributes } from '../authorizer/interfaces.js';
import { RbacIndex } from './rbac-index.js';
import { ruleAllows } from './entries.js';
import { readRules, type RbacKind } from './types.js';

const user = (name: string, ...groups: string[]): UserInfo => ({ name, uid: '', groups, extra: {} });

const ask = (who: UserInfo, question: Partial<AuthorizerAttributes>): AuthorizerAttributes => ({
  user: who,
  verb: 'get',
  resourceRequest: true,
  namespace: '',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  name: '',
  path: '',
  ...question,
});

const role = (name: string, namespace: string, ...rules: JsonObject[]): KubeObject => ({
  metadata: { name, ...(namespace !== '' && { namespace }) },
  rules,
});

const binding = (
  name: string,
  namespace: string,
  kind: string,
  ref: string,
  ...subjects: JsonObject[]
): KubeObject => ({
  metadata: { name, ...(namespace !== '' && { namespace }) },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: ref },
  subjects,
});

const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
const jane = { kind: 'User', name: 'jane' };

describe('one rule', () => {
  const cases: readonly (readonly [string, JsonObject, Partial<AuthorizerAttributes>, boolean])[] = [
    ['exact', pods, {}, true],
    ['other verb', pods, { verb: 'delete' }, false],
    ['any verb', { ...pods, verbs: ['*'] }, { verb: 'delete' }, true],
    ['other group', pods, { apiGroup: 'apps' }, false],
    ['any group', { ...pods, apiGroups: ['*'] }, { apiGroup: 'apps' }, true],
    ['a resource does not cover its subresources', pods, { subresource: 'log' }, false],
    ['subresource', { ...pods, resources: ['pods/log'] }, { subresource: 'log' }, true],
    ['a subresource does not cover its resource', { ...pods, resources: ['pods/log'] }, {}, false],
    ['any resource covers subresources', { ...pods, resources: ['*'] }, { subresource: 'log' }, true],
    ['subresource of any resource', { ...pods, resources: ['*/log'] }, { subresource: 'log' }, true],
    ['subresource of any resource, another one', { ...pods, resources: ['*/log'] }, { subresource: 'xlog' }, false],
    ['star and subresource without one asked', { ...pods, resources: ['*/log'] }, { resource: 'log' }, false],
    ['resources of a subresource are no prefix', { ...pods, resources: ['pods/*'] }, { subresource: 'log' }, false],
    ['named', { ...pods, resourceNames: ['a'] }, { name: 'a' }, true],
    ['other name', { ...pods, resourceNames: ['a'] }, { name: 'b' }, false],
    ['named, no name asked', { ...pods, resourceNames: ['a'] }, {}, false],
    ['a path is no resource', { nonResourceURLs: ['*'], verbs: ['*'] }, {}, false],
    ['path', { nonResourceURLs: ['/healthz'], verbs: ['get'] }, { resourceRequest: false, path: '/healthz' }, true],
    [
      'below a path',
      { nonResourceURLs: ['/healthz'], verbs: ['get'] },
      { resourceRequest: false, path: '/healthz/a' },
      false,
    ],
    [
      'wildcard path',
      { nonResourceURLs: ['/api/*'], verbs: ['get'] },
      { resourceRequest: false, path: '/api/v1' },
      true,
    ],
    [
      'wildcard path itself',
      { nonResourceURLs: ['/api/*'], verbs: ['get'] },
      { resourceRequest: false, path: '/api' },
      false,
    ],
    ['several stars', { nonResourceURLs: ['/a**'], verbs: ['get'] }, { resourceRequest: false, path: '/ab' }, true],
    ['any path', { nonResourceURLs: ['*'], verbs: ['get'] }, { resourceRequest: false, path: '/x' }, true],
    [
      'path with another verb',
      { nonResourceURLs: ['*'], verbs: ['get'] },
      { resourceRequest: false, path: '/x', verb: 'post' },
      false,
    ],
  ];

  test.each(cases)('%s', (_name, rule, question, allowed) => {
    const index = new RbacIndex();
    index.upsert('ClusterRole', role('r', '', rule));
    index.upsert('ClusterRoleBinding', binding('b', '', 'ClusterRole', 'r', jane));
    const attributes = ask(user('jane'), question);
    expect(index.authorize(attributes).decision).toBe(allowed ? 'allow' : 'no-opinion');
    expect(readRules(role('r', '', rule)).some((read) => ruleAllows(read, attributes))).toBe(allowed);
    // A role with many rules, and a subject with many roles, are looked up in tables: the decision is the same.
    const others = Array.from({ length: 20 }, (_, i) => ({
      apiGroups: ['other'],
      resources: [`r${i}`],
      verbs: ['get'],
    }));
    index.upsert('ClusterRole', role('r', '', ...others, rule));
    expect(index.authorize(attributes).decision).toBe(allowed ? 'allow' : 'no-opinion');
    others.forEach((other, i) => {
      index.upsert('ClusterRole', role(`o${i}`, '', other));
      index.upsert('ClusterRoleBinding', binding(`o${i}`, '', 'ClusterRole', `o${i}`, jane));
    });
    expect(index.authorize(attributes).decision).toBe(allowed ? 'allow' : 'no-opinion');
  });
});

describe('subjects and namespaces', () => {
  const index = new RbacIndex();
  index.upsert('ClusterRole', role('cr', '', pods));
  index.upsert('Role', role('r', 'ns', pods));
  index.upsert('Role', role('r', 'other'));
  index.upsert(
    'ClusterRoleBinding',
    binding(
      'crb',
      '',
      'ClusterRole',
      'cr',
      { kind: 'Group', name: 'ops' },
      { kind: 'ServiceAccount', name: 'sa', namespace: 'x' },
    ),
  );
  index.upsert('RoleBinding', binding('rb', 'ns', 'Role', 'r', jane, { kind: 'ServiceAccount', name: 'local' }));
  index.upsert(
    'RoleBinding',
    binding('rbc', 'ns2', 'ClusterRole', 'cr', { kind: 'User', name: 'joe' }, { kind: 'Group', name: 'g' }),
  );

  const allowed = (name: string): string => `RBAC: allowed by ${name}`;
  const cases: readonly (readonly [string, UserInfo, string, string])[] = [
    ['group', user('x', 'a', 'ops'), '', allowed('ClusterRoleBinding "crb" of ClusterRole "cr" to Group "ops"')],
    [
      'group, in a namespace',
      user('x', 'ops'),
      'any',
      allowed('ClusterRoleBinding "crb" of ClusterRole "cr" to Group "ops"'),
    ],
    [
      'service account',
      user('system:serviceaccount:x:sa'),
      '',
      allowed('ClusterRoleBinding "crb" of ClusterRole "cr" to ServiceAccount "sa/x"'),
    ],
    ['user of a role', user('jane'), 'ns', allowed('RoleBinding "rb/ns" of Role "r" to User "jane"')],
    ['user elsewhere', user('jane'), 'ns2', ''],
    ['user cluster-wide', user('jane'), '', ''],
    [
      "service account of the binding's namespace",
      user('system:serviceaccount:ns:local'),
      'ns',
      allowed('RoleBinding "rb/ns" of Role "r" to ServiceAccount "local/ns"'),
    ],
    ['service account of another namespace', user('system:serviceaccount:other:local'), 'ns', ''],
    [
      'cluster role in a namespace',
      user('joe'),
      'ns2',
      allowed('RoleBinding "rbc/ns2" of ClusterRole "cr" to User "joe"'),
    ],
    [
      'the first subject that applies is named',
      user('joe', 'g'),
      'ns2',
      allowed('RoleBinding "rbc/ns2" of ClusterRole "cr" to User "joe"'),
    ],
    ['a user is no group', user('ops'), '', ''],
    ['names are case sensitive', user('Jane'), 'ns', ''],
  ];
  test.each(cases)('%s', (_name, who, namespace, reason) => {
    const { decision, reason: given } = index.authorize(ask(who, { namespace }));
    expect([decision, given]).toEqual([reason === '' ? 'no-opinion' : 'allow', reason]);
  });
});

describe('changes take effect immediately', () => {
  const decision = (index: RbacIndex, question: Partial<AuthorizerAttributes> = {}): string =>
    index.authorize(ask(user('jane'), { namespace: 'ns', ...question })).decision;

  test('binding before role, role changed, role deleted, binding deleted', () => {
    const index = new RbacIndex();
    index.upsert('RoleBinding', binding('b', 'ns', 'Role', 'r', jane));
    expect(index.authorize(ask(user('jane'), { namespace: 'ns' }))).toEqual({
      decision: 'no-opinion',
      reason: 'RBAC: role.rbac.authorization.k8s.io "r" not found',
    });
    index.upsert('Role', role('r', 'ns', pods));
    expect(decision(index)).toBe('allow');
    index.upsert('Role', role('r', 'ns', { ...pods, verbs: ['list'] }));
    expect(decision(index)).toBe('no-opinion');
    expect(decision(index, { verb: 'list' })).toBe('allow');
    index.delete('Role', 'ns', 'r');
    expect(decision(index, { verb: 'list' })).toBe('no-opinion');
    index.delete('RoleBinding', 'ns', 'b');
    expect(index.authorize(ask(user('jane'), { namespace: 'ns' })).reason).toBe('');
    expect(index.size()).toEqual({ roles: 0, bindings: 0 });
  });

  test('subjects and role reference of a binding change', () => {
    const index = new RbacIndex();
    index.upsert('ClusterRole', role('r', '', pods));
    index.upsert('RoleBinding', binding('b', 'ns', 'ClusterRole', 'r', jane));
    index.upsert('RoleBinding', binding('b', 'ns', 'ClusterRole', 'r', { kind: 'User', name: 'joe' }));
    expect(decision(index)).toBe('no-opinion');
    index.upsert('RoleBinding', binding('b', 'ns', 'ClusterRole', 'none', jane));
    expect(decision(index)).toBe('no-opinion');
    index.upsert('RoleBinding', binding('b', 'ns', 'ClusterRole', 'r', jane, jane));
    expect(decision(index)).toBe('allow');
  });

  test('retain removes the other objects, of one kind only', () => {
    const index = new RbacIndex();
    index.upsert('Role', role('r', 'ns', pods));
    index.upsert('RoleBinding', binding('a', 'ns', 'Role', 'r', jane));
    index.upsert('RoleBinding', binding('b', 'ns', 'Role', 'r', { kind: 'User', name: 'joe' }));
    index.upsert('ClusterRoleBinding', binding('a', '', 'ClusterRole', 'c', jane));
    index.retain('RoleBinding', new Set(['ns/b']));
    expect(decision(index)).toBe('no-opinion');
    expect(index.size().bindings).toBe(2);
    index.retain('Role', new Set());
    index.upsert('RoleBinding', binding('b', 'ns', 'Role', 'r', jane));
    expect(index.authorize(ask(user('jane'), { namespace: 'ns' })).reason).toBe(
      'RBAC: [clusterrole.rbac.authorization.k8s.io "c" not found, role.rbac.authorization.k8s.io "r" not found]',
    );
  });
});

test('rulesFor returns each binding once, separates non-resource rules, and reports missing roles', () => {
  const index = new RbacIndex();
  index.upsert('ClusterRole', role('c', '', pods, { nonResourceURLs: ['/x'], verbs: ['get'] }));
  index.upsert('ClusterRoleBinding', binding('c', '', 'ClusterRole', 'c', jane, { kind: 'Group', name: 'g' }));
  index.upsert('RoleBinding', binding('d', 'ns', 'ClusterRole', 'missing', { kind: 'Group', name: 'g' }));
  const all = { resourceNames: [], apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };
  expect(index.rulesFor(user('jane', 'g'), 'ns')).toEqual({
    resourceRules: [all],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
    incomplete: false,
    error: 'clusterrole.rbac.authorization.k8s.io "missing" not found',
  });
  expect(index.rulesFor(user('jane', 'g'), 'other').error).toBe('');
  expect(index.policyRulesFor(user('jane', 'g'), 'ns').unresolved).toMatchObject([
    { kind: 'ClusterRole', name: 'missing' },
  ]);
  expect(index.roleRules({ apiGroup: '', kind: 'ClusterRole', name: 'c' }, 'ns')).toHaveLength(2);
  expect(index.roleRules({ apiGroup: '', kind: 'Role', name: 'c' }, 'ns')).toBeUndefined();
});

/** After any sequence of changes, the index decides the same as an evaluation of all objects. */
test('property: decides the same as an evaluation of all objects', () => {
  const word = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
  const some = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string[]> =>
    fc.array(arbitrary, { minLength: 1, maxLength: 3 });
  const rule = fc.record({
    apiGroups: some(word('', 'apps', '*')),
    resources: some(word('pods', 'pods/log', '*/log', '*', 'nodes')),
    verbs: some(word('get', 'list', '*')),
    resourceNames: fc.array(word('a', 'b'), { maxLength: 1 }),
  });
  const names = word('1', '2', '3');
  const namespaces = word('n', 'm');
  const subject = fc.record({ kind: word('User', 'Group'), name: word('u', 'v') });
  const change = fc.oneof(
    fc.record({
      kind: fc.constant<RbacKind>('Role'),
      namespace: namespaces,
      name: names,
      rules: fc.array(rule, { maxLength: 10 }),
    }),
    fc.record({
      kind: fc.constant<RbacKind>('ClusterRole'),
      namespace: fc.constant(''),
      name: names,
      rules: fc.array(rule, { maxLength: 10 }),
    }),
    fc.record({
      kind: fc.constant<RbacKind>('RoleBinding'),
      namespace: namespaces,
      name: names,
      ref: fc.tuple(word('Role', 'ClusterRole'), names),
      subjects: fc.array(subject, { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant<RbacKind>('ClusterRoleBinding'),
      namespace: fc.constant(''),
      name: names,
      ref: fc.tuple(fc.constant('ClusterRole'), names),
      subjects: fc.array(subject, { maxLength: 3 }),
    }),
  );
  const step = fc.record({ change, remove: fc.boolean() });
  const question = fc.record({
    verb: word('get', 'list', 'delete'),
    apiGroup: word('', 'apps'),
    resource: word('pods', 'nodes'),
    subresource: word('', 'log'),
    name: word('', 'a', 'c'),
    namespace: word('', 'n', 'm'),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 40 }),
      fc.array(question, { minLength: 3, maxLength: 8 }),
      (steps, questions) => {
        const index = new RbacIndex();
        const objects = new Map<string, { kind: RbacKind; object: KubeObject }>();
        for (const { change: next, remove } of steps) {
          const key = `${next.kind}/${next.namespace}/${next.name}`;
          if (remove) {
            index.delete(next.kind, next.namespace, next.name);
            objects.delete(key);
            continue;
          }
          const object =
            'rules' in next
              ? role(next.name, next.namespace, ...next.rules)
              : binding(next.name, next.namespace, next.ref[0], next.ref[1], ...next.subjects);
          index.upsert(next.kind, object);
          objects.set(key, { kind: next.kind, object });
        }
        const reading = (attributes: AuthorizerAttributes): boolean =>
          [...objects.values()].some(({ kind, object }) => {
            if (kind !== 'RoleBinding' && kind !== 'ClusterRoleBinding') return false;
            const namespace = object.metadata.namespace ?? '';
            if (namespace !== '' && namespace !== attributes.namespace) return false;
            const subjects = object['subjects'] as { kind: string; name: string }[];
            if (
              !subjects.some((s) =>
                s.kind === 'User' ? s.name === attributes.user.name : attributes.user.groups.includes(s.name),
              )
            )
              return false;
            const ref = object['roleRef'] as { kind: string; name: string };
            const found = objects.get(`${ref.kind}/${ref.kind === 'Role' ? namespace : ''}/${ref.name}`);
            return found !== undefined && readRules(found.object).some((read) => ruleAllows(read, attributes));
          });
        for (const asked of questions) {
          const attributes = ask(user('u', 'v'), asked);
          expect(index.authorize(attributes).decision === 'allow').toBe(reading(attributes));
        }
      },
    ),
  );
});
