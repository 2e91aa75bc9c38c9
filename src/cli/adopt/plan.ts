import { type JsonObject, objectAt, objectsOf, stringAt, stringsOf, textOf } from '../../apimachinery/json/json.js';
import type { MatchingAdmission } from '../../adoption/preflight/admission.js';
import { type Cluster, eachMetadata, listAll } from '../../client/lists.js';
import { readinessOf } from '../../adoption/preflight/readiness.js';
import { serviceAccount } from '../../adoption/preflight/rights.js';
import { dependentsOf, nameOfCollection } from '../../client/dependents.js';

/** The number of objects of each type whose size is measured. */
const SAMPLE = 100;

/** One type of the group. */
export interface TypePlan {
  readonly resource: string;
  readonly kind: string;
  readonly scope: string;
  readonly versions: readonly string[];
  readonly storedAs: string;
  readonly conversion: string;
  readonly objects: number;
  /** The size of their JSON in bytes, estimated from a sample. */
  readonly bytes: number;
  /** Their field managers, according to managedFields. */
  readonly managers: readonly string[];
  /** The kinds of their owners. */
  readonly owners: readonly string[];
  readonly withFinalizers: number;
}

/** Everything known before anything is changed. */
export interface Plan {
  readonly group: string;
  readonly types: readonly TypePlan[];
  /** Webhook configurations and policies that match types of the group. */
  readonly admission: readonly MatchingAdmission[];
  /** Quotas on the number of the group's objects. */
  readonly quotas: readonly string[];
  /** Objects outside the group that its objects own. */
  readonly dependents: {
    /** Their number by `<plural>.<group>`. */
    readonly counts: Readonly<Record<string, number>>;
    /** Resources that could not be listed. */
    readonly unread: readonly string[];
  };
  /** The differences for users afterwards. */
  readonly changes: readonly string[];
  /** The reasons why the group cannot be adopted. */
  readonly blocks: readonly string[];
  /** Rules of the ClusterRole that Annex's service account lacks. */
  readonly missingRights: readonly JsonObject[];
}

export interface PlanOptions {
  readonly group: string;
  /** `<namespace>/<name>` of Annex's service account. */
  readonly account: string;
}

