import { type FieldError, type FieldPath, invalid, required } from '../../../../apimachinery/meta/field-error.js';
import { isPathSegmentName } from '../../../../apimachinery/validation/names.js';
import { toFieldErrors } from '../../../../apimachinery/validation/name-errors.js';
import type { NamedRuleWithOperations } from '../../../../apimachinery/generated/admissionregistration.js';
import { choiceIfSet, eachErrors, noDuplicates } from '../../shared/checks.js';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];

/** Validates the operations and resources of a rule (RuleWithOperations). */
export function validateRuleWithOperations(rule: NamedRuleWithOperations, path: FieldPath): FieldError[] {
  const operations = rule.operations ?? [];
  const versions = rule.apiVersions ?? [];
  const [operationsAt, versionsAt] = [path.child('operations'), path.child('apiVersions')];
  return [
    ...anyAloneErrors(operations, operationsAt, 'operations'),
    ...eachErrors(operations, operationsAt, (operation, at) => choiceIfSet(operation, at, OPERATIONS)),
    ...anyAloneErrors(rule.apiGroups ?? [], path.child('apiGroups'), 'API groups'),
    ...anyAloneErrors(versions, versionsAt, 'API versions'),
    ...eachErrors(versions, versionsAt, (version, at) => (version === '' ? [required(at)] : [])),
    ...validateResources(rule.resources ?? [], path.child('resources')),
    ...choiceIfSet(rule.scope, path.child('scope'), SCOPES),
  ];
}

/** Requires a value, and that '*' is the only one. */
function anyAloneErrors(values: readonly string[], path: FieldPath, what: string): FieldError[] {
  if (values.length === 0) return [required(path)];
  if (values.length === 1 || !values.includes('*')) return [];
  return [invalid(path, [...values], `if '*' is present, must not specify other ${what}`)];
}

function validateResources(resources: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (resources.length === 0) errors.push(required(path));
  /** The resources `x` of `x/*`, and the subresources `x` of `*` + `/x`. */
  const anySubresource = new Set<string>();
  const anyResource = new Set<string>();
  resources.forEach((entry, i) => {
    if (entry === '') {
      errors.push(required(path.index(i)));
      return;
    }
    const slash = entry.indexOf('/');
    if (slash < 0) return;
    const [resource, subresource] = [entry.slice(0, slash), entry.slice(slash + 1)];
    if (anySubresource.has(resource)) {
      errors.push(invalid(path.index(i), entry, `if '${resource}/*' is present, must not specify ${entry}`));
    }
    if (anyResource.has(subresource)) {
      errors.push(invalid(path.index(i), entry, `if '*/${subresource}' is present, must not specify ${entry}`));
    }
    if (subresource === '*') anySubresource.add(resource);
    if (resource === '*') anyResource.add(subresource);
  });
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(invalid(path, [...resources], "if '*/*' is present, must not specify other resources"));
  }
  const lastWhole = resources.findLast((entry) => entry !== '' && !entry.includes('/')) ?? '*';
  if (resources.includes('*') && lastWhole !== '*') {
    const why = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalid(path, [...resources], why));
  }
  return errors;
}

const segmentErrors = toFieldErrors(isPathSegmentName);

/** Validates a rule that may name objects (NamedRuleWithOperations). */
export function validateNamedRule(rule: NamedRuleWithOperations, path: FieldPath): FieldError[] {
  const again = noDuplicates();
  return [
    ...eachErrors(rule.resourceNames, path.child('resourceNames'), (name, at) => [
      ...segmentErrors(name, at),
      ...again(name, at),
    ]),
    ...validateRuleWithOperations(rule, path),
  ];
}
