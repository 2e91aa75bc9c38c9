import { ADOPTION_PREFIX, ADOPTION_STAGE } from '../adoption/protocol/names.js';
import { type JsonObject, objectAt, objectsOf, stringAt } from '../apimachinery/json/json.js';
import { SERVED_BEFORE } from '../adoption/cluster/cluster-definitions.js';
import type { Cluster } from './cluster.js';
import { failed, type Finding, ok, skipped, warning } from './finding.js';
import { nameOf, groupOf } from '../apimachinery/meta/meta.js';
import { append } from '../util/append.js';

const CHECK = 'left-overs of adoptions';
const PATHS = {
  adoptions: '/apis/kubeannex.io/v1alpha1/adoptions',
  ours: '/apis/kubeannex.io/v1/resourcedefinitions',
  theirs: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  policies: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
};

type Lists = Readonly<Record<keyof typeof PATHS, readonly JsonObject[]>>;

/** Checks what adoptions have left in the cluster: copies of groups that Annex serves, and leftovers without an Adoption. */
export async function checkLeftOvers(cluster: Cluster): Promise<Finding> {
  try {
    const lists: Record<string, readonly JsonObject[]> = {};
    for (const [name, path] of Object.entries(PATHS)) {
      const { status, body } = await cluster.call('GET', path);
      // The cluster has no objects of a type that it does not serve.
      if (status !== 200 && status !== 404) return skipped(CHECK, `GET ${path}: status ${status}`);
      lists[name] = objectsOf(body['items']);
    }
    return findingOf(lists as Lists);
  } catch (error) {
    return failed(CHECK, error, 'let the cluster reach Annex: see the checks of the APIServices');
  }
}

function findingOf({ adoptions, ours, theirs, policies }: Lists): Finding {
  const adopted = new Set(adoptions.map(nameOf));
  const served = new Set(ours.filter((one) => annotation(one, ADOPTION_STAGE) === 'Served').map(groupOf));
  const stuck = ours.filter((one) => !['', 'Served'].includes(annotation(one, ADOPTION_STAGE)));
  const copies = new Map<string, JsonObject[]>();
  for (const crd of theirs) if (annotation(crd, SERVED_BEFORE) !== '') append(copies, groupOf(crd), crd);
  const fences = policies.map(nameOf).filter((name) => name.startsWith(ADOPTION_PREFIX));
  const broken: string[] = [];
  const kept: string[] = [];
  for (const [group, crds] of copies) {
    const names = crds.map(nameOf).join(' ');
    const going = crds.some((crd) => objectAt(crd, 'metadata')?.['deletionTimestamp'] !== undefined);
    if (served.has(group)) {
      const free = adopted.has(group)
        ? `the Adoption's spec.source.retain: false frees it`
        : `kubectl delete crd ${names} frees it`;
      kept.push(
        going
          ? `the cluster's copy of ${group} is being deleted, but objects with finalizers block the deletion`
          : `Annex serves ${group}, and the cluster keeps a copy in etcd: ${free}`,
      );
    } else if (!adopted.has(group)) broken.push(`no version of ${names} is served, and Annex does not serve ${group}`);
  }
  for (const one of stuck)
    if (!adopted.has(groupOf(one))) broken.push(`${nameOf(one)} accepts no writes, but no Adoption is moving it`);
  for (const fence of fences) {
    const group = fence.slice(ADOPTION_PREFIX.length);
    if (!adopted.has(group) && !copies.has(group))
      kept.push(`the ValidatingAdmissionPolicy ${fence} denies writes to ${group}, which no Adoption is moving`);
  }
  if (broken.length > 0)
    return failed(
      CHECK,
      broken.join('; '),
      `create an Adoption for the group, or set served: true for the versions in the annotation ${SERVED_BEFORE} of the CustomResourceDefinition`,
    );
  return kept.length > 0 ? warning(CHECK, kept.join('; ')) : ok(CHECK, '');
}

const annotation = (object: JsonObject, name: string): string =>
  stringAt(objectAt(objectAt(object, 'metadata'), 'annotations'), name) ?? '';
