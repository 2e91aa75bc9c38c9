import { quoteList } from '../../../apimachinery/meta/meta.js';
import type { PolicyRule } from '../../../authorization/rbac/types.js';
import { trimRight } from '../../../util/text/trim.js';

const NONE: readonly string[] = [];

/**
 * The number of single permissions that are looked at. A rule stands for the product of its lists: one of 60 KiB for 10^10 permissions.
 * Those beyond it count as missing, unless one rule of the owner covers the wanted rule as a whole.
 */
const MAX_PARTS = 10_000;

/**
 * Returns the wanted permissions that the owner's rules do not cover, as rules with one group, resource, verb and name each
 * (kube-apiserver's `Covers`). Of very many, it returns the first ones.
 */
export function uncovered(owner: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing: PolicyRule[] = [];
  let parts = 0;
  for (const rule of wanted) {
    if (partsOf(rule) > MAX_SIMPLE_PARTS && owner.some((held) => coversWhole(held, rule))) continue;
    for (const part of breakDown(rule)) {
      if (++parts > MAX_PARTS) return missing.length > 0 ? missing : [part];
      if (!owner.some((held) => covers(held, part))) missing.push(part);
    }
  }
  return missing;
}

/** Rules with more permissions are first compared as a whole. */
const MAX_SIMPLE_PARTS = 64;

const partsOf = ({ apiGroups, resources, verbs, resourceNames, nonResourceURLs }: PolicyRule): number =>
  verbs.length * (apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length);

/** Reports whether a rule covers each permission of another one. False does not mean that one is missing. */
function coversWhole(held: PolicyRule, rule: PolicyRule): boolean {
  const { apiGroups, resources, verbs, resourceNames, nonResourceURLs } = rule;
  const resourcesHeld = new Set(held.resources);
  const names = new Set(held.resourceNames);
  return (
    holdsAll(held.verbs, verbs) &&
    holdsAll(held.apiGroups, apiGroups) &&
    resources.every((resource) => resourceCovered(resourcesHeld, resource)) &&
    (names.size === 0 || (resourceNames.length > 0 && resourceNames.every((name) => names.has(name)))) &&
    (nonResourceURLs.length === 0 || (names.size === 0 && held.nonResourceURLs.includes('*')))
  );
}

function holdsAll(held: readonly string[], wanted: readonly string[]): boolean {
  const known = new Set(held);
  return known.has('*') || wanted.every((one) => known.has(one));
}

function* breakDown(rule: PolicyRule): Iterable<PolicyRule> {
  const names: readonly (string | undefined)[] = rule.resourceNames.length === 0 ? [undefined] : rule.resourceNames;
  for (const apiGroup of rule.apiGroups) {
    for (const resource of rule.resources) {
      for (const verb of rule.verbs) {
        for (const name of names) {
          yield {
            verbs: [verb],
            apiGroups: [apiGroup],
            resources: [resource],
            resourceNames: name === undefined ? NONE : [name],
            nonResourceURLs: NONE,
          };
        }
      }
    }
  }
  for (const url of rule.nonResourceURLs) {
    for (const verb of rule.verbs) {
      yield { verbs: [verb], apiGroups: NONE, resources: NONE, resourceNames: NONE, nonResourceURLs: [url] };
    }
  }
}

/** Reports whether a rule covers `part`, which comes from breakDown. */
function covers(owner: PolicyRule, part: PolicyRule): boolean {
  if (!hasOrAll(owner.verbs, part.verbs[0]) || !hasOrAll(owner.apiGroups, part.apiGroups[0])) return false;
  const resource = part.resources[0];
  if (resource !== undefined && !resourceCovered({ has: (one) => owner.resources.includes(one) }, resource))
    return false;
  const name = part.resourceNames[0];
  if (owner.resourceNames.length > 0 && (name === undefined || !owner.resourceNames.includes(name))) return false;
  const url = part.nonResourceURLs[0];
  return url === undefined || owner.nonResourceURLs.some((held) => urlCovers(held, url));
}

function hasOrAll(held: readonly string[], wanted: string | undefined): boolean {
  return wanted === undefined || held.includes('*') || held.includes(wanted);
}

function resourceCovered(held: Pick<ReadonlySet<string>, 'has'>, wanted: string): boolean {
  if (held.has('*') || held.has(wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash >= 0 && held.has(`*${wanted.slice(slash)}`);
}

function urlCovers(held: string, wanted: string): boolean {
  return held === wanted || (held.endsWith('*') && wanted.startsWith(trimRight(held, '*')));
}

/** Merges the verbs of rules for the same resource and name. All other rules stay unchanged. */
export function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const others: PolicyRule[] = [];
  const simple = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  for (const rule of rules) {
    const { apiGroups, resources, resourceNames, nonResourceURLs, verbs } = rule;
    if (resourceNames.length > 1 || nonResourceURLs.length > 0 || apiGroups.length !== 1 || resources.length !== 1) {
      others.push(rule);
      continue;
    }
    const key = JSON.stringify([apiGroups, resources, resourceNames]);
    const known = simple.get(key);
    if (known === undefined) simple.set(key, { ...rule, verbs: [...verbs] });
    else known.verbs.push(...verbs);
  }
  return [...others, ...simple.values()];
}

/** Formats a rule as escalation messages show it: `{APIGroups:["" "apps"], Resources:["pods"], Verbs:["get"]}`. */
export function compactString(rule: PolicyRule): string {
  const parts: string[] = [];
  const add = (label: string, values: readonly string[]): void => {
    if (values.length > 0) parts.push(`${label}:${quoteList(values)}`);
  };
  add('APIGroups', rule.apiGroups);
  add('Resources', rule.resources);
  add('NonResourceURLs', rule.nonResourceURLs);
  add('ResourceNames', rule.resourceNames);
  add('Verbs', rule.verbs);
  return `{${parts.join(', ')}}`;
}
