import { FeatureGates } from '../../../util/feature-gates.js';
import type { AuthorizationResult, AuthorizerAttributes } from '../../../authorization/authorizer/interfaces.js';
import type { UserInfo } from '../../../authentication/user/user.js';
import { wantedUser } from './impersonation.js';
import { message, TestChain } from '../../../../test/fakes/endpoints/handler-chain.js';

const user = (name: string, groups: string[] = [], more: Partial<UserInfo> = {}): UserInfo => ({
  name,
  uid: '',
  groups,
  extra: {},
  ...more,
});
const AUTHENTICATED = 'system:authenticated';

describe('headers', () => {
  const cases: readonly (readonly [string, readonly string[], UserInfo | undefined])[] = [
    ['none', ['Accept', '*/*'], undefined],
    ['a user', ['Impersonate-User', 'bob'], user('bob')],
    ['in any case', ['IMPERSONATE-USER', 'bob', 'impersonate-group', 'a'], user('bob', ['a'])],
    [
      'groups in their order',
      ['Impersonate-User', 'b', 'Impersonate-Group', 'y', 'Impersonate-Group', 'x'],
      user('b', ['y', 'x']),
    ],
    ['an empty group', ['Impersonate-User', 'b', 'Impersonate-Group', ''], user('b', [''])],
    ['a uid', ['Impersonate-User', 'b', 'Impersonate-Uid', '7'], user('b', [], { uid: '7' })],
    [
      'extra values, keys unescaped and lowercase',
      ['Impersonate-User', 'b', 'Impersonate-Extra-Acme.io%2fA', 'v', 'impersonate-extra-acme.io%2Fa', 'w'],
      user('b', [], { extra: { 'acme.io/a': ['v', 'w'] } }),
    ],
    [
      'a key that cannot be unescaped stays',
      ['Impersonate-User', 'b', 'Impersonate-Extra-a%zz', 'v'],
      user('b', [], { extra: { 'a%zz': ['v'] } }),
    ],
    [
      'a key like that of a prototype',
      ['Impersonate-User', 'b', 'Impersonate-Extra-Constructor', 'v'],
      user('b', [], { extra: { constructor: ['v'] } }),
    ],
    ['two users: the first', ['Impersonate-User', 'bob', 'Impersonate-User', 'eve'], user('bob')],
    ['two users, the first of whom is nobody: none', ['Impersonate-User', '', 'Impersonate-User', 'eve'], undefined],
    [
      'names in UTF-8, as Node gives their bytes',
      ['Impersonate-User', Buffer.from('jürgen').toString('latin1'), 'Impersonate-Group', '\xff'],
      // A byte that is not valid UTF-8 is kept as a lone surrogate.
      user('jürgen', ['\udcff']),
    ],
    ['an empty uid alone', ['Impersonate-Uid', '', 'Impersonate-Uid', '7'], undefined],
  ];
  test.each(cases)('%s', (_name, headers, expected) => {
    expect(wantedUser(headers)).toEqual(expected);
  });

  /** The errors that kube-apiserver returns. */
  const parts: readonly (readonly [string, readonly string[], string])[] = [
    [
      'groups',
      ['Impersonate-Group', 'x'],
      '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"x"}, Extra:map[string][]string(nil)}',
    ],
    [
      'a uid and extra values',
      ['Impersonate-Uid', '7', 'Impersonate-Extra-A%2fB', 'v', 'Impersonate-Extra-A%2fB', 'w'],
      '&user.DefaultInfo{Name:"", UID:"7", Groups:[]string(nil), Extra:map[string][]string{"a/b":[]string{"v", "w"}}}',
    ],
  ];
  test.each(parts)('refuses %s without a user', async (_name, rawHeaders, shown) => {
    const response = await new TestChain().run({ rawHeaders });
    expect(response.statusCode).toBe(400);
    expect(message(response)).toBe(`requested ${shown} without impersonating a user name`);
    expect(response.getHeader('x-content-type-options')).toBe('nosniff');
  });
});

/** Formats an authorizer call as `user: verb group/resource/subresource namespace/name`. */
const shown = ({
  verb,
  apiGroup,
  resource,
  subresource,
  namespace,
  name,
  user: { name: who },
}: AuthorizerAttributes): string =>
  `${who}: ${verb} ${apiGroup}/${resource}${subresource === '' ? '' : `/${subresource}`} ${namespace}/${name}`;

