import { admissionChain } from '../admission/chain.js';
import type { AdmissionAttributes } from '../admission/interfaces.js';
import { LOOPBACK_USER, type UserInfo } from '../authentication/user/user.js';
import { kubernetesGroups } from './cluster-groups.js';

const DEFINITIONS = { group: 'kubeannex.io', resource: 'resourcedefinitions' };
const JANE: UserInfo = { name: 'jane', uid: '', groups: [], extra: {} };

const create = async (group: string, user = JANE, allowed: string[] = [], resource = DEFINITIONS): Promise<void> => {
  const object = { metadata: { name: `things.${group}` }, spec: { group } };
  const attributes = { resource, name: object.metadata.name, object, operation: 'CREATE', user };
  return admissionChain([kubernetesGroups(DEFINITIONS, allowed)]).validate(
    attributes as unknown as AdmissionAttributes,
  );
};

test.each(['rbac.authorization.k8s.io', 'metrics.k8s.io', 'apps', 'policy'])(
  '%s belongs to Kubernetes',
  async (group) => {
    await expect(create(group)).rejects.toThrow(
      `the group ${group} belongs to Kubernetes; Annex serves types in it only with`,
    );
    await expect(create(group, JANE, [group])).resolves.toBeUndefined();
    // An Adoption moves what the cluster serves.
    await expect(create(group, LOOPBACK_USER)).resolves.toBeUndefined();
    const other = { group: 'other.example.com', resource: 'resourcedefinitions' };
    await expect(create(group, JANE, [], other)).resolves.toBeUndefined();
  },
);

test.each(['example.com', 'wgpolicyk8s.io', 'gateway.networking.k8s.io', 'apps.example.com'])(
  '%s does not (those of the community need their approval annotation)',
  async (group) => {
    await expect(create(group)).resolves.toBeUndefined();
  },
);
