import { ADOPTION_PREFIX } from '../protocol/names.js';
import { type JsonObject, objectAt, objectsOf, stringAt } from '../../apimachinery/json/json.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { ClusterError, type ClusterClient } from '../../client/cluster-client.js';
import type { KubeApiserver } from './kube-apiservers.js';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const POLICIES = `${ADMISSION}/validatingadmissionpolicies`;
const BINDINGS = `${ADMISSION}/validatingadmissionpolicybindings`;
const APPLY = 'application/apply-patch+yaml';
/** Fields that could exempt requests from the policy. */
const EXCEPTIONS = ['matchConditions', 'paramKind', 'excludeResourceRules', 'matchResources', 'paramRef'];

/** The user who may write nevertheless, in one version. */
export interface FenceException {
  readonly user: string;
  readonly version: string;
  /** Tells the fences of two attempts apart. */
  readonly attempt?: string;
  /** The names of APIServices that only this user may change meanwhile: whoever removes a route makes the cluster's copy readable. */
  readonly routes?: readonly string[];
}

const ROUTES = 'apiregistration.k8s.io';
/** kube-apiserver maintains APIServices itself; the garbage collector deletes those of Annex when it is uninstalled. */
const MAINTAINERS = [
  'system:apiserver',
  'system:kube-controller-manager',
  'system:serviceaccount:kube-system:generic-garbage-collector',
];

export interface FenceOptions {
  readonly client: Pick<ClusterClient, 'call' | 'must'>;
  readonly group: string;
  /** The namespace that Annex runs in. */
  readonly namespace: string;
}

/** A policy in the cluster that denies all writes to the objects of a group that the cluster itself keeps. */
export class Fence {
  private readonly name: string;

  constructor(private readonly options: FenceOptions) {
    this.name = ADOPTION_PREFIX + options.group;
  }

  /**
   * Creates or repairs the policy. Returns its identity: a different one means that the policy was missing or changed for a moment.
   */
  async put(through?: FenceException): Promise<string> {
    const policy = await this.apply(POLICIES, this.policy(through));
    const binding = await this.apply(BINDINGS, this.binding());
    return identityOf([policy, binding]);
  }

  /** Creates a policy that denies nothing but a Lease that does not exist. Returns by what `isEnforcedBy` finds it; `id` is another one each time. */
  async rehearse(id: string): Promise<FenceException> {
    const through = { user: '', version: 'rehearsal', attempt: id };
    const { spec, ...policy } = this.policy(through);
    const [, lease] = objectsOf(objectAt(spec as JsonObject, 'matchConstraints')?.['resourceRules']);
    const validations = [{ expression: 'false', reason: 'Forbidden' }];
    const matchConstraints = { resourceRules: lease === undefined ? [] : [lease] };
    await this.apply(POLICIES, { ...policy, spec: { failurePolicy: 'Fail', matchConstraints, validations } });
    await this.apply(BINDINGS, this.binding());
    return through;
  }

  /** Returns the identity; '' if the policy is missing. */
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
   * Reports whether a kube-apiserver enforces the policy, with this exception. The same policy covers the group and a Lease that does not
   * exist: a server that denies the Lease denies the group, and no object of the group has to be created to find out.
   */
  async isEnforcedBy(server: KubeApiserver, through?: FenceException): Promise<boolean> {
    const { namespace } = this.options;
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases?dryRun=All`;
    const metadata = { name: this.probe(through), namespace };
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

  /** The name of the Lease that the policy covers: another one for each exception. */
  private probe(through: FenceException | undefined): string {
    if (through === undefined) return this.name;
    const { version, attempt } = through;
    return `${this.name}.${version}${attempt === undefined ? '' : `.${attempt}`}`;
  }

  private policy(through: FenceException | undefined): JsonObject {
    const { group } = this.options;
    const operations = ['CREATE', 'UPDATE', 'DELETE'];
    const routes = through?.routes ?? [];
    const isRoute = `request.requestResource.group == '${ROUTES}'`;
    const isUser = `request.userInfo.username == ${JSON.stringify(through?.user ?? '')}`;
    return {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: this.name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            // Including subresources.
            { apiGroups: [group], apiVersions: ['*'], resources: ['*/*'], operations },
            {
              apiGroups: ['coordination.k8s.io'],
              apiVersions: ['*'],
              resources: ['leases'],
              resourceNames: [this.probe(through)],
              operations: ['CREATE'],
            },
            ...(routes.length === 0
              ? []
              : [
                  {
                    apiGroups: [ROUTES],
                    apiVersions: ['*'],
                    resources: ['apiservices'],
                    resourceNames: [...routes],
                    operations: ['UPDATE', 'DELETE'],
                  },
                ]),
          ],
        },
        // Clients take Invalid as final, and retry on Forbidden.
        validations: [
          {
            expression:
              through === undefined
                ? 'false'
                : `${isRoute} || (request.requestResource.version == '${through.version}' && ${isUser})`,
            reason: 'Forbidden',
            message: `${group} is being moved into Annex, or has been: the cluster's own copy accepts no writes. Try again in a few seconds.`,
          },
          ...(routes.length === 0
            ? []
            : [
                {
                  expression: `!(${isRoute}) || ${isUser} || request.userInfo.username in ${JSON.stringify(MAINTAINERS)}`,
                  reason: 'Forbidden',
                  message: `${group} is returning from Annex to the cluster: only Annex changes its APIServices until then. To do it nevertheless, delete the ValidatingAdmissionPolicy ${this.name} first.`,
                },
              ]),
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
    EXCEPTIONS.some((field) => spec[field] !== undefined) ||
    objectsOf(constraints['excludeResourceRules']).length > 0 ||
    selectors.some((field) => Object.keys(objectAt(constraints, field) ?? {}).length > 0)
  );
}

const identityOf = (objects: readonly KubeObject[]): string =>
  objects.map(({ metadata: { uid = '', generation = 0 } }) => `${uid}/${generation}`).join();