class Scene {
  readonly asked: string[] = [];
  readonly stage: TestChain;
  as: UserInfo | undefined;

  constructor(allow: (check: string) => boolean, constrained: boolean) {
    const gates = new FeatureGates();
    gates.set(`ConstrainedImpersonation=${constrained}`);
    this.stage = new TestChain({ gates });
    this.stage.authorize = (attributes): AuthorizationResult => {
      const check = shown(attributes);
      this.asked.push(check);
      return allow(check) ? { decision: 'allow', reason: '' } : { decision: 'no-opinion', reason: 'no way' };
    };
    this.stage.handler = (exchange) => {
      this.as = exchange.user;
      expect(exchange.requestor.name).toBe('alice');
      exchange.response.end(JSON.stringify({ message: 'done' }));
    };
  }

  async run(...rawHeaders: string[]): Promise<unknown> {
    return message(await this.stage.run({ rawHeaders }));
  }
}

describe('legacy impersonation', () => {
  test('authorizes each attribute separately, then the request as the impersonated user', async () => {
    const scene = new Scene(() => true, false);
    const extra = ['Impersonate-Extra-scopes', 'view', 'Impersonate-Extra-scopes', 'edit'];
    await scene.run(
      'Impersonate-User',
      'bob',
      'Impersonate-Uid',
      '7',
      'Impersonate-Group',
      'a',
      'Impersonate-Group',
      'b',
      ...extra,
    );
    expect(scene.asked).toEqual([
      'alice: impersonate /users /bob',
      'alice: impersonate authentication.k8s.io/uids /7',
      'alice: impersonate /groups /a',
      'alice: impersonate /groups /b',
      'alice: impersonate authentication.k8s.io/userextras/scopes /view',
      'alice: impersonate authentication.k8s.io/userextras/scopes /edit',
      'bob: list /pods /',
    ]);
    expect(scene.as).toEqual(user('bob', ['a', 'b', AUTHENTICATED], { uid: '7', extra: { scopes: ['view', 'edit'] } }));
  });

  const refusals: readonly (readonly [string, string])[] = [
    [
      '/users /bob',
      'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope: no way',
    ],
    [
      'uids /7',
      'uids.authentication.k8s.io "7" is forbidden: User "alice" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope: no way',
    ],
    [
      'groups /b',
      'groups "b" is forbidden: User "alice" cannot impersonate resource "groups" in API group "" at the cluster scope: no way',
    ],
    [
      'userextras',
      'userextras.authentication.k8s.io "view" is forbidden: User "alice" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope: no way',
    ],
  ];
  test.each(refusals)('is refused without %s', async (missing, text) => {
    const scene = new Scene((check) => !check.includes(missing), false);
    const groups = ['Impersonate-Group', 'a', 'Impersonate-Group', 'b'];
    expect(
      await scene.run('Impersonate-User', 'bob', 'Impersonate-Uid', '7', ...groups, 'Impersonate-Extra-scopes', 'view'),
    ).toBe(text);
    expect(scene.as).toBeUndefined();
  });

  const groups: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
    ['a user', 'bob', [], [AUTHENTICATED]],
    ['a user without being known', 'bob', ['system:unauthenticated'], ['system:unauthenticated']],
    ['a user who is', 'bob', [AUTHENTICATED], [AUTHENTICATED]],
    ['nobody', 'system:anonymous', [], ['system:unauthenticated']],
    [
      'a service account',
      'system:serviceaccount:ns:sa',
      [],
      ['system:serviceaccounts', 'system:serviceaccounts:ns', AUTHENTICATED],
    ],
    ['a service account with groups', 'system:serviceaccount:ns:sa', ['a'], ['a', AUTHENTICATED]],
    ['what is no service account', 'system:serviceaccount:ns', [], [AUTHENTICATED]],
    ['a node', 'system:node:n', [], [AUTHENTICATED]],
  ];
  test.each(groups)('sets the groups of %s', async (_name, name, asked, expected) => {
    const scene = new Scene(() => true, false);
    await scene.run('Impersonate-User', name, ...asked.flatMap((group) => ['Impersonate-Group', group]));
    expect(scene.as).toEqual(user(name, [...expected]));
  });

  test('authorizes a service account in its namespace', async () => {
    const scene = new Scene(() => true, false);
    await scene.run('Impersonate-User', 'system:serviceaccount:ns:sa');
    expect(scene.asked[0]).toBe('alice: impersonate /serviceaccounts ns/sa');
  });
});

