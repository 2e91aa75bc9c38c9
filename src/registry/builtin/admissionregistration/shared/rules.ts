import {
  duplicate,
  type FieldError,
  type FieldPath,
  invalid,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { stringsOf } from '../../../../apimachinery/json/values.js';
import { isPathSegmentName } from '../../../../apimachinery/validation/names.js';
import { choiceIfSet } from '../../shared/checks.js';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];

/** Validates the operations and resources of a rule (RuleWithOperations). */
export function validateRuleWithOperations(rule: JsonObject, path: FieldPath): FieldError[] {
  const operations = stringsOf(rule['operations']);
  const at = path.child('operations');
  const errors: FieldError[] = [];
  if (operations.length === 0) errors.push(required(at));
  if (operations.length > 1 && operations.includes('*')) {
    errors.push(invalid(at, [...operations], "if '*' is present, must not specify other operations"));
  }
  operations.forEach((operation, i) => errors.push(...choiceIfSet(operation, at.index(i), OPERATIONS)));
  return [...errors, ...validateRule(rule, path)];
}

function validateRule(rule: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const groups = stringsOf(rule['apiGroups']);
  if (groups.length === 0) errors.push(required(path.child('apiGroups')));
  if (groups.length > 1 && groups.includes('*')) {
    errors.push(invalid(path.child('apiGroups'), [...groups], "if '*' is present, must not specify other API groups"));
  }
  const versions = stringsOf(rule['apiVersions']);
  const at = path.child('apiVersions');
  if (versions.length === 0) errors.push(required(at));
  if (versions.length > 1 && versions.includes('*')) {
    errors.push(invalid(at, [...versions], "if '*' is present, must not specify other API versions"));
  }
  versions.forEach((version, i) => {
    if (version === '') errors.push(required(at.index(i)));
  });
  return [
    ...errors,
    ...validateResources(stringsOf(rule['resources']), path.child('resources')),
    ...choiceIfSet(rule['scope'], path.child('scope'), SCOPES),
  ];
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

/** Validates a rule that may name objects (NamedRuleWithOperations). */
export function validateNamedRule(rule: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  stringsOf(rule['resourceNames']).forEach((name, i) => {
    const at = path.child('resourceNames').index(i);
    for (const text of isPathSegmentName(name)) errors.push(invalid(at, name, text));
    if (seen.has(name)) errors.push(duplicate(at, name));
    seen.add(name);
  });
  return [...errors, ...validateRuleWithOperations(rule, path)];
}
