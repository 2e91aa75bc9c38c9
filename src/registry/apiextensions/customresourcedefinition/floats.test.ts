import { decodeDetailed } from '../../../apimachinery/json/decode.js';
import { deepCopy } from '../../../apimachinery/json/json.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { requireSchema } from '../../../apimachinery/scheme/builtin-schema.js';
import { setCustomResourceDefinitionDefaults } from './defaults.js';
import { validateCustomResourceDefinition } from './validation/validation.js';
import { customResourceDefinitionStrategy } from './strategy.js';

const schema = requireSchema('apiextensions.k8s.io', 'v1', 'CustomResourceDefinition');
const strategy = customResourceDefinitionStrategy;
const context = { ruleYieldPoint: undefined } as unknown as Parameters<typeof strategy.validateCreate>[0];

const definition = (property: string): KubeObject => {
  const text = `{"metadata":{"name":"as.g.io"},"spec":{"group":"g.io","scope":"Cluster","names":{"kind":"A","plural":"as"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
    "properties":{"p":${property}}}}}]}}`;
  const { object } = schema.decode(decodeDetailed(text, { strict: true }), true);
  setCustomResourceDefinitionDefaults(object);
  strategy.prepareForCreate?.(context, object);
  return object;
};
const messages = (crd: KubeObject): string[] => strategy.validateCreate(context, crd).map(({ detail }) => detail);

test.each([
  ['{"type":"string","default":2.0}', ' in body must be of type string: "number"'],
  ['{"type":"string","default":2}', ' in body must be of type string: "integer"'],
  ['{"type":"number","default":2.0,"maximum":1.5}', ' in body should be less than or equal to 1.5'],
  ['{"type":"number","default":2,"maximum":1.5}', ' in body should be less than or equal to 1'],
  ['{"type":"array","items":{"type":"number"},"default":[3],"enum":[[-0.0,1e1]]}', 'supported values: "[-0,10]"'],
  [
    '{"type":"object","properties":{"a":{"type":"string"}},"default":{"a":1e0}}',
    'a in body must be of type string: "number"',
  ],
])('%s', (property, message) => {
  const crd = definition(property);
  expect(messages(crd)).toEqual([expect.stringContaining(message)]);
  expect(messages(deepCopy(crd))).toEqual(messages(crd));
});

test('a float is a valid default of an integer unless a rule evaluates it', () => {
  const rules = '"x-kubernetes-validations":[{"rule":"self > 0"}]';
  expect(messages(definition('{"type":"integer","default":2.0,"minimum":1e0,"example":5.0}'))).toEqual([]);
  expect(messages(definition(`{"type":"integer","default":2,${rules}}`))).toEqual([]);
  expect(messages(definition(`{"type":"integer","default":2.0,${rules}}`))).toEqual([
    expect.stringContaining('invalid data, expected int, got float64'),
  ]);
});

test('stored schemas hold plain numbers', () => {
  const crd = definition('{"type":"number","default":2.0,"enum":[2.0,1e3]}');
  expect(JSON.stringify(crd)).toContain('"default":2,"enum":[2,1000]');
  expect(validateCustomResourceDefinition(crd)).toEqual([]);
});
