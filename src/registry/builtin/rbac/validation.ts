import type { ClusterRole, Role, RoleBinding } from '../../../apimachinery/generated/rbac.js';
import { FieldPath, invalid, required, type FieldError } from '../../../apimachinery/meta/field-error.js';
import { deepEqual } from '../../../apimachinery/json/json.js';
import { validateLabelSelector } from '../../../apimachinery/selectors/label-selector-object.js';
import type { Scope } from '../../../apimachinery/meta/meta.js';
import { subdomainErrors, toFieldErrors } from '../../../apimachinery/validation/name-errors.js';
import { nameIsPathSegment } from '../../../apimachinery/validation/names.js';
import { FIELD_IMMUTABLE } from '../../../apimachinery/validation/object-meta.js';
import { choiceIfSet, eachErrors, requiredOr } from '../shared/checks.js';
import { validateCoreMeta } from '../shared/meta.js';
import {
  RBAC_GROUP,
  readRoleRef,
  readRule,
  readSubjects,
  type PolicyRule,
  type Subject,
} from '../../../authorization/rbac/types.js';

/** Validates the name of a role or binding: any path segment. A generateName is validated as a whole name. */
const validateRbacName = (name: string): string[] => nameIsPathSegment(name);
const roleNameErrors = toFieldErrors(validateRbacName);

export function validateRole(role: Role): FieldError[] {
  return [...validateCoreMeta(role.metadata, 'Namespaced', validateRbacName), ...validateRules(role, 'Namespaced')];
}

export function validateClusterRole(role: ClusterRole): FieldError[] {
  const errors = [...validateCoreMeta(role.metadata, 'Cluster', validateRbacName), ...validateRules(role, 'Cluster')];
  const aggregation = role.aggregationRule;
  if (aggregation === undefined) return errors;
  const path = FieldPath.of('aggregationRule', 'clusterRoleSelectors');
  const selectors = aggregation.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    errors.push(required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil'));
  }
  const found = eachErrors(selectors, path, (selector, at) => {
    const faults = validateLabelSelector(selector, at);
    return faults.length === 0 ? [] : [...faults, invalid(at, null, 'invalid label selector.')];
  });
  return [...errors, ...found];
}

const validateRules = (role: Role, scope: Scope): FieldError[] =>
  eachErrors(role.rules, FieldPath.of('rules'), (rule, path) => validateRule(readRule(rule), scope, path));

function validateRule(rule: PolicyRule, scope: Scope, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (rule.verbs.length === 0) errors.push(required(path.child('verbs'), 'verbs must contain at least one value'));
  if (rule.nonResourceURLs.length > 0) {
    const urls = path.child('nonResourceURLs');
    const value = [...rule.nonResourceURLs];
    if (scope === 'Namespaced') errors.push(invalid(urls, value, 'namespaced rules cannot apply to non-resource URLs'));
    if (rule.apiGroups.length > 0 || rule.resources.length > 0 || rule.resourceNames.length > 0) {
      errors.push(invalid(urls, value, 'rules cannot apply to both regular resources and non-resource URLs'));
    }
    return errors;
  }
  if (rule.apiGroups.length === 0) {
    errors.push(required(path.child('apiGroups'), 'resource rules must supply at least one api group'));
  }
  if (rule.resources.length === 0) {
    errors.push(required(path.child('resources'), 'resource rules must supply at least one resource'));
  }
  return errors;
}

export function validateBinding(binding: RoleBinding, scope: Scope): FieldError[] {
  const ref = readRoleRef(binding);
  const path = FieldPath.of('roleRef');
  return [
    ...validateCoreMeta(binding.metadata, scope, validateRbacName),
    ...choiceIfSet(ref.apiGroup, path.child('apiGroup'), [RBAC_GROUP]),
    ...choiceIfSet(ref.kind, path.child('kind'), scope === 'Namespaced' ? ['Role', 'ClusterRole'] : ['ClusterRole']),
    ...requiredOr(ref.name, path.child('name'), roleNameErrors),
    ...eachErrors(readSubjects(binding), FieldPath.of('subjects'), (one, at) => validateSubject(one, scope, at)),
  ];
}

function validateSubject(subject: Subject, scope: Scope, path: FieldPath): FieldError[] {
  const { kind, name, apiGroup, namespace } = subject;
  const isAccount = kind === 'ServiceAccount';
  const errors = requiredOr(name, path.child('name'), isAccount ? subdomainErrors : () => []);
  const kinds = choiceIfSet(kind, path.child('kind'), ['ServiceAccount', 'User', 'Group']);
  if (kinds.length > 0) return [...errors, ...kinds];
  errors.push(...choiceIfSet(apiGroup, path.child('apiGroup'), [isAccount ? '' : RBAC_GROUP]));
  if (isAccount && scope === 'Cluster' && namespace === '') errors.push(required(path.child('namespace')));
  return errors;
}

/** Requires that an update does not change the role of a binding. */
export function roleRefErrors(binding: RoleBinding, old: RoleBinding): FieldError[] {
  const ref = readRoleRef(binding);
  if (deepEqual({ ...ref }, { ...readRoleRef(old) })) return [];
  const shown = { APIGroup: ref.apiGroup, Kind: ref.kind, Name: ref.name };
  return [invalid('roleRef', shown, FIELD_IMMUTABLE)];
}

/** Sets the defaults in place: the API group of the role reference, and that of users and groups. */
export function defaultBinding(binding: RoleBinding): void {
  const ref = binding.roleRef;
  if (ref === undefined) binding.roleRef = { apiGroup: RBAC_GROUP, kind: '', name: '' };
  else ref.apiGroup ||= RBAC_GROUP;
  for (const subject of binding.subjects ?? []) {
    const kind = subject.kind;
    if ((kind === 'User' || kind === 'Group') && !subject.apiGroup) subject.apiGroup = RBAC_GROUP;
  }
}
