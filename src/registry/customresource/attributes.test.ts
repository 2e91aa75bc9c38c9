import type { JsonObject } from '../../apimachinery/json/json.js';
import { customAttributes } from './attributes.js';
import { type Definition, readDefinition } from './definition.js';

const version = (name: string, storage: boolean, properties: JsonObject): JsonObject => ({
  name,
  served: true,
  storage,
  selectableFields: [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.deep.size' }],
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
});

const definition: Definition = readDefinition({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.a.b' },
  spec: {
    group: 'a.b',
    scope: 'Cluster',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      version('v1', false, { color: { type: 'string' } }),
      version('v2', true, {
        color: { type: 'string', default: 'red' },
        deep: { type: 'object', default: {}, properties: { size: { type: 'integer', default: 3 } } },
      }),
    ],
  },
});

const fieldsOf = (object: JsonObject, form?: 'stored' | 'shown'): (string | undefined)[] => {
  const { fields } = customAttributes(definition, form)({ kind: 'Widget', metadata: { name: 'a' }, ...object });
  return [fields['spec.color'], fields['spec.deep.size']];
};

test.each<[string, JsonObject, string[]]>([
  ['values', { apiVersion: 'a.b/v2', spec: { color: 'blue', deep: { size: 4 } } }, ['blue', '4']],
  ['fields that are missing', { apiVersion: 'a.b/v2', spec: {} }, ['red', '3']],
  ['null where it is not a value', { apiVersion: 'a.b/v2', spec: { color: null, deep: {} } }, ['red', '3']],
  ['a value without fields', { apiVersion: 'a.b/v2' }, ['', '']],
  ['a version without defaults', { apiVersion: 'a.b/v1', spec: {} }, ['', '']],
  ['a version that is no longer served', { apiVersion: 'a.b/v9', spec: {} }, ['', '']],
])('selectable fields of the stored form: %s', (_, object, expected) => {
  expect(fieldsOf(object)).toEqual(expected);
});

test('the shown form gets no defaults', () => {
  expect(fieldsOf({ apiVersion: 'a.b/v2', spec: {} }, 'shown')).toEqual(['', '']);
});
