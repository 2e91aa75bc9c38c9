import { newAlreadyExists } from '../../apimachinery/meta/errors.js';
import { fakeAttributes } from '../../../test/fakes/admission/attributes.js';
import { alwaysAdmit, alwaysDeny } from './always.js';
import type { NamespaceSource } from '../sources.js';
import { namespaceAutoProvision, namespaceExists } from './namespaces.js';
import { admissionChain } from '../chain.js';
import { denyServiceExternalIPs } from './services.js';

const reader = (cached: readonly string[], live: readonly string[]): NamespaceSource => ({
  cached: (name) => (cached.includes(name) ? { metadata: { name } } : undefined),
  get: (name) =>
    cached.includes(name)
      ? { metadata: { name } }
      : Promise.resolve(live.includes(name) ? { metadata: { name } } : undefined),
});

test('AlwaysAdmit admits every request', () => {
  expect(alwaysAdmit().handles('CONNECT')).toBe(true);
  expect(alwaysAdmit()).not.toHaveProperty('admit');
});

test('AlwaysDeny refuses, and reports generateName if no name is set', () => {
  const object = { metadata: { generateName: 'a-' } };
  expect(() => alwaysDeny().admit?.(fakeAttributes({ object }))).toThrow(
    'configmaps "a-" is forbidden: admission control is denying all modifications',
  );
  expect(() => alwaysDeny().validate?.(fakeAttributes({ operation: 'DELETE', name: 'b' }))).toThrow(
    'configmaps "b" is forbidden: admission control is denying all modifications',
  );
});

describe('NamespaceExists', () => {
  const plugin = namespaceExists(reader(['known'], ['new']));
  test('admits namespaces in the cache or in the store', async () => {
    expect(plugin.validate?.(fakeAttributes({ namespace: 'known' }))).toBeUndefined();
    await plugin.validate?.(fakeAttributes({ namespace: 'new' }));
  });
  test('refuses a namespace that does not exist', async () => {
    await expect(plugin.validate?.(fakeAttributes({ namespace: 'gone', operation: 'DELETE' }))).rejects.toMatchObject({
      code: 404,
      message: 'namespaces "gone" not found',
    });
  });
  test('admits cluster-scoped objects and Namespaces', () => {
    expect(plugin.validate?.(fakeAttributes({ namespace: '' }))).toBeUndefined();
    const kind = { group: '', version: 'v1', kind: 'Namespace' };
    expect(plugin.validate?.(fakeAttributes({ namespace: 'gone', kind }))).toBeUndefined();
  });
});

describe('NamespaceAutoProvision', () => {
  const made: string[] = [];
  const plugin = namespaceAutoProvision(reader(['known'], []), (name) => {
    made.push(name);
    return name === 'raced'
      ? Promise.reject(newAlreadyExists({ group: '', resource: 'namespaces' }, name))
      : Promise.resolve();
  });
  test('creates missing namespaces, but not in a dry run', async () => {
    await plugin.admit?.(fakeAttributes({ namespace: 'known' }));
    await plugin.admit?.(fakeAttributes({ namespace: 'dry', dryRun: true }));
    await plugin.admit?.(fakeAttributes({ namespace: 'raced' }));
    await plugin.admit?.(fakeAttributes({ namespace: 'fresh' }));
    expect(made).toEqual(['raced', 'fresh']);
  });
  test('refuses the object if the namespace cannot be created', async () => {
    const broken = namespaceAutoProvision(reader([], []), () => Promise.reject(new Error('no')));
    const object = { metadata: { name: 'a' } };
    await expect(broken.admit?.(fakeAttributes({ namespace: 'x', object }))).rejects.toThrow(
      'configmaps "a" is forbidden: no',
    );
  });
});

describe('DenyServiceExternalIPs', () => {
  const service = (externalIPs: string[]) => ({ metadata: { name: 's' }, spec: { externalIPs } });
  const chain = admissionChain([denyServiceExternalIPs()]);
  const check = async (now: string[], before?: string[]): Promise<void> =>
    chain.validate(
      fakeAttributes({
        plural: 'services',
        operation: before === undefined ? 'CREATE' : 'UPDATE',
        object: service(now),
        oldObject: before === undefined ? undefined : service(before),
      }),
    );
  test('addresses may be kept and removed', async () => {
    await expect(check([])).resolves.toBeUndefined();
    await expect(check(['1.1.1.1'], ['1.1.1.1', '2.2.2.2'])).resolves.toBeUndefined();
  });
  test('addresses may not be added', async () => {
    await expect(check(['1.1.1.1'])).rejects.toThrow(
      'services "s" is forbidden: Use of external IPs is denied by admission control',
    );
    await expect(check(['1.1.1.1'], [])).rejects.toThrow('Use of external IPs');
  });
});
