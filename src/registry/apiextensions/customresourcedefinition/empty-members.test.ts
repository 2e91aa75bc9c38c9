import { FieldPath } from '../../../apimachinery/meta/field-error.js';
import { decodeDetailed } from '../../../apimachinery/json/decode.js';
import type { JsonObject } from '../../../apimachinery/json/json.js';
import { requireSchema } from '../../../apimachinery/scheme/builtin-schema.js';
import { validateStructural } from '../../../schema/structural.js';
import { printSchema, setFieldNames } from './go-print.js';
import { schemasOf, toInternalSpec } from './internal.js';

/** Returns a schema as decoded from a definition. */
function decoded(schema: JsonObject): JsonObject {
  const body = { spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }] } };
  const decoder = requireSchema('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition');
  const { object } = decoder.decode(decodeDetailed(JSON.stringify(body), { strict: false }), false);
  return schemasOf(toInternalSpec(object))[0] ?? {};
}

test.each<[string, JsonObject, string, string]>([
  ['enum', { enum: [] }, 'Enum', '"Enum":[]'],
  ['required', { required: [] }, 'Required', '"Required":[]'],
  ['definitions', { definitions: {} }, 'Definitions', '"Definitions":{}'],
  ['items as a list', { items: [] }, 'Items', '"Items":{"Schema":null,"JSONSchemas":[]}'],
  ['items as nothing', { items: false }, 'Items', '"Items":{"Schema":null,"JSONSchemas":null}'],
])('an empty %s counts as set and is printed, but not serialized', (_, members, name, printed) => {
  const schema = decoded({ type: 'object', ...members });
  expect(JSON.stringify(schema)).toBe('{"type":"object"}');
  expect(setFieldNames(schema)).toEqual(['Type', name]);
  expect(printSchema(schema).text).toContain(printed);
});

test('an empty list in the schema of metadata counts as specified', () => {
  const schema = decoded({ type: 'object', properties: { metadata: { type: 'object', required: [] } } });
  expect(validateStructural(schema, FieldPath.empty).map(String)).toEqual([
    'properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ]);
});
