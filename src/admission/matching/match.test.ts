import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { fakeAttributes } from '../attributes.fake.js';
import type { AdmissionAttributes } from '../interfaces.js';
import { mayMatchResource, policyCriteria, webhookCriteria } from './criteria.js';
import { match } from './match.js';

const labelled = (labels: Record<string, string>): KubeObject => ({ metadata: { name: 'a', labels } });
const namespaces = {
  cached: () => undefined,
  get: (name: string) => (name === 'ns' ? labelled({ team: 'blue' }) : Promise.resolve(undefined)),
};
const rule = (more: JsonObject = {}): JsonObject => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE'],
  resources: ['configmaps'],
  ...more,
});
const webhook = (more: JsonObject = {}): JsonObject => ({ rules: [rule()], matchPolicy: 'Equivalent', ...more });

const matches = async (webhookJson: JsonObject, given: Partial<AdmissionAttributes> = {}): Promise<boolean> =>
  (await match(
    webhookCriteria(webhookJson),
    fakeAttributes({ object: labelled({ x: 'y' }), ...given }),
    namespaces,
  )) !== undefined;

test.each<[string, JsonObject, Partial<AdmissionAttributes>, boolean]>([
  ['the rule fits', rule(), {}, true],
  ['another operation', rule(), { operation: 'UPDATE' }, false],
  ['any operation', rule({ operations: ['*'] }), { operation: 'CONNECT' }, true],
  ['another group', rule({ apiGroups: ['apps'] }), {}, false],
  ['any group', rule({ apiGroups: ['*'] }), {}, true],
  ['another version', rule({ apiVersions: ['v2'] }), {}, false],
  ['a subresource is another resource', rule(), { subresource: 'status' }, false],
  ['any resource has no subresource', rule({ resources: ['*'] }), { subresource: 'status' }, false],
  ['any subresource', rule({ resources: ['configmaps/*'] }), { subresource: 'status' }, true],
  ['any subresource is also none', rule({ resources: ['configmaps/*'] }), {}, true],
  ['one subresource of any', rule({ resources: ['*/status'] }), { subresource: 'status' }, true],
  ['namespaced', rule({ scope: 'Namespaced' }), {}, true],
  ['not namespaced', rule({ scope: 'Cluster' }), {}, false],
  ['cluster-scoped', rule({ scope: 'Cluster' }), { namespace: '' }, true],
])('%s', async (_, one, given, expected) => {
  expect(await matches(webhook({ rules: [one] }), given)).toBe(expected);
});

test('a namespace is cluster-scoped, though it is in itself', async () => {
  const resource = { group: '', version: 'v1', resource: 'namespaces' };
  const of = (scope: string): JsonObject => webhook({ rules: [rule({ resources: ['namespaces'], scope })] });
  expect(await matches(of('Namespaced'), { resource })).toBe(false);
  expect(await matches(of('Cluster'), { resource })).toBe(true);
});

test.each<[string, JsonObject, Partial<AdmissionAttributes>, boolean]>([
  ['of the object', { objectSelector: { matchLabels: { x: 'y' } } }, {}, true],
  ['of another object', { objectSelector: { matchLabels: { x: 'z' } } }, {}, false],
  ['of the old object', { objectSelector: { matchLabels: { x: 'z' } } }, { oldObject: labelled({ x: 'z' }) }, true],
  ['without an object', { objectSelector: { matchLabels: { x: 'y' } } }, { object: undefined }, false],
  ['of the namespace', { namespaceSelector: { matchLabels: { team: 'blue' } } }, {}, true],
  ['of another namespace', { namespaceSelector: { matchLabels: { team: 'red' } } }, {}, false],
  ['for a cluster-scoped object', { namespaceSelector: { matchLabels: { team: 'red' } } }, { namespace: '' }, true],
])('selector %s', async (_, selectors, given, expected) => {
  expect(await matches(webhook(selectors), given)).toBe(expected);
});

test('a namespace that does not exist refuses the request, unless the object is left out anyhow', async () => {
  const byNamespace = { namespaceSelector: { matchLabels: { team: 'blue' } } };
  await expect(matches(webhook(byNamespace), { namespace: 'gone' })).rejects.toThrow('namespaces "gone" not found');
  const neither = { ...byNamespace, objectSelector: { matchLabels: { x: 'z' } } };
  expect(await matches(webhook(neither), { namespace: 'gone' })).toBe(false);
});

test('a namespace that is written is known by its new labels', async () => {
  const resource = { group: '', version: 'v1', resource: 'namespaces' };
  const selected = webhook({
    rules: [rule({ resources: ['namespaces'] })],
    namespaceSelector: { matchLabels: { x: 'y' } },
  });
  expect(await matches(selected, { resource, namespace: 'new' })).toBe(true);
});

test('a selector that cannot be read refuses what it may be about', async () => {
  const broken = webhook({ objectSelector: { matchLabels: { x: 'not valid' } } });
  await expect(matches(broken)).rejects.toThrow('Internal error occurred: ');
  expect(await matches(broken, { operation: 'DELETE' })).toBe(false);
});

test('other versions match by equivalence alone, earlier rules first', async () => {
  const version = (name: string) => ({
    resource: { group: '', version: name, resource: 'configmaps' },
    kind: { group: '', version: name, kind: 'ConfigMap' },
  });
  const versions = {
    equivalents: [version('v1'), version('v2'), version('v3')],
    convert: (object: KubeObject) => object,
    complete: (changed: JsonObject) => changed as KubeObject,
    onContentsReplaced: () => undefined,
    mergeType: () => undefined,
  };
  const attributes = fakeAttributes({ object: labelled({}), versions });
  const rules = [rule({ apiVersions: ['v3'] }), rule({ apiVersions: ['v2'] })];
  const found = await match(webhookCriteria(webhook({ rules })), attributes, namespaces);
  expect(found).toEqual(version('v3'));
  expect(
    await match(webhookCriteria(webhook({ rules, matchPolicy: 'Exact' })), attributes, namespaces),
  ).toBeUndefined();
});

test('policies: exclusions, names, and no rules for everything', async () => {
  const of = async (resources: JsonObject): Promise<boolean> =>
    (await match(policyCriteria(resources), fakeAttributes({ name: 'a', object: labelled({}) }), namespaces)) !==
    undefined;
  expect(await of({})).toBe(true);
  expect(await of({ resourceRules: [rule({ resourceNames: ['a'] })] })).toBe(true);
  expect(await of({ resourceRules: [rule({ resourceNames: ['b'] })] })).toBe(false);
  expect(await of({ resourceRules: [rule()], excludeResourceRules: [rule({ resourceNames: ['a'] })] })).toBe(false);
});

test('which resources a webhook may be about', () => {
  const criteria = webhookCriteria(webhook({ matchPolicy: 'Exact' }));
  expect(mayMatchResource(criteria, { group: '', resource: 'configmaps' })).toBe(true);
  expect(mayMatchResource(criteria, { group: '', resource: 'secrets' })).toBe(false);
  expect(mayMatchResource(criteria, { group: 'apps', resource: 'configmaps' })).toBe(false);
  expect(mayMatchResource(webhookCriteria({}), { group: '', resource: 'configmaps' })).toBe(false);
  expect(mayMatchResource(policyCriteria({}), { group: '', resource: 'configmaps' })).toBe(true);
});
