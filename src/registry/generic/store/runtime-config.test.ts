import { RuntimeConfig } from './runtime-config.js';

const RBAC = 'rbac.authorization.k8s.io';

describe('runtime configuration', () => {
  const cases: readonly (readonly [
    name: string,
    pairs: string,
    group: string,
    version: string,
    resource: string,
    served: boolean,
  ])[] = [
    ['GA by default', '', RBAC, 'v1', 'roles', true],
    ['beta is off by default', '', RBAC, 'v1beta1', 'roles', false],
    ['a version', `${RBAC}/v1=false`, RBAC, 'v1', 'roles', false],
    ['a version without a value', `${RBAC}/v1beta1`, RBAC, 'v1beta1', 'roles', true],
    ['the core group', '/v1=false', '', 'v1', 'pods', false],
    ['a resource goes before its version', `${RBAC}/v1=false,${RBAC}/v1/roles=true`, RBAC, 'v1', 'roles', true],
    ['other resources of it', `${RBAC}/v1=false,${RBAC}/v1/roles=true`, RBAC, 'v1', 'rolebindings', false],
    ['a version goes before a stage', `api/all=false,${RBAC}/v1=true`, RBAC, 'v1', 'roles', true],
    ['all', `api/all=false,${RBAC}/v1=true`, '', 'v1', 'pods', false],
    ['a stage goes before all', 'api/all=false,api/ga=true', '', 'v1', 'pods', true],
    ['beta', 'api/beta=true', RBAC, 'v1beta1', 'roles', true],
    ['alpha is not beta', 'api/beta=true', RBAC, 'v1alpha1', 'roles', false],
    ["Annex' own kinds", '', 'kubeannex.io', 'v1alpha1', 'adoptions', true],
    ['the same, off', 'kubeannex.io/v1alpha1=false', 'kubeannex.io', 'v1alpha1', 'adoptions', false],
    ['the same, by its stage', 'api/alpha=false', 'kubeannex.io', 'v1alpha1', 'adoptions', false],
  ];
  test.each(cases)('%s', (_name, pairs, group, version, resource, served) => {
    expect(new RuntimeConfig(pairs.split(',')).serves(group, version, resource, false)).toBe(served);
  });

  test('custom resources follow only the keys of their own versions', () => {
    const config = new RuntimeConfig(['api/all=false', 'example.com/v1alpha2=false', `${RBAC}/v1=true`]);
    expect(config.serves('example.com', 'v1alpha1', 'widgets', true)).toBe(true);
    expect(config.serves('example.com', 'v1alpha2', 'widgets', true)).toBe(false);
  });

  test.each([
    ['api/all=false', 'invalid runtime-config with only api/all=false'],
    ['api/ga=1', 'invalid value api/ga=1'],
    ['v1=true', 'runtime-config invalid key v1'],
    ['a/b/c/d=true', 'runtime-config invalid key a/b/c/d'],
    ['nowhere/v1=true', 'unknown api groups nowhere/v1'],
    [`${RBAC}/v7=true`, `group version ${RBAC}/v7 that has not been registered`],
    [
      `${RBAC}/v1/Roles=true`,
      `invalid key ${RBAC}/v1/Roles: group/version/resource and resource is always lowercase plural, not "Roles"`,
    ],
    [`${RBAC}/v1=maybe`, `invalid value of ${RBAC}/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax`],
  ])('%s is refused', (pair, message) => {
    expect(() => new RuntimeConfig([pair])).toThrow(message);
  });
});
