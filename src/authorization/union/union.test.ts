import { alwaysAllow, alwaysDeny } from '../authorizer/constant.js';
import type { AuthorizationResult, Authorizer, AuthorizerAttributes } from '../authorizer/interfaces.js';
import { privilegedGroupAuthorizer, UnionAuthorizer, UnionRuleResolver } from './union.js';

const attributes = (...groups: string[]): AuthorizerAttributes => ({
  user: { name: 'u', uid: '', groups, extra: {} },
  verb: 'get',
  resourceRequest: false,
  namespace: '',
  apiGroup: '',
  apiVersion: '',
  resource: '',
  subresource: '',
  name: '',
  path: '/x',
});
const signal = new AbortController().signal;
const fixed = (answer: AuthorizationResult): Authorizer => ({ authorize: () => answer });
const later = (answer: AuthorizationResult): Authorizer => ({ authorize: () => Promise.resolve(answer) });
const none = (reason: string, error?: string): AuthorizationResult => ({
  decision: 'no-opinion',
  reason,
  ...(error !== undefined && { error }),
});

describe('union', () => {
  const cases: readonly (readonly [string, readonly Authorizer[], AuthorizationResult])[] = [
    ['empty', [], none('')],
    ['first allows', [alwaysAllow, fixed({ decision: 'deny', reason: 'x' })], { decision: 'allow', reason: '' }],
    ['a denial ends it', [fixed({ decision: 'deny', reason: 'x' }), alwaysAllow], { decision: 'deny', reason: 'x' }],
    ['no opinion goes on', [alwaysDeny, fixed({ decision: 'allow', reason: 'y' })], { decision: 'allow', reason: 'y' }],
    ['reasons are joined', [fixed(none('a')), fixed(none('')), later(none('b'))], none('a\nb')],
    [
      'errors are joined, each once',
      [fixed(none('', 'e')), later(none('', 'f')), fixed(none('', 'e'))],
      none('', '[e, f]'),
    ],
    ['an error without a text is one', [fixed(none('a', ''))], none('a', '')],
    ['a later one allows after a promise', [later(none('a')), alwaysAllow], { decision: 'allow', reason: '' }],
    ['a promise denies', [later({ decision: 'deny', reason: 'z' }), alwaysAllow], { decision: 'deny', reason: 'z' }],
  ];
  test.each(cases)('%s', async (_name, authorizers, expected) => {
    expect(await new UnionAuthorizer(authorizers).authorize(attributes(), signal)).toEqual(expected);
  });

  test('is synchronous if its authorizers are', () => {
    expect(new UnionAuthorizer([alwaysDeny]).authorize(attributes(), signal)).toEqual(none('Everything is forbidden.'));
  });
});

test('the privileged group is allowed', () => {
  const authorizer = privilegedGroupAuthorizer;
  expect(authorizer.authorize(attributes('a', 'system:masters')).decision).toBe('allow');
  expect(authorizer.authorize(attributes('system:master')).decision).toBe('no-opinion');
});

test('rules are combined, and incomplete if one part is', () => {
  const user = attributes().user;
  const half = { rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: true, error: 'half' }) };
  const rules = new UnionRuleResolver([alwaysAllow, alwaysDeny, half]).rulesFor(user, 'ns');
  expect(rules).toMatchObject({ incomplete: true, error: 'half' });
  expect(rules.resourceRules).toHaveLength(1);
});
