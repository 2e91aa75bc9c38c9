import type { UserInfo } from '../../authentication/user/user.js';
import type { AuthorizerAttributes } from '../authorizer/interfaces.js';
import { AbacAuthorizer } from './abac.js';
import { parsePolicyFile, PolicyFileError } from './policy.js';

const API = '"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy"';
const line = (spec: string): string => `{${API},"spec":{${spec}}}`;
const user = (name: string, ...groups: string[]): UserInfo => ({
  name,
  uid: '',
  groups: [...groups, 'system:authenticated'],
  extra: {},
});
const ask = (who: UserInfo, more: Partial<AuthorizerAttributes> = {}): AuthorizerAttributes => ({
  user: who,
  verb: 'get',
  resourceRequest: true,
  namespace: 'ns',
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  name: '',
  path: '',
  ...more,
});
const path = (url: string): Partial<AuthorizerAttributes> => ({
  resourceRequest: false,
  path: url,
  namespace: '',
  resource: '',
});

describe('decisions', () => {
  const all = '"namespace":"*","resource":"*","apiGroup":"*"';
  const cases: readonly (readonly [string, string, AuthorizerAttributes, boolean])[] = [
    ['user', line(`"user":"u",${all}`), ask(user('u')), true],
    ['other user', line(`"user":"u",${all}`), ask(user('v')), false],
    ['user and group, both', line(`"user":"u","group":"g",${all}`), ask(user('u', 'g')), true],
    ['user and group, one', line(`"user":"u","group":"g",${all}`), ask(user('u')), false],
    ['nobody named', line(all), ask(user('u')), false],
    ['any user is any authenticated one', line(`"user":"*",${all}`), ask(user('u')), true],
    [
      'any user, not authenticated',
      line(`"user":"*",${all}`),
      { ...ask(user('u')), user: { ...user('u'), groups: ['system:unauthenticated'] } },
      false,
    ],
    ['readonly, read', line(`"user":"u","readonly":true,${all}`), ask(user('u'), { verb: 'watch' }), true],
    ['readonly, write', line(`"user":"u","readonly":true,${all}`), ask(user('u'), { verb: 'update' }), false],
    ['other namespace', line('"user":"u","namespace":"x","resource":"*","apiGroup":"*"'), ask(user('u')), false],
    [
      'no API group is the core group',
      line('"user":"u","namespace":"*","resource":"*"'),
      ask(user('u'), { apiGroup: 'apps' }),
      false,
    ],
    ['resource', line('"user":"u","namespace":"ns","resource":"pods"'), ask(user('u')), true],
    ['resources are no paths', line(`"user":"u",${all}`), ask(user('u'), path('/x')), false],
    ['path', line('"user":"u","nonResourcePath":"/x"'), ask(user('u'), path('/x')), true],
    ['path below', line('"user":"u","nonResourcePath":"/x/*"'), ask(user('u'), path('/x/y')), true],
    ['path not below', line('"user":"u","nonResourcePath":"/x/*"'), ask(user('u'), path('/x')), false],
    ['unversioned, empty', '{}', ask(user('u'), path('/x')), true],
    ['unversioned, user', '{"user":"u"}', ask(user('u'), { apiGroup: 'apps', verb: 'delete' }), true],
    ['unversioned, resource', '{"user":"u","resource":"nodes"}', ask(user('u')), false],
    ['unversioned, resource, path', '{"user":"u","resource":"pods"}', ask(user('u'), path('/x')), false],
    ['unversioned with a kind', '{"kind":"Policy","user":"*"}', ask(user('u')), true],
    [
      'v0',
      '{"apiVersion":"abac.authorization.kubernetes.io/v0","kind":"Policy","group":"g"}',
      ask(user('u', 'g')),
      true,
    ],
  ];
  test.each(cases)('%s', (_name, text, attributes, allowed) => {
    const { decision, reason } = new AbacAuthorizer(parsePolicyFile('p', `# comment\n\n${text}\r\n`)).authorize(
      attributes,
    );
    expect([decision, reason]).toEqual(allowed ? ['allow', ''] : ['no-opinion', 'No policy matched.']);
  });
});

describe('invalid files', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['cut off', '{"a":', "couldn't get version/kind; json parse error: unexpected end of JSON input"],
    [
      'user of another type',
      line('"user":5'),
      'json: cannot unmarshal number into Go struct field PolicySpec.spec.user of type string',
    ],
    [
      'unversioned user of another type',
      '{"user":5}',
      'json: cannot unmarshal number into Go struct field Policy.user of type string',
    ],
    [
      'flag of another type',
      line('"readonly":"yes"'),
      'json: cannot unmarshal string into Go struct field PolicySpec.spec.readonly of type bool',
    ],
    [
      'spec of another type',
      `{${API},"spec":[]}`,
      'json: cannot unmarshal array into Go struct field Policy.spec of type v1beta1.PolicySpec',
    ],
    [
      'other version',
      '{"apiVersion":"abac.authorization.kubernetes.io/v9","kind":"Policy"}',
      'no kind "Policy" is registered for version "abac.authorization.kubernetes.io/v9" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'other kind',
      '{"apiVersion":"v1","kind":"Pod"}',
      'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
  ];
  test.each(cases)('%s', (_name, text, why) => {
    const error = new PolicyFileError(`error reading policy file /etc/p.jsonl, line 2: ${text}: ${why}`);
    expect(() => parsePolicyFile('/etc/p.jsonl', `#\n${text}\n{}`)).toThrow(error);
  });
});

test('rulesFor returns the rules of a user', () => {
  const text = [
    line('"user":"u","namespace":"ns","resource":"pods","readonly":true'),
    line('"group":"g","namespace":"*","nonResourcePath":"/x"'),
    line('"user":"v","namespace":"*","resource":"x"'),
  ].join('\n');
  expect(new AbacAuthorizer(parsePolicyFile('p', text)).rulesFor(user('u', 'g'), 'ns')).toEqual({
    resourceRules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'], resourceNames: [] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/x'] }],
    incomplete: false,
    error: '',
  });
});
