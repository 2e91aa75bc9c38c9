import { parseGroupVersion } from '../meta/meta.js';
import { isRegistered, schemaOfSibling } from './registered-kinds.js';

const CRD = 'apiextensions.k8s.io';

// The expectations are how kube-apiserver treats objects of these kinds that are sent to types of the group.
test.each([
  ['', 'v1', 'ConfigMap', true],
  ['', 'apps/v1beta1', 'Deployment', true],
  ['', 'apps/v1beta1', 'DeploymentList', true],
  ['', 'apps/v1beta1', 'DaemonSet', false],
  ['', 'apps/v1beta1', 'ScaleList', false],
  ['', 'authentication.k8s.io/v1alpha1', 'TokenReview', false],
  ['', 'authentication.k8s.io/v1beta1', 'TokenReview', true],
  ['', 'autoscaling/v2beta2', 'HorizontalPodAutoscaler', false],
  ['', 'apiregistration.k8s.io/v1', 'APIService', false],
  ['', 'meta.k8s.io/v1', 'PartialObjectMetadata', false],
  ['', `${CRD}/v1`, 'CustomResourceDefinition', false],
  [CRD, `${CRD}/v1beta1`, 'CustomResourceDefinition', true],
  [CRD, `${CRD}/v1beta1`, 'ConversionReview', true],
  [CRD, 'v1', 'ConfigMap', false],
  [CRD, 'apps/v1', 'Deployment', false],
])('the decoder of group %p knows %s %s: %p', (group, groupVersion, kind, wanted) => {
  const gv = parseGroupVersion(groupVersion) ?? { group: '', version: '' };
  expect(isRegistered(group, { ...gv, kind })).toBe(wanted);
});

test.each([
  ['rbac.authorization.k8s.io', 'Role', 'rbac.authorization.k8s.io/v1beta1', 'rbac.authorization.k8s.io/v1'],
  ['events.k8s.io', 'Event', 'v1', 'v1'],
  ['events.k8s.io', 'Event', 'events.k8s.io/v1beta1', 'events.k8s.io/v1'],
  ['', 'Event', 'events.k8s.io/v1', 'events.k8s.io/v1'],
  ['', 'Pod', 'v2', undefined],
  ['authentication.k8s.io', 'TokenReview', 'authentication.k8s.io/v1alpha1', undefined],
])('a %s %s of %s is read as one of %s', (group, kind, groupVersion, wanted) => {
  const schema = schemaOfSibling({ group, version: 'v1', kind }, groupVersion, kind);
  const gvk = schema?.gvk;
  expect(gvk && `${gvk.group === '' ? '' : `${gvk.group}/`}${gvk.version}`).toBe(wanted);
});
