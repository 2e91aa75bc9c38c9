import { emptyObjectOf } from './empty-objects.js';

test('a ResourceDefinition has the same empty object as a CustomResourceDefinition', () => {
  const theirs = emptyObjectOf({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' });
  expect(Object.keys(theirs)).toEqual(['spec', 'status']);
  expect(emptyObjectOf({ group: 'kubeannex.io', kind: 'ResourceDefinition' })).toEqual(theirs);
});

test('a kind that is not built in has no fields', () => {
  expect(emptyObjectOf({ group: 'example.com', kind: 'Namespace' })).toEqual({});
});
