import { type FieldError, type FieldPath, invalid, required } from '../../../apimachinery/meta/field-error.js';
import {
  labelValueErrors,
  qualifiedNameErrors,
  subdomainErrors,
} from '../../../apimachinery/validation/name-errors.js';
import { eachErrors, itemErrors } from './checks.js';
import { valueCountErrors } from '../../../apimachinery/selectors/label-selector-object.js';
import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from '../../../apimachinery/generated/core.js';

/** The effects that a node's taint can have on pods that do not tolerate it. */
export const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const NO_OPERATOR = 'not a valid selector operator';

function valuesErrors(operator: string, count: number, path: FieldPath): FieldError[] | undefined {
  if (operator !== 'Gt' && operator !== 'Lt') return valueCountErrors(operator, count, path);
  return count === 1 ? [] : [required(path, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
}

/** Validates a requirement on a node's labels. */
function expressionErrors(requirement: NodeSelectorRequirement, path: FieldPath, strict: boolean): FieldError[] {
  const operator = requirement.operator ?? '';
  const values = requirement.values ?? [];
  const errors = valuesErrors(operator, values.length, path.child('values')) ?? [
    invalid(path.child('operator'), operator, NO_OPERATOR),
  ];
  errors.push(...qualifiedNameErrors(requirement.key ?? '', path.child('key')));
  return strict ? [...errors, ...eachErrors(values, path.child('values'), labelValueErrors)] : errors;
}

/** Validates a requirement on a node's fields, of which only the name is allowed. */
function fieldErrors(requirement: NodeSelectorRequirement, path: FieldPath): FieldError[] {
  const operator = requirement.operator ?? '';
  const values = requirement.values ?? [];
  const errors: FieldError[] = [];
  if (operator !== 'In' && operator !== 'NotIn') errors.push(invalid(path.child('operator'), operator, NO_OPERATOR));
  else if (values.length !== 1) {
    const why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(path.child('values'), why));
  }
  const key = requirement.key ?? '';
  if (key !== 'metadata.name') return [...errors, invalid(path.child('key'), key, 'not a valid field selector key')];
  return [...errors, ...eachErrors(values, path.child('values'), subdomainErrors)];
}

/** Validates a term of a node selector. If `strict`, values must be valid label values; preferred terms may have others. */
export function nodeSelectorTermErrors(term: NodeSelectorTerm, path: FieldPath, strict: boolean): FieldError[] {
  return [
    ...itemErrors(term, 'matchExpressions', path, (one, at) => expressionErrors(one, at, strict)),
    ...itemErrors(term, 'matchFields', path, fieldErrors),
  ];
}

/** Validates a node selector. A node must match one of its terms. */
export function nodeSelectorErrors(selector: NodeSelector, path: FieldPath, strict = true): FieldError[] {
  const at = path.child('nodeSelectorTerms');
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) return [required(at, 'must have at least one node selector term')];
  return eachErrors(terms, at, (term, termPath) => nodeSelectorTermErrors(term, termPath, strict));
}
