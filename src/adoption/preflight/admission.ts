import { isOfAdoption } from '../protocol/names.js';
import { type JsonObject, objectAt, objectsOf, stringAt, stringsOf, textOf } from '../../apimachinery/json/json.js';
import { parseGroupVersion, nameOf } from '../../apimachinery/meta/meta.js';
import { type Cluster, listAll } from '../../client/lists.js';
import { mayFollow, type RightsSubject } from './rights.js';

const GROUP = 'admissionregistration.k8s.io';
/** Newest first. */
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'];
const KINDS: Readonly<Record<string, string>> = {
  MutatingWebhookConfiguration: 'mutatingwebhookconfigurations',
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations',
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};

/** A webhook configuration or admission policy of the cluster whose rules match types of a group. */
export interface MatchingAdmission {
  /** For example `ValidatingAdmissionPolicy/colours`. */
  readonly name: string;
  /** True if it also applies when Annex serves the group. */
  readonly enforced: boolean;
  /** The reason why it does not, or a remark about it. */
  readonly note: string;
}

/** Returns everything in the cluster that admits requests to the group now. */
export async function matchingAdmission(
  cluster: Cluster,
  group: string,
  plurals: ReadonlySet<string>,
  subject: RightsSubject,
): Promise<MatchingAdmission[]> {
  const found: MatchingAdmission[] = [];
  for (const [kind, resource] of Object.entries(KINDS)) {
    const all = (await newest(cluster, resource)).filter((one) => matches(one, group, plurals));
    if (all.length === 0) continue;
    const isPolicy = kind.endsWith('Policy');
    const followed = isPolicy ? [resource, `${resource.slice(0, -3)}ybindings`] : [resource];
    const unread: string[] = [];
    for (const one of followed) if (!(await mayFollow(cluster, GROUP, one, subject))) unread.push(one);
    const bound = isPolicy ? await boundPolicies(cluster, followed[1] ?? '') : undefined;
    for (const one of all) {
      const name = nameOf(one);
      const params = unread.length === 0 ? await unreadParams(cluster, one, subject) : '';
      const why = unread.length > 0 ? `Annex may not list and watch ${unread.join(' and ')}` : params;
      const idle = bound?.has(name) === false ? 'it has no binding and therefore no effect' : '';
      found.push({ name: `${kind}/${name}`, enforced: why === '', note: why === '' ? idle : why });
    }
  }
  return found;
}

async function newest(cluster: Cluster, resource: string): Promise<JsonObject[]> {
  for (const version of VERSIONS) {
    const { status, body } = await cluster.call('GET', `/apis/${GROUP}/${version}`);
    if (status !== 200 || !objectsOf(body['resources']).some(({ name }) => name === resource)) continue;
    return listAll(cluster, `/apis/${GROUP}/${version}/${resource}`);
  }
  return [];
}

/** Returns the names of the policies that have a binding. */
async function boundPolicies(cluster: Cluster, bindings: string): Promise<ReadonlySet<string>> {
  const all = await newest(cluster, bindings);
  return new Set(all.map((one) => textOf(objectAt(one, 'spec')?.['policyName'])));
}

/** Reports whether a rule names a type of the group; selectors and conditions depend on objects and are ignored. */
function matches(configuration: JsonObject, group: string, plurals: ReadonlySet<string>): boolean {
  if (isOfAdoption(nameOf(configuration))) return false;
  const constraints = objectAt(objectAt(configuration, 'spec'), 'matchConstraints');
  const rules = [
    ...objectsOf(configuration['webhooks']).flatMap((webhook) => objectsOf(webhook['rules'])),
    ...objectsOf(constraints?.['resourceRules']),
  ];
  return rules.some(
    (rule) =>
      stringsOf(rule['apiGroups']).some((one) => one === group || one === '*') &&
      stringsOf(rule['resources']).some((one) => one.startsWith('*') || plurals.has(one.split('/')[0] ?? '')),
  );
}

/** Returns why the params of a policy cannot be read; '' if they can, or if it has none. */
async function unreadParams(cluster: Cluster, policy: JsonObject, subject: RightsSubject): Promise<string> {
  const paramKind = objectAt(objectAt(policy, 'spec'), 'paramKind');
  const groupVersion = parseGroupVersion(stringAt(paramKind, 'apiVersion') ?? '');
  if (paramKind === undefined || groupVersion === undefined) return '';
  const { group, version } = groupVersion;
  const { body } = await cluster.call('GET', group === '' ? `/api/${version}` : `/apis/${group}/${version}`);
  const type = objectsOf(body['resources']).find(
    ({ name, kind }) => kind === paramKind['kind'] && !textOf(name).includes('/'),
  );
  if (type === undefined)
    return `the cluster does not serve its params, ${textOf(paramKind['kind'])} of ${group}/${version}`;
  const plural = textOf(type['name']);
  if (await mayFollow(cluster, group, plural, subject)) return '';
  return `Annex may not list and watch its params, ${group === '' ? plural : `${plural}.${group}`} (the chart's value admission.paramRules)`;
}
