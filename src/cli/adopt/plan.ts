import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json/json.js';
import { objectsOf, textOf, textsOf } from '../../apimachinery/json/values.js';
import type { ClusterClient } from '../../client/cluster-client.js';

/** Objects that are looked at, of each type, for what they have in common. */
const SAMPLE = 100;
const READING = ['get', 'list', 'watch'];
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

export type Cluster = Pick<ClusterClient, 'call' | 'must'>;

/** One type of the group. */
export interface TypePlan {
  readonly resource: string;
  readonly kind: string;
  readonly scope: string;
  readonly versions: readonly string[];
  readonly storedAs: string;
  readonly conversion: string;
  readonly objects: number;
  /** Of their JSON, reckoned from some of them. */
  readonly bytes: number;
  /** Of those that were looked at. */
  readonly managers: readonly string[];
  readonly owners: readonly string[];
  readonly withFinalizers: boolean;
}

/** What is known before anything happens. */
export interface Plan {
  readonly group: string;
  readonly types: readonly TypePlan[];
  /** Webhook configurations and policies that match types of the group. */
  readonly admission: readonly string[];
  /** Quotas on the number of its objects. */
  readonly quotas: readonly string[];
  /** What keeps it from being adopted at all. */
  readonly blocks: readonly string[];
  /** What to know before. */
  readonly notes: readonly string[];
  /** Verbs that the account of Annex lacks, by resource. */
  readonly missingRights: readonly { readonly resource: string; readonly verbs: readonly string[] }[];
}

export interface PlanOptions {
  readonly group: string;
  /** `<namespace>/<name>` of the service account of Annex. */
  readonly account: string;
}

/** Looks at a group and at what has to do with it; changes nothing. */
export async function makePlan(cluster: Cluster, { group, account }: PlanOptions): Promise<Plan> {
  const crds = await list(cluster, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
  const wanted = crds.filter((crd) => stringAt(objectAt(crd, 'spec'), 'group') === group);
  const types: TypePlan[] = [];
  for (const crd of wanted) types.push(await typePlan(cluster, group, crd));
  const blocks = [
    ...(types.length === 0 ? [`the cluster has no CustomResourceDefinition of the group ${group}`] : []),
    ...(await annexBlocks(cluster)),
    ...(await apiServiceBlocks(cluster, group, types)),
  ];
  return {
    group,
    types,
    admission: await matching(cluster, group, types),
    quotas: await quotasOn(cluster, group, types),
    blocks,
    notes: [...(await switchNotes(cluster)), ...types.flatMap(typeNotes)],
    missingRights: await missingRights(cluster, group, types, account),
  };
}

async function typePlan(cluster: Cluster, group: string, crd: JsonObject): Promise<TypePlan> {
  const spec = objectAt(crd, 'spec');
  const names = objectAt(spec, 'names');
  const versions = objectsOf(spec?.['versions']);
  const stored = versions.find((version) => version['storage'] === true);
  const served = versions.filter((version) => version['served'] === true).map((version) => textOf(version['name']));
  const resource = textOf(names?.['plural']);
  const version = stored?.['served'] === true ? textOf(stored['name']) : (served[0] ?? '');
  const page = await cluster.must('GET', `/apis/${group}/${version}/${resource}?limit=${SAMPLE}`);
  const sample = objectsOf(page?.['items']);
  const remaining = objectAt(page, 'metadata')?.['remainingItemCount'];
  const objects = sample.length + (typeof remaining === 'number' ? remaining : 0);
  const size = sample.reduce((sum, object) => sum + Buffer.byteLength(JSON.stringify(object)), 0);
  const metadata = sample.map((object) => objectAt(object, 'metadata'));
  const all = (field: string, name: string): string[] => [
    ...new Set(metadata.flatMap((one) => objectsOf(one?.[field]).map((entry) => textOf(entry[name])))),
  ];
  return {
    resource,
    kind: textOf(names?.['kind']),
    scope: textOf(spec?.['scope']),
    versions: served,
    storedAs: textOf(stored?.['name']),
    conversion: stringAt(objectAt(spec, 'conversion'), 'strategy') ?? 'None',
    objects,
    bytes: sample.length === 0 ? 0 : Math.round((size / sample.length) * objects),
    managers: all('managedFields', 'manager').sort(),
    owners: all('ownerReferences', 'kind').sort(),
    withFinalizers: metadata.some((one) => textsOf(one?.['finalizers']).length > 0),
  };
}

async function annexBlocks(cluster: Cluster): Promise<string[]> {
  const { status } = await cluster.call('GET', '/apis/kubeannex.io/v1alpha1');
  if (status === 200) return [];
  return [`the cluster does not serve kubeannex.io/v1alpha1 (status ${status}): Annex has to be installed, and ready`];
}

async function apiServiceBlocks(cluster: Cluster, group: string, types: readonly TypePlan[]): Promise<string[]> {
  const blocks: string[] = [];
  for (const version of new Set(types.flatMap(({ versions }) => versions))) {
    const name = `${version}.${group}`;
    const service = await cluster.must('GET', `/apis/apiregistration.k8s.io/v1/apiservices/${name}`);
    const target = objectAt(objectAt(service, 'spec'), 'service');
    if (target === undefined) continue;
    const to = `${textOf(target['namespace'])}/${textOf(target['name'])}`;
    blocks.push(`the APIService ${name} leads to the Service ${to}: another server serves the group`);
  }
  return blocks;
}

async function switchNotes(cluster: Cluster): Promise<string[]> {
  const { status, body } = await cluster.call('GET', ADMISSION);
  const served = status === 200 ? objectsOf(body['resources']).map(({ name }) => textOf(name)) : [];
  return [
    'objects that are created in Annex get another uid when the group goes back: annex release --dry-run looks for what they own elsewhere',
    ...(served.includes('validatingadmissionpolicies')
      ? []
      : ['the cluster does not serve ValidatingAdmissionPolicy: it can be rehearsed, and not switched']),
  ];
}

const typeNotes = ({ resource, conversion }: TypePlan): string[] =>
  conversion === 'Webhook' ? [`${resource} has a conversion webhook, which Annex calls when it serves the group`] : [];

/** Configurations whose rules name the group, or all. */
async function matching(cluster: Cluster, group: string, types: readonly TypePlan[]): Promise<string[]> {
  const found: string[] = [];
  const resources = new Set(types.map(({ resource }) => resource));
  const matches = (rule: JsonObject): boolean =>
    textsOf(rule['apiGroups']).some((one) => one === group || one === '*') &&
    textsOf(rule['resources']).some((one) => one.startsWith('*') || resources.has(one.split('/')[0] ?? ''));
  for (const kind of ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'ValidatingAdmissionPolicy']) {
    const plural = kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : `${kind.toLowerCase()}s`;
    for (const one of await list(cluster, `${ADMISSION}/${plural}`)) {
      const name = stringAt(objectAt(one, 'metadata'), 'name') ?? '';
      const constraints = objectAt(objectAt(one, 'spec'), 'matchConstraints');
      const rules = [
        ...objectsOf(one['webhooks']).flatMap((webhook) => objectsOf(webhook['rules'])),
        ...objectsOf(constraints?.['resourceRules']),
      ];
      if (rules.some(matches)) found.push(`${kind}/${name}`);
    }
  }
  return found;
}

