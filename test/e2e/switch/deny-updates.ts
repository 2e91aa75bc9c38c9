import { eventually } from '../../integration/server.js';
import type { TestCluster } from '../cluster.js';

/** Denies updates of a CustomResourceDefinition at every kube-apiserver. Returns a function that allows them again. */
export async function denyUpdates(cluster: TestCluster, name: string): Promise<() => Promise<void>> {
  const { http, kubectl } = cluster;
  const API = '/apis/admissionregistration.k8s.io/v1';
  const rule = {
    apiGroups: ['apiextensions.k8s.io'],
    apiVersions: ['*'],
    operations: ['UPDATE'],
    resources: ['customresourcedefinitions'],
    resourceNames: [name],
  };
  await http.post(`${API}/validatingadmissionpolicies`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'held' },
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: 'false', message: 'held by a test' }],
    },
  });
  await http.post(`${API}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'held' },
    spec: { policyName: 'held', validationActions: ['Deny'] },
  });
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}?dryRun=All`;
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = { metadata: { annotations: { 'example.com/held': 'yes' } } };
  for (const server of cluster.https) {
    await eventually('updates are denied', async () =>
      (await server.send({ method: 'PATCH', path, body, headers })).status === 422 ? true : undefined,
    );
  }
  return async () => {
    await kubectl.ok(['delete', 'validatingadmissionpolicybinding', 'held']);
    await kubectl.ok(['delete', 'validatingadmissionpolicy', 'held']);
  };
}
