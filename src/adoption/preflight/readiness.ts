import { type JsonObject, objectAt, objectsOf, stringsOf, textOf } from '../../apimachinery/json/json.js';
import { type MatchingAdmission, matchingAdmission } from './admission.js';
import type { Cluster } from '../../client/lists.js';
import { type AdoptionRight, adoptionRights, missingRightsOf, type RightsSubject } from './rights.js';

/** The obstacles to switching a group to Annex, and the admission that applies to it afterwards. */
export interface Readiness {
  /** The reasons why the group cannot be switched. */
  readonly blocks: readonly string[];
  readonly missing: readonly AdoptionRight[];
  readonly admission: readonly MatchingAdmission[];
}

export interface GroupType {
  readonly plural: string;
  readonly versions: readonly string[];
}

/** Inspects the cluster around a group; changes nothing. */
export async function readinessOf(
  cluster: Cluster,
  group: string,
  types: readonly GroupType[],
  subject: RightsSubject,
): Promise<Readiness> {
  const plurals = types.map(({ plural }) => plural);
  return {
    blocks: [...(await policyBlocks(cluster)), ...(await apiServiceBlocks(cluster, group, types))],
    missing: await missingRightsOf(cluster, adoptionRights(group, plurals), subject),
    admission: await matchingAdmission(cluster, group, new Set(plurals), subject),
  };
}

async function policyBlocks(cluster: Cluster): Promise<string[]> {
  const { status, body } = await cluster.call('GET', '/apis/admissionregistration.k8s.io/v1');
  const served = status === 200 ? objectsOf(body['resources']).map(({ name }) => textOf(name)) : [];
  if (served.includes('validatingadmissionpolicies')) return [];
  return [
    'the cluster does not serve ValidatingAdmissionPolicy v1 (Kubernetes 1.30 or later), which refuses writes while the group moves: the group can be rehearsed, but not switched',
  ];
}

async function apiServiceBlocks(cluster: Cluster, group: string, types: readonly GroupType[]): Promise<string[]> {
  const blocks: string[] = [];
  for (const version of new Set(types.flatMap(({ versions }) => versions))) {
    const name = `${version}.${group}`;
    const service = await cluster.must('GET', `/apis/apiregistration.k8s.io/v1/apiservices/${name}`);
    const target = objectAt(objectAt(service, 'spec'), 'service');
    if (target === undefined) continue;
    const labels = objectAt(objectAt(service, 'metadata'), 'labels');
    const to = `${textOf(target['namespace'])}/${textOf(target['name'])}`;
    blocks.push(
      labels?.['app.kubernetes.io/managed-by'] === 'annex'
        ? `the APIService ${name} refers to Annex, which already serves the group`
        : `the APIService ${name} refers to the Service ${to}: another server serves the group`,
    );
  }
  return blocks;
}

/** Formats missing rights for a message. */
export function missingText(missing: readonly AdoptionRight[]): string {
  const ruleText = ({ rule }: { readonly rule: JsonObject }): string => {
    const paths = stringsOf(rule['nonResourceURLs']);
    const [group = ''] = stringsOf(rule['apiGroups']);
    const what = paths.length > 0 ? paths : stringsOf(rule['resources']).map((one) => `${one}.${group}`);
    return `${stringsOf(rule['verbs']).join(', ')} ${what.join(', ')}`;
  };
  return missing.map(ruleText).join('; ');
}
