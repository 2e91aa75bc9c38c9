import { customResourceDefinitions } from '../customresourcedefinition/type.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { resourceDefinitionType } from './type.js';

test('resource definitions reset the same fields as custom resource definitions', () => {
  const [theirs, ours] = [customResourceDefinitions, resourceDefinitionType(() => undefined)];
  expect(theirs.strategy.resetFields).toEqual({ 'apiextensions.k8s.io/v1': [['status']] });
  expect(ours.strategy.resetFields).toEqual({ 'kubeannex.io/v1': [['status']] });
  expect(theirs.subresources['status']?.resetFields).toEqual({ 'apiextensions.k8s.io/v1': [['spec']] });
  expect(ours.subresources['status']?.resetFields).toEqual({ 'kubeannex.io/v1': [['spec']] });
});

describe('the table', () => {
  const NOW = Date.UTC(2026, 0, 1, 1);
  const definition = (condition?: object): KubeObject =>
    ({
      metadata: { name: 'widgets.example.com', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: {
        group: 'example.com',
        names: { plural: 'widgets' },
        versions: [
          { name: 'v2', served: true },
          { name: 'v1', served: true },
          { name: 'v0', served: false },
        ],
      },
      status: { conditions: condition === undefined ? [] : [condition] },
    }) as unknown as KubeObject;
  const count = ({ group, version, resource }: { group: string; version: string; resource: string }) =>
    `${resource}.${version}.${group}` === 'widgets.v1.example.com' ? 12 : undefined;
  const table = resourceDefinitionType(count).versions[0]?.table;

  test('names its columns', () => {
    expect(table?.columns.map(({ name }) => name)).toEqual(['Name', 'Registered', 'Versions', 'Objects', 'Age']);
  });

  test.each<[string, object | undefined, string]>([
    ['True', { type: 'Registered', status: 'True', reason: 'APIServiceRegistered' }, 'True'],
    ['why not', { type: 'Registered', status: 'False', reason: 'GroupVersionTaken' }, 'GroupVersionTaken'],
    ['Unknown before anything is known', undefined, 'Unknown'],
  ])('Registered is %s', (_, condition, expected) => {
    expect(table?.cells(definition(condition), NOW)).toEqual(['widgets.example.com', expected, 'v2,v1', '12', '60m']);
  });

  test('a type that is not served has an unknown number of objects', () => {
    const none = resourceDefinitionType(() => undefined).versions[0]?.table;
    expect(none?.cells(definition(), NOW)[3]).toBe('<unknown>');
  });
});

test('a new definition has conditions, so that kubectl wait can look for one', () => {
  const { strategy } = resourceDefinitionType(() => undefined);
  const spec = { group: 'example.com', names: { kind: 'Widget', plural: 'widgets' }, versions: [] };
  const definition = { metadata: { name: 'widgets.example.com' }, spec, status: { conditions: [{ type: 'Forged' }] } };
  strategy.prepareForCreate?.({} as never, definition);
  expect(definition.status).toMatchObject({ conditions: [] });
});
