import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../apimachinery/json/json.js';
import { BuiltinTypes } from './builtin-types.js';
import { removeItems } from '../remove.js';
import { FieldSet } from '../fieldpath/field-set.js';
import { PathElement } from '../fieldpath/path-element.js';
import { toFieldSet } from '../to-field-set.js';
import { TypeMismatchError, validateValue } from '../validate.js';

const directory = join(process.cwd(), 'data/openapi');
const types = new BuiltinTypes(
  readdirSync(directory).map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as JsonObject),
);
const pod = types.typeOf({ group: '', version: 'v1', kind: 'Pod' })!;
const service = types.typeOf({ group: '', version: 'v1', kind: 'Service' })!;

test('finds types by group, version, and kind', () => {
  expect(
    types.typeOf({ group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'Role' })?.map?.fields.has('rules'),
  ).toBe(true);
  expect(types.typeOf({ group: '', version: 'v2', kind: 'Pod' })).toBeUndefined();
});

test.each<[string, JsonObject, string[]]>([
  [
    'list types, and merge keys where there are none',
    {
      spec: {
        containers: [{ name: 'c', ports: [{ containerPort: 80 }], env: [{ name: 'E', value: 'v' }], args: ['a'] }],
      },
    },
    [
      '.spec.containers[name="c"]',
      '.spec.containers[name="c"].args',
      '.spec.containers[name="c"].name',
      '.spec.containers[name="c"].env[name="E"]',
      '.spec.containers[name="c"].env[name="E"].name',
      '.spec.containers[name="c"].env[name="E"].value',
      '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]',
      '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort',
    ],
  ],
  [
    'quantities, numbers or strings, and maps',
    { spec: { overhead: { cpu: 1, memory: '1Gi' }, nodeSelector: { a: 'b' } } },
    ['.spec.nodeSelector', '.spec.overhead.cpu', '.spec.overhead.memory'],
  ],
])('%s', (_name, value, fields) => {
  validateValue(pod, value, 'unique');
  expect(toFieldSet(pod, value).toString().split('\n')).toEqual(fields);
});

test('an atomic reference makes a map of the type atomic', () => {
  const secretRef = {
    spec: { imagePullSecrets: [{ name: 'a' }], containers: [{ name: 'c', envFrom: [{ secretRef: { name: 's' } }] }] },
  };
  expect(toFieldSet(pod, secretRef).toString()).toContain('.spec.imagePullSecrets[name="a"]');
});

test('accepts an integer or a string', () => {
  validateValue(
    service,
    {
      spec: {
        ports: [
          { port: 1, targetPort: 'http' },
          { port: 2, targetPort: 8080 },
        ],
      },
    },
    'unique',
  );
  expect(() => validateValue(service, { spec: { ports: [{ port: 'x' }] } }, 'unique')).toThrow(TypeMismatchError);
});

test('removeItems() removes fields and items', () => {
  const value = {
    metadata: { labels: { a: '1', b: '2' } },
    spec: { ports: [{ port: 1, name: 'x' }, { port: 2 }], selector: { s: 't' } },
  };
  const items = FieldSet.ofPaths([
    ['metadata', 'labels', 'a'].map((name) => PathElement.field(name)),
    [PathElement.field('spec'), PathElement.field('ports'), PathElement.keys(['port', 'protocol'], [1, 'TCP'])],
  ]);
  expect(removeItems(service, value, items)).toEqual({
    metadata: { labels: { b: '2' } },
    spec: { ports: [{ port: 2 }], selector: { s: 't' } },
  });
  expect(removeItems(service, value, FieldSet.empty)).toBe(value);
});
