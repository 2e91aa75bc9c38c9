import { newInternalError, newNotFound } from '../../apimachinery/meta/errors.js';
import type { LabelSet } from '../../apimachinery/selectors/labels.js';
import type { GroupResource, KubeObject } from '../../apimachinery/meta/meta.js';
import type { AdmissionAttributes, VersionedResource } from '../interfaces.js';
import type { NamespaceSource } from '../sources.js';
import { type MatchCriteria, readable } from './criteria.js';
import { type Rule, ruleMatches } from './rules.js';
import { featureGates } from '../../util/feature-gates.js';
import { type MaybePromise, then } from '../../util/maybe-promise.js';

/** The resources of policies and their bindings, which only policies from files match. */
const POLICY_RESOURCES: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
  'admissionregistration.k8s.io/mutatingadmissionpolicies',
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings',
]);

/** The resources that configure admission, which only webhooks from files match. */
const CONFIGURATION_RESOURCES: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  ...POLICY_RESOURCES,
]);

const keyOf = ({ group, resource }: GroupResource): string => `${group}/${resource}`;

export const isPolicyResource = (resource: GroupResource): boolean => POLICY_RESOURCES.has(keyOf(resource));

export const isConfigurationResource = (resource: GroupResource): boolean =>
  CONFIGURATION_RESOURCES.has(keyOf(resource));

/** Authentication and authorization reviews, by group and resource. */
export const VIRTUAL_RESOURCES: ReadonlySet<string> = new Set([
  'authentication.k8s.io/selfsubjectreviews',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
]);

/** Reports whether a request is for a review, which the request of a webhook or policy may need. */
export const isReview = ({ resource }: AdmissionAttributes): boolean => VIRTUAL_RESOURCES.has(keyOf(resource));

/** Reports whether no webhook is called for a request. */
export const isExempt = (attributes: AdmissionAttributes): boolean =>
  featureGates.enabled('ExcludeAdmissionWebhookVirtualResources') && isReview(attributes);

/**
 * Returns the resource and kind under which the criteria match a request, or undefined if they do not. Rules are
 * checked first because they are cheapest; the result does not depend on the order. Throws ApiError if a namespace
 * cannot be read or a selector cannot be parsed.
 */
export function match(
  criteria: MatchCriteria,
  attributes: AdmissionAttributes,
  namespaces: NamespaceSource,
): MaybePromise<VersionedResource | undefined> {
  const matched = matchRules(criteria, attributes);
  if (matched === undefined) return undefined;
  // A selector that does not match takes precedence over one that cannot be parsed.
  let fault: unknown;
  try {
    if (!matchesObject(criteria, attributes)) return undefined;
  } catch (error) {
    fault = error;
  }
  const decide = (selected: boolean): VersionedResource | undefined => {
    if (!selected) return undefined;
    if (fault !== undefined) throw fault as Error;
    return matched;
  };
  const selected = matchesNamespace(criteria, attributes, namespaces);
  return then(selected, decide);
}

function matchRules(criteria: MatchCriteria, attributes: AdmissionAttributes): VersionedResource | undefined {
  const { rules, excluded, equivalent } = criteria;
  if (firstMatch(excluded, equivalent, attributes) !== undefined) return undefined;
  if (rules.length === 0) {
    return criteria.matchesWithoutRules ? { resource: attributes.resource, kind: attributes.kind } : undefined;
  }
  return firstMatch(rules, equivalent, attributes);
}

/** Prefers the request's own version to other versions, then earlier rules to later ones. */
function firstMatch(
  rules: readonly Rule[],
  equivalent: boolean,
  attributes: AdmissionAttributes,
): VersionedResource | undefined {
  const { resource, kind, versions } = attributes;
  if (rules.some((rule) => ruleMatches(rule, attributes, resource))) return { resource, kind };
  if (!equivalent || versions === undefined) return undefined;
  for (const rule of rules) {
    for (const other of versions.equivalents) {
      const { group, version, resource: plural } = other.resource;
      if (group === resource.group && version === resource.version && plural === resource.resource) continue;
      if (ruleMatches(rule, attributes, other.resource)) return other;
    }
  }
  return undefined;
}

function matchesObject({ objectSelector }: MatchCriteria, { object, oldObject }: AdmissionAttributes): boolean {
  const selector = readable(objectSelector);
  if (selector.empty) return true;
  return [object, oldObject].some((candidate) => candidate !== undefined && selector.matches(labelsOf(candidate)));
}

const labelsOf = (object: KubeObject): LabelSet | undefined => object.metadata.labels;

/** Cluster-scoped objects other than namespaces always match. */
function matchesNamespace(
  { namespaceSelector }: MatchCriteria,
  attributes: AdmissionAttributes,
  namespaces: NamespaceSource,
): MaybePromise<boolean> {
  const { namespace, resource, subresource, operation, object } = attributes;
  if (namespace === '' && resource.resource !== 'namespaces') return true;
  const selector = readable(namespaceSelector);
  if (selector.empty) return true;
  // A write to a namespace is matched with the labels that the namespace is about to have.
  const writesNamespace =
    resource.resource === 'namespaces' && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE');
  if (writesNamespace) {
    if (object === undefined) throw newInternalError('object does not implement the Object interfaces');
    return selector.matches(labelsOf(object));
  }
  const decide = (found: KubeObject | undefined): boolean => {
    if (found === undefined) throw newNotFound({ group: '', resource: 'namespaces' }, namespace);
    return selector.matches(labelsOf(found));
  };
  const found = namespaces.get(namespace);
  return then(found, decide);
}
