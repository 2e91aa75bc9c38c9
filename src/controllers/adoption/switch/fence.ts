import { ADOPTION_PREFIX } from '../../../apimachinery/meta/adopted-definitions.js';
import { objectAt, stringAt, type JsonObject } from '../../../apimachinery/json/json.js';
import { objectsOf } from '../../../apimachinery/json/values.js';
import type { KubeObject } from '../../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../../../client/cluster-client.js';
import type { KubeApiserver } from './kube-apiservers.js';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const POLICIES = `${ADMISSION}/validatingadmissionpolicies`;
const BINDINGS = `${ADMISSION}/validatingadmissionpolicybindings`;
const APPLY = 'application/apply-patch+yaml';
/** Fields with which somebody else could take requests out of the policy. */
const EXCEPTIONS = ['matchConditions', 'paramKind'];
const EXCEPTIONS_OF_MATCH = ['excludeResourceRules', 'matchResources', 'paramRef'];

interface FenceGap {
  readonly user: string;
  readonly version: string;
}

export interface FenceOptions {
  readonly client: Pick<ClusterClient, 'call' | 'must'>;
  readonly group: string;
  /** Of Annex. */
  readonly namespace: string;
}

/** A policy of the cluster that denies all writes to the objects of a group that the cluster itself keeps. */
export class Fence {
  private readonly name: string;

  constructor(private readonly options: FenceOptions) {
    this.name = ADOPTION_PREFIX + options.group;
  }

  /**
   * Makes it as it should be. Its identity: another one means that it was gone, or something else, for a moment. `through`: the user who
   * writes nevertheless, in one version.
   */
  async put(through?: FenceGap): Promise<string> {
    const policy = await this.apply(POLICIES, this.policy(through));
    const binding = await this.apply(BINDINGS, this.binding());
    return identityOf([policy, binding]);
  }

  /** '' where it is not there. */
  async identity(): Promise<string> {
    const { client } = this.options;
    const found = [
      await client.must('GET', `${POLICIES}/${this.name}`),
      await client.must('GET', `${BINDINGS}/${this.name}`),
    ];
    return found.includes(undefined) ? '' : identityOf(found as KubeObject[]);
  }

  async remove(): Promise<void> {
    await this.options.client.must('DELETE', `${BINDINGS}/${this.name}`);
    await this.options.client.must('DELETE', `${POLICIES}/${this.name}`);
  }

  /**
   * Whether a kube-apiserver goes by it. It is one policy for the group and for a Lease that nobody has: whoever denies the Lease denies
   * the group, and objects of the group need not be made to find out.
   */
  async holds(server: KubeApiserver): Promise<boolean> {
    const { namespace } = this.options;
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases?dryRun=All`;
    const metadata = { name: this.name, namespace };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} };
    const { status, body } = await server.call('POST', path, lease);
    const message = stringAt(body, 'message') ?? '';
    if (status === 403 && message.includes(`ValidatingAdmissionPolicy '${this.name}'`)) return true;
    if (status === 201) return false;
    throw new ClusterError(status, message);
  }

  private async apply(collection: string, object: JsonObject): Promise<KubeObject> {
    const { client } = this.options;
    const path = `${collection}/${this.name}`;
    if (hasExceptions(await client.must('GET', path))) await client.must('DELETE', path);
    const applied = await client.must('PATCH', `${path}?fieldManager=annex&force=true`, object, APPLY);
    if (applied === undefined) throw new Error('the cluster does not serve ValidatingAdmissionPolicy');
    return applied;
  }

  private policy(through: FenceGap | undefined): JsonObject {
    const { group } = this.options;
    const operations = ['CREATE', 'UPDATE', 'DELETE'];
    return {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: this.name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            // Subresources, too.
            { apiGroups: [group], apiVersions: ['*'], resources: ['*/*'], operations },
            {
              apiGroups: ['coordination.k8s.io'],
              apiVersions: ['*'],
              resources: ['leases'],
              resourceNames: [this.name],
              operations: ['CREATE'],
            },
          ],
        },
        validations: [
          {
            expression:
              through === undefined
                ? 'false'
                : `request.requestResource.version == '${through.version}' && request.userInfo.username == ${JSON.stringify(through.user)}`,
            // What is invalid is final to clients; what is forbidden they try again.
            reason: 'Forbidden',
            message: `${group} is being moved into Annex, or has been: the cluster's own copy takes no writes. Try again in some seconds.`,
          },
        ],
      },
    };
  }

  private binding(): JsonObject {
    return {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: this.name },
      spec: { policyName: this.name, validationActions: ['Deny'] },
    };
  }
}

function hasExceptions(object: KubeObject | undefined): boolean {
  const spec = objectAt(object, 'spec') ?? {};
  const constraints = objectAt(spec, 'matchConstraints') ?? {};
  const selectors = ['namespaceSelector', 'objectSelector'];
  return (
    [...EXCEPTIONS, ...EXCEPTIONS_OF_MATCH].some((field) => spec[field] !== undefined) ||
    objectsOf(constraints['excludeResourceRules']).length > 0 ||
    selectors.some((field) => Object.keys(objectAt(constraints, field) ?? {}).length > 0)
  );
}

const identityOf = (objects: readonly KubeObject[]): string =>
  objects.map(({ metadata: { uid = '', generation = 0 } }) => `${uid}/${generation}`).join();
