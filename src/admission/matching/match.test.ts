import type { JsonObject } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { fakeAttributes } from '../../../test/fakes/admission/attributes.js';
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
  ['a matching rule', rule(), {}, true],
  ['another operation', rule(), { operation: 'UPDATE' }, false],
  ['any operation', rule({ operations: ['*'] }), { operation: 'CONNECT' }, true],
  ['another group', rule({ apiGroups: ['apps'] }), {}, false],
  ['any group', rule({ apiGroups: ['*'] }), {}, true],
  ['another version', rule({ apiVersions: ['v2'] }), {}, false],
  ['a subresource is another resource', rule(), { subresource: 'status' }, false],
  ['any resource has no subresource', rule({ resources: ['*'] }), { subresource: 'status' }, false],
  ['any subresource', rule({ resources: ['configmaps/*'] }), { subresource: 'status' }, true],
  ['any subresource includes none', rule({ resources: ['configmaps/*'] }), {}, true],
  ['one subresource of any', rule({ resources: ['*/status'] }), { subresource: 'status' }, true],
  ['namespaced', rule({ scope: 'Namespaced' }), {}, true],
  ['not namespaced', rule({ scope: 'Cluster' }), {}, false],
  ['cluster-scoped', rule({ scope: 'Cluster' }), { namespace: '' }, true],
])('%s', async (_, one, given, expected) => {
  expect(await matches(webhook({ rules: [one] }), given)).toBe(expected);
});

test('a Namespace is cluster-scoped, though its attributes have a namespace', async () => {
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

test('a missing namespace fails the request, unless the object selector excludes the object', async () => {
  const byNamespace = { namespaceSelector: { matchLabels: { team: 'blue' } } };
  await expect(matches(webhook(byNamespace), { namespace: 'gone' })).rejects.toThrow('namespaces "gone" not found');
  const neither = { ...byNamespace, objectSelector: { matchLabels: { x: 'z' } } };
  expect(await matches(webhook(neither), { namespace: 'gone' })).toBe(false);
});

test('a Namespace is matched by the labels of its new state', async () => {
  const resource = { group: '', version: 'v1', resource: 'namespaces' };
  const selected = webhook({
    rules: [rule({ resources: ['namespaces'] })],
    namespaceSelector: { matchLabels: { x: 'y' } },
  });
  expect(await matches(selected, { resource, namespace: 'new' })).toBe(true);
});

test('an invalid selector fails the requests that the rules match', async () => {
  const broken = webhook({ objectSelector: { matchLabels: { x: 'not valid' } } });
  await expect(matches(broken)).rejects.toThrow('Internal error occurred: ');
  expect(await matches(broken, { operation: 'DELETE' })).toBe(false);
});

test('other versions match only with matchPolicy Equivalent, by the first rule that matches', async () => {
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

test('policies support exclusions and resource names, and match everything without rules', async () => {
  const of = async (resources: JsonObject): Promise<boolean> =>
    (await match(policyCriteria(resources), fakeAttributes({ name: 'a', object: labelled({}) }), namespaces)) !==
    undefined;
  expect(await of({})).toBe(true);
  expect(await of({ resourceRules: [rule({ resourceNames: ['a'] })] })).toBe(true);
  expect(await of({ resourceRules: [rule({ resourceNames: ['b'] })] })).toBe(false);
  expect(await of({ resourceRules: [rule()], excludeResourceRules: [rule({ resourceNames: ['a'] })] })).toBe(false);
});

test('mayMatchResource compares groups and resources alone', () => {
  const criteria = webhookCriteria(webhook({ matchPolicy: 'Exact' }));
  expect(mayMatchResource(criteria, { group: '', resource: 'configmaps' })).toBe(true);
  expect(mayMatchResource(criteria, { group: '', resource: 'secrets' })).toBe(false);
  expect(mayMatchResource(criteria, { group: 'apps', resource: 'configmaps' })).toBe(false);
  expect(mayMatchResource(webhookCriteria({}), { group: '', resource: 'configmaps' })).toBe(false);
  expect(mayMatchResource(policyCriteria({}), { group: '', resource: 'configmaps' })).toBe(true);
});
