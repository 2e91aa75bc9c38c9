import { discover } from '../aggregation/admission/served-versions.js';
import { type JsonObject, objectAt, objectsOf, stringAt } from '../apimachinery/json/json.js';
import { formatGroupVersionKind, type GroupVersionKind, parseGroupVersion } from '../apimachinery/meta/meta.js';
import { checkRights, type Cluster, type Right, type ServiceOptions } from './cluster.js';
import { type Finding, ok, warning, failed } from './finding.js';

const GROUP = 'admissionregistration.k8s.io';
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];
const POLICIES = ['validatingadmissionpolicies', 'mutatingadmissionpolicies'];
const FOLLOWED = [
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  ...POLICIES,
  'mutatingadmissionpolicybindings',
  'validatingadmissionpolicybindings',
];

const CHECK = 'rights to follow admission';
const PARAMS = 'rights to read params';

/** Checks whether the configurations of the cluster can be followed, and the params that its policies refer to. */
export async function checkAdmission(cluster: Cluster, options: ServiceOptions): Promise<Finding[]> {
  if (!options.admissionFromCluster) {
    return [
      warning(
        'admission',
        "--admission-from-cluster=false: the cluster's webhooks and policies do not apply to the types that Annex serves",
      ),
    ];
  }
  const rights = FOLLOWED.map((resource): Right => ({ verbs: ['list', 'watch'], group: GROUP, resource }));
  const followed = await checkRights(CHECK, cluster, rights);
  return followed.verdict === 'failed' ? [followed] : [followed, await checkParams(cluster)];
}

async function checkParams(cluster: Cluster): Promise<Finding> {
  const hint =
    "allow the identity in use to list and watch them, for example with the chart's value admission.paramRules";
  try {
    const kinds = await paramKinds(cluster);
    const rights: Right[] = [];
    const unknown: string[] = [];
    for (const kind of kinds) {
      const type = (await discover(cluster, kind)).find((one) => one.kind === kind.kind);
      if (type === undefined) unknown.push(formatGroupVersionKind(kind));
      else rights.push({ verbs: ['list', 'watch'], group: kind.group, resource: type.resource });
    }
    const found = await checkRights(PARAMS, cluster, rights);
    if (found.verdict === 'failed') return { ...found, hint };
    if (unknown.length > 0) return warning(PARAMS, `the cluster does not serve ${unknown.join('; ')}`);
    return ok(PARAMS, kinds.length === 0 ? 'no policy refers to any' : kinds.map(formatGroupVersionKind).join('; '));
  } catch (error) {
    return failed(PARAMS, error, hint);
  }
}

/** Returns the kinds that policies of the cluster refer to, each once. */
async function paramKinds(cluster: Cluster): Promise<GroupVersionKind[]> {
  const found = new Map<string, GroupVersionKind>();
  for (const resource of POLICIES) {
    for (const policy of await policies(cluster, resource)) {
      const paramKind = objectAt(objectAt(policy, 'spec'), 'paramKind');
      const groupVersion = parseGroupVersion(stringAt(paramKind, 'apiVersion') ?? '');
      if (paramKind === undefined || groupVersion === undefined) continue;
      const kind = { ...groupVersion, kind: stringAt(paramKind, 'kind') ?? '' };
      found.set(formatGroupVersionKind(kind), kind);
    }
  }
  return [...found.values()];
}

/** Reads them in the newest version that the cluster serves. */
async function policies(cluster: Cluster, resource: string): Promise<JsonObject[]> {
  for (const version of VERSIONS) {
    const list = await cluster.must('GET', `/apis/${GROUP}/${version}/${resource}`);
    if (list !== undefined) return objectsOf(list['items']);
  }
  return [];
}