/** Inspects a group and what is related to it; changes nothing. */
export async function makePlan(cluster: Cluster, { group, account }: PlanOptions): Promise<Plan> {
  const crds = await listAll(cluster, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
  const wanted = crds.filter((crd) => stringAt(objectAt(crd, 'spec'), 'group') === group);
  const types: TypePlan[] = [];
  for (const crd of wanted) types.push(await typePlan(cluster, group, crd));
  const plurals = types.map(({ resource, versions }) => ({ plural: resource, versions }));
  const { blocks, missing, admission } = await readinessOf(cluster, group, plurals, serviceAccount(account));
  return {
    group,
    types,
    admission,
    quotas: await quotasOn(cluster, group, types),
    dependents: await countDependents(cluster, group),
    changes: changesFor(group, types),
    blocks: [
      ...(types.length === 0 ? [`the cluster has no CustomResourceDefinition of the group ${group}`] : []),
      ...types.filter(({ versions }) => versions.length === 0).map(({ resource }) => unserved(resource)),
      ...(await annexBlocks(cluster)),
      ...blocks,
    ],
    missingRights: missing.map(({ rule }) => rule),
  };
}

async function countDependents(cluster: Cluster, group: string): Promise<Plan['dependents']> {
  const { collections, unread } = await dependentsOf(cluster, group, new Set());
  const counts = [...collections].map(([collection, owned]) => [nameOfCollection(collection), owned]);
  return { counts: Object.fromEntries(counts) as Record<string, number>, unread: unread.map(nameOfCollection) };
}

const unserved = (resource: string): string => `the cluster serves no version of ${resource}`;

async function typePlan(cluster: Cluster, group: string, crd: JsonObject): Promise<TypePlan> {
  const spec = objectAt(crd, 'spec');
  const names = objectAt(spec, 'names');
  const versions = objectsOf(spec?.['versions']);
  const stored = versions.find((version) => version['storage'] === true);
  const served = versions.filter((version) => version['served'] === true).map((version) => textOf(version['name']));
  const resource = textOf(names?.['plural']);
  const version = stored?.['served'] === true ? textOf(stored['name']) : served[0];
  const found = version === undefined ? NOTHING : await objectsOfType(cluster, `/apis/${group}/${version}/${resource}`);
  return {
    resource,
    kind: textOf(names?.['kind']),
    scope: textOf(spec?.['scope']),
    versions: served,
    storedAs: textOf(stored?.['name']),
    conversion: stringAt(objectAt(spec, 'conversion'), 'strategy') ?? 'None',
    ...found,
  };
}

type Objects = Pick<TypePlan, 'objects' | 'bytes' | 'managers' | 'owners' | 'withFinalizers'>;

const NOTHING: Objects = { objects: 0, bytes: 0, managers: [], owners: [], withFinalizers: 0 };

async function objectsOfType(cluster: Cluster, path: string): Promise<Objects> {
  const [managers, owners] = [new Set<string>(), new Set<string>()];
  let [objects, withFinalizers] = [0, 0];
  await eachMetadata(cluster, path, (metadata) => {
    objects++;
    if (stringsOf(metadata['finalizers']).length > 0) withFinalizers++;
    for (const entry of objectsOf(metadata['managedFields'])) managers.add(textOf(entry['manager']));
    for (const entry of objectsOf(metadata['ownerReferences'])) owners.add(textOf(entry['kind']));
  });
  const sample = objectsOf((await cluster.must('GET', `${path}?limit=${SAMPLE}`))?.['items']);
  const size = sample.reduce((sum, object) => sum + Buffer.byteLength(JSON.stringify(object)), 0);
  const bytes = sample.length === 0 ? 0 : Math.round((size / sample.length) * objects);
  return { objects, bytes, managers: [...managers].sort(), owners: [...owners].sort(), withFinalizers };
}

async function annexBlocks(cluster: Cluster): Promise<string[]> {
  const { status } = await cluster.call('GET', '/apis/kubeannex.io/v1alpha1');
  if (status === 200) return [];
  return [`the cluster does not serve kubeannex.io/v1alpha1 (status ${status}): Annex must be installed and ready`];
}

function changesFor(group: string, types: readonly TypePlan[]): string[] {
  const converted = types.filter(({ conversion }) => conversion === 'Webhook').map(({ resource }) => resource);
  const resource = types[0]?.resource ?? '';
  return [
    'during the switch, writes are refused for a few seconds, and watches end once, so that informers relist; reads continue',
    `the definitions become ResourceDefinitions: kubectl edit rd ${resource}.${group}; the CustomResourceDefinitions remain, without a served version`,
    `deleting a ResourceDefinition deletes its objects; deleting the CustomResourceDefinition does not`,
    `RBAC for ${group} applies as before; Annex enforces admission, with the webhooks and policies above`,
    'backups of etcd no longer contain the objects: back up MongoDB; while Annex is down, the group is unavailable, and the cluster cannot finish deleting namespaces',
    ...(converted.length > 0
      ? [`Annex calls the conversion webhook of ${converted.join(', ')} and needs network access to it`]
      : []),
    'objects created in Annex get a new uid when the group returns to the cluster: annex release --dry-run lists the objects that they own in other groups',
  ];
}

async function quotasOn(cluster: Cluster, group: string, types: readonly TypePlan[]): Promise<string[]> {
  const keys = types.map(({ resource }) => `count/${resource}.${group}`);
  const quotas = await listAll(cluster, '/api/v1/resourcequotas');
  return quotas.flatMap((quota) => {
    const metadata = objectAt(quota, 'metadata');
    const hard = objectAt(objectAt(quota, 'spec'), 'hard') ?? {};
    const counted = keys.filter((key) => hard[key] !== undefined);
    return counted.length === 0 ? [] : [`${textOf(metadata?.['namespace'])}/${textOf(metadata?.['name'])}`];
  });
}