describe('constrained impersonation', () => {
  test('tries the constrained mode for the verb first, then falls back to the legacy mode', async () => {
    const scene = new Scene((check) => !check.includes('impersonate:') && !check.includes('impersonate-on'), true);
    await scene.run('Impersonate-User', 'bob');
    expect(scene.asked).toEqual([
      'alice: impersonate-on:user-info:list /pods /',
      'alice: impersonate /users /bob',
      'bob: list /pods /',
    ]);
    // The last successful mode is tried first.
    scene.asked.length = 0;
    await scene.run('Impersonate-User', 'bob');
    expect(scene.asked).toEqual(['alice: impersonate /users /bob', 'bob: list /pods /']);
  });

  test('sets the user and records the constraint', async () => {
    const scene = new Scene((check) => !check.includes(' impersonate '), true);
    const { exchange, running } = scene.stage.start({
      rawHeaders: ['Impersonate-User', 'bob', 'Impersonate-Group', 'a'],
    });
    await running;
    expect(scene.asked).toEqual([
      'alice: impersonate-on:user-info:list /pods /',
      'alice: impersonate:user-info authentication.k8s.io/users /bob',
      'alice: impersonate:user-info authentication.k8s.io/groups /a',
      'bob: list /pods /',
    ]);
    expect(scene.as).toEqual(user('bob', ['a', AUTHENTICATED]));
    expect(exchange.impersonationConstraint).toBe('impersonate:user-info');
    const text = await scene.stage.registry.metrics();
    expect(text).toContain('apiserver_impersonation_attempts_total{mode="user-info",decision="allowed"} 1');
  });

  test.each([
    [
      'a node',
      'system:node:n',
      ['impersonate-on:arbitrary-node:list', 'impersonate:arbitrary-node authentication.k8s.io/nodes /n'],
      ['system:nodes', AUTHENTICATED],
    ],
    [
      'a service account',
      'system:serviceaccount:ns:sa',
      ['impersonate-on:serviceaccount:list', 'impersonate:serviceaccount authentication.k8s.io/serviceaccounts ns/sa'],
      ['system:serviceaccounts', 'system:serviceaccounts:ns', AUTHENTICATED],
    ],
  ])('%s has its own mode', async (_name, name, checks, expected) => {
    const scene = new Scene((check) => !check.includes(' impersonate '), true);
    await scene.run('Impersonate-User', name);
    expect(scene.asked.slice(0, 2)).toEqual(checks.map((check) => expect.stringContaining(check) as string));
    expect(scene.as).toEqual(user(name, expected));
  });

  test.each([
    [
      'the group of masters',
      ['Impersonate-Group', 'system:masters'],
      'impersonating the system:masters group is not allowed',
    ],
    ['an empty group', ['Impersonate-Group', ''], 'impersonating the empty string group is not allowed'],
    [
      'a key without a domain',
      ['Impersonate-Extra-scopes', 'v'],
      'must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'an empty value',
      ['Impersonate-Extra-acme.io%2fa', ''],
      'impersonating the empty string value in extra is not allowed',
    ],
  ])('is always refused: %s', async (_name, headers, why) => {
    const scene = new Scene((check) => !check.includes(' impersonate '), true);
    expect(await scene.run('Impersonate-User', 'bob', ...headers)).toEqual(expect.stringContaining(why));
    expect(scene.as).toBeUndefined();
  });

  test('tries a single wildcard check first for many groups', async () => {
    const scene = new Scene((check) => !check.includes(' impersonate '), true);
    const four = ['a', 'b', 'c', 'd'].flatMap((group) => ['Impersonate-Group', group]);
    await scene.run('Impersonate-User', 'bob', ...four);
    expect(scene.asked.filter((check) => check.includes('groups'))).toEqual([
      'alice: impersonate:user-info authentication.k8s.io/groups /*',
    ]);
  });
});