async function quotasOn(cluster: Cluster, group: string, types: readonly TypePlan[]): Promise<string[]> {
  const keys = types.map(({ resource }) => `count/${resource}.${group}`);
  const quotas = await list(cluster, '/api/v1/resourcequotas');
  return quotas.flatMap((quota) => {
    const metadata = objectAt(quota, 'metadata');
    const hard = objectAt(objectAt(quota, 'spec'), 'hard') ?? {};
    const counted = keys.filter((key) => hard[key] !== undefined);
    return counted.length === 0 ? [] : [`${textOf(metadata?.['namespace'])}/${textOf(metadata?.['name'])}`];
  });
}

async function missingRights(
  cluster: Cluster,
  group: string,
  types: readonly TypePlan[],
  account: string,
): Promise<Plan['missingRights']> {
  const [namespace = '', name = ''] = account.split('/');
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const missing: { resource: string; verbs: string[] }[] = [];
  for (const { resource } of types) {
    const verbs: string[] = [];
    for (const verb of READING) {
      const user = `system:serviceaccount:${namespace}:${name}`;
      const spec = { user, groups, resourceAttributes: { verb, group, resource } };
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
      const answer = await cluster.must('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
      if (objectAt(answer, 'status')?.['allowed'] !== true) verbs.push(verb);
    }
    if (verbs.length > 0) missing.push({ resource, verbs });
  }
  return missing;
}

/** All objects of a collection; none where the cluster does not serve it. */
async function list(cluster: Cluster, path: string): Promise<JsonObject[]> {
  const found: JsonObject[] = [];
  for (let token = ''; ;) {
    const more = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
    const page = await cluster.must('GET', `${path}?limit=200${more}`);
    if (page === undefined) return found;
    found.push(...objectsOf(page['items']));
    token = stringAt(objectAt(page, 'metadata'), 'continue') ?? '';
    if (token === '') return found;
  }
}
