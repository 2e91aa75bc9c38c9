import { type JsonObject, objectsOf, stringsOf } from '../../apimachinery/json/json.js';
import type { GroupVersionResource } from '../../apimachinery/meta/meta.js';
import type { AdmissionAttributes } from '../interfaces.js';

/** A RuleWithOperations or NamedRuleWithOperations of admissionregistration.k8s.io. */
export interface Rule {
  readonly operations: readonly string[];
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly SplitResource[];
  readonly scope: string;
  /** The object names that the rule matches; empty: all names. */
  readonly resourceNames: readonly string[];
}

interface SplitResource {
  readonly resource: string;
  readonly subresource: string;
}

export function rulesOf(owner: JsonObject | undefined, field: string): readonly Rule[] {
  return objectsOf(owner?.[field]).map((rule) => ({
    operations: stringsOf(rule['operations']),
    apiGroups: stringsOf(rule['apiGroups']),
    apiVersions: stringsOf(rule['apiVersions']),
    resources: stringsOf(rule['resources']).map(splitResource),
    scope: typeof rule['scope'] === 'string' ? rule['scope'] : '*',
    resourceNames: stringsOf(rule['resourceNames']),
  }));
}

function splitResource(text: string): SplitResource {
  const slash = text.indexOf('/');
  if (slash < 0) return { resource: text, subresource: '' };
  return { resource: text.slice(0, slash), subresource: text.slice(slash + 1) };
}

const includes = (items: readonly string[], wanted: string): boolean => items.includes('*') || items.includes(wanted);

/** Reports whether a rule matches a request, with `resource` in place of the request's resource. */
export function ruleMatches(
  rule: Rule,
  { operation, namespace, name, subresource }: AdmissionAttributes,
  resource: GroupVersionResource,
): boolean {
  return (
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, resource.group) &&
    includes(rule.apiVersions, resource.version) &&
    rule.resources.some(
      (listed) =>
        (listed.resource === '*' || listed.resource === resource.resource) &&
        (listed.subresource === '*' || listed.subresource === subresource),
    ) &&
    scopeMatches(rule.scope, namespace, resource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

/** A namespace is cluster-scoped, although requests for it have a namespace: its own. */
function scopeMatches(scope: string, namespace: string, { group, version, resource }: GroupVersionResource): boolean {
  if (scope === '*') return true;
  const isNamespaced = namespace !== '' && !(group === '' && version === 'v1' && resource === 'namespaces');
  return scope === (isNamespaced ? 'Namespaced' : 'Cluster');
}

/** Reports whether a rule may match any request for a resource, in any version; with `group` undefined, in any group. */
export function ruleMayMatch(rule: Rule, group: string | undefined, resource: string): boolean {
  return (
    (group === undefined || includes(rule.apiGroups, group)) &&
    rule.resources.some((listed) => listed.resource === '*' || listed.resource === resource)
  );
}
