import { customResourceDefinitionType } from '../../apiextensions/customresourcedefinition/type.js';
import { resourceDefinitionType } from './resource-definitions.js';

test('whoever writes a definition owns neither more nor less of it than of one of the cluster', () => {
  const [theirs, ours] = [customResourceDefinitionType({}), resourceDefinitionType()];
  expect(theirs.strategy.resetFields).toEqual({ 'apiextensions.k8s.io/v1': [['status']] });
  expect(ours.strategy.resetFields).toEqual({ 'kubeannex.io/v1': [['status']] });
  expect(theirs.subresources['status']?.resetFields).toEqual({ 'apiextensions.k8s.io/v1': [['spec']] });
  expect(ours.subresources['status']?.resetFields).toEqual({ 'kubeannex.io/v1': [['spec']] });
});
