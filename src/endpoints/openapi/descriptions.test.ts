import { isObject, type JsonObject, type JsonValue } from '../../apimachinery/json/json.js';
import { operationsOf } from './operations.js';
import { parameterText } from './descriptions.js';
import { publishedComponents } from './served-source.js';

const components = publishedComponents();
/** Group versions whose kinds Annex acts on, checked as a whole. Of the core group only quotas are checked. */
const WHOLE = [
  'apis/admissionregistration.k8s.io/v1',
  'apis/admissionregistration.k8s.io/v1alpha1',
  'apis/admissionregistration.k8s.io/v1beta1',
  'apis/apiextensions.k8s.io/v1',
  'apis/authentication.k8s.io/v1',
  'apis/authorization.k8s.io/v1',
  'apis/certificates.k8s.io/v1',
  'apis/coordination.k8s.io/v1',
  'apis/kubeannex.io/v1',
  'apis/rbac.authorization.k8s.io/v1',
];
const QUOTAS = /^io\.k8s\.api\.core\.v1\.(ResourceQuota|Scope)/;

const isText = (value: JsonValue | undefined): boolean => typeof value === 'string' && value.length > 5;

/** Returns the schemas and fields without a description. */
function silent(schemas: Readonly<Record<string, JsonObject>>): string[] {
  return Object.entries(schemas).flatMap(([name, schema]) => {
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const fields = Object.entries(properties).filter(
      ([, property]) => !isObject(property) || !isText(property['description']),
    );
    return [...(isText(schema['description']) ? [] : [name]), ...fields.map(([field]) => `${name}.${field}`)];
  });
}

test.each(WHOLE)('every schema and field of %s is described', (groupVersion) => {
  const schemas = components[groupVersion] ?? {};
  expect(Object.keys(schemas).length).toBeGreaterThan(10);
  expect(silent(schemas)).toEqual([]);
});

test('quotas and the meta types of the core group are described', () => {
  const schemas = Object.entries(components['api/v1'] ?? {}).filter(
    ([name]) => QUOTAS.test(name) || name.includes('.apis.meta.v1.'),
  );
  expect(schemas.length).toBeGreaterThan(15);
  expect(silent(Object.fromEntries(schemas))).toEqual([]);
});

test('the fields of resource definitions have the right descriptions', () => {
  const [ours, theirs] = ['kubeannex.io', 'apiextensions.k8s.io'].map((group) => components[`apis/${group}/v1`] ?? {});
  expect(ours?.['io.kubeannex.v1.ResourceDefinitionSpec']?.['description']).toBe(
    'Names, scope and versions of a resource type.',
  );
  const text = (schemas: typeof ours, name: string): unknown =>
    (schemas?.[name]?.['properties'] as Record<string, JsonObject>)['rule']?.['description'];
  expect(text(ours, 'io.kubeannex.v1.ValidationRule')).toBe(
    text(theirs, 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule'),
  );
});

test('a kind without Protobuf does not offer it', () => {
  const kind = {
    kind: 'A',
    listKind: 'AList',
    plural: 'as',
    namespaced: true,
    verbs: ['get', 'list'],
    subresources: [],
  };
  const offered = (noProtobuf: boolean): string[] =>
    operationsOf({ group: 'g', version: 'v1', custom: false, kinds: [{ ...kind, noProtobuf }] }, () => 'a').flatMap(
      ({ produces }) => produces,
    );
  expect(offered(false).join()).toContain('protobuf');
  expect(offered(true).join()).not.toContain('protobuf');
});

test('every parameter is described', () => {
  const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
  const kind = { kind: 'A', listKind: 'AList', plural: 'as', namespaced: true, verbs, subresources: [] };
  const names = [true, false].flatMap((custom) =>
    operationsOf({ group: 'g', version: 'v1', custom, kinds: [kind] }, ({ kind: name }) => name).flatMap(
      ({ query }) => query,
    ),
  );
  const undescribed = [...new Set([...names, 'pretty', 'name', 'namespace', 'body'])].filter(
    (name) => !isText(parameterText(name)['description']),
  );
  expect(undescribed).toEqual([]);
});
