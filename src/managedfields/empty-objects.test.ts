import { emptyObjectOf } from './empty-objects.js';

test('a definition of a type is the same to its managers, whether the cluster or Annex serves it', () => {
  const theirs = emptyObjectOf({ group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' });
  expect(Object.keys(theirs)).toEqual(['spec', 'status']);
  expect(emptyObjectOf({ group: 'kubeannex.io', kind: 'ResourceDefinition' })).toEqual(theirs);
});

test('a kind that is not built in holds nothing', () => {
  expect(emptyObjectOf({ group: 'example.com', kind: 'Namespace' })).toEqual({});
});
