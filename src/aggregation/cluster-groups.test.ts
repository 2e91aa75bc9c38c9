import type { AdmissionAttributes } from '../admission/interfaces.js';
import { LOOPBACK_USER, type UserInfo } from '../authentication/user/user.js';
import { kubernetesGroups } from './cluster-groups.js';

const DEFINITIONS = { group: 'kubeannex.io', resource: 'resourcedefinitions' };
const JANE: UserInfo = { name: 'jane', uid: '', groups: [], extra: {} };

const create = (group: string, user = JANE, allowed: string[] = [], resource = DEFINITIONS): void => {
  const object = { metadata: { name: `things.${group}` }, spec: { group } };
  const attributes = { resource, name: object.metadata.name, object, operation: 'CREATE', user };
  void kubernetesGroups(DEFINITIONS, allowed).validate?.(attributes as unknown as AdmissionAttributes);
};

test.each(['rbac.authorization.k8s.io', 'metrics.k8s.io', 'apps', 'policy'])('%s belongs to Kubernetes', (group) => {
  expect(() => create(group)).toThrow(`the group ${group} belongs to Kubernetes; Annex serves types in it only with`);
  expect(() => create(group, JANE, [group])).not.toThrow();
  // An Adoption moves what the cluster serves.
  expect(() => create(group, LOOPBACK_USER)).not.toThrow();
  expect(() => create(group, JANE, [], { group: 'other.example.com', resource: 'resourcedefinitions' })).not.toThrow();
});

test.each(['example.com', 'wgpolicyk8s.io', 'gateway.networking.k8s.io', 'apps.example.com'])(
  '%s does not (those of the community need their approval annotation)',
  (group) => {
    expect(() => create(group)).not.toThrow();
  },
);
