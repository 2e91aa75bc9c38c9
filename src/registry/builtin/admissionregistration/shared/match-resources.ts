import { type FieldError, type FieldPath, notSupported, required } from '../../../../apimachinery/meta/field-error.js';
import { validateLabelSelector } from '../../../../apimachinery/selectors/label-selector-object.js';
import type { MatchResources } from '../../../../apimachinery/generated/admissionregistration.js';
import { itemErrors, requiredChoice } from '../../shared/checks.js';
import { validateNamedRule } from './rules.js';

const MATCH_POLICIES = ['Equivalent', 'Exact'];
const MUTATING_OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** Sets the defaults of the MatchResources of a policy or binding. */
export function defaultMatchResources(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) {
    rule.scope ??= '*';
  }
}

export function validateMatchResources(match: MatchResources | undefined, path: FieldPath): FieldError[] {
  if (match === undefined) return [];
  const errors = requiredChoice(match.matchPolicy, path.child('matchPolicy'), MATCH_POLICIES);
  for (const key of ['namespaceSelector', 'objectSelector'] as const) {
    const selector = match[key];
    if (selector === undefined) errors.push(required(path.child(key)));
    else errors.push(...validateLabelSelector(selector, path.child(key)));
  }
  return [
    ...errors,
    ...itemErrors(match, 'resourceRules', path, validateNamedRule),
    ...itemErrors(match, 'excludeResourceRules', path, validateNamedRule),
  ];
}

/** Allows mutations only for operations that create, update or connect. */
export function validateMutatingOperations(match: MatchResources, path: FieldPath): FieldError[] {
  return (match.resourceRules ?? [])
    .flatMap((rule) => rule.operations ?? [])
    .filter((operation) => !MUTATING_OPERATIONS.includes(operation))
    .map((operation) => notSupported(path.child('resourceRules', 'operations'), operation, MUTATING_OPERATIONS));
}
