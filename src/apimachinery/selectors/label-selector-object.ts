import { type FieldError, type FieldPath, forbidden, invalid, required } from '../meta/field-error.js';
import { isObject, type JsonObject, objectsOf, textOf } from '../json/json.js';
import { type LabelOperator, type LabelRequirement, LabelSelector, makeRequirement, SelectorError } from './labels.js';
import { compareUtf8, quote } from '../meta/meta.js';
import { labelValueErrors, qualifiedNameErrors } from '../validation/name-errors.js';
import { getOwn } from '../../util/get-own.js';

const EXPRESSION_OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

/** Converts a decoded LabelSelector object (meta/v1). An absent one selects nothing, an empty one everything. Throws SelectorError. */
export function labelSelectorFromObject(selector: JsonObject | undefined): LabelSelector {
  if (selector === undefined) return LabelSelector.nothing;
  const requirements: LabelRequirement[] = [];
  const { matchLabels, matchExpressions } = selector;
  if (isObject(matchLabels)) {
    for (const key in matchLabels) requirements.push(makeRequirement(key, '=', [textOf(matchLabels[key])]));
  }
  for (const expression of objectsOf(matchExpressions)) {
    const name = textOf(expression['operator']);
    const operator = getOwn(EXPRESSION_OPERATORS, name);
    if (operator === undefined) throw new SelectorError(`${quote(name)} is not a valid label selector operator`);
    const { values } = expression;
    requirements.push(
      makeRequirement(textOf(expression['key']), operator, Array.isArray(values) ? values.map(textOf) : []),
    );
  }
  return LabelSelector.of(requirements);
}

/** Validates a LabelSelector object within another object. */
export function validateLabelSelector(selector: JsonObject | undefined, path: FieldPath): FieldError[] {
  if (selector === undefined) return [];
  const errors: FieldError[] = [];
  const { matchLabels, matchExpressions } = selector;
  if (isObject(matchLabels)) {
    const at = path.child('matchLabels');
    for (const key of Object.keys(matchLabels).sort(compareUtf8)) {
      errors.push(...qualifiedNameErrors(key, at));
      const value = textOf(matchLabels[key]);
      errors.push(...labelValueErrors(value, at));
    }
  }
  if (!Array.isArray(matchExpressions)) return errors;
  matchExpressions.forEach((expression, i) => {
    if (isObject(expression)) errors.push(...validateExpression(expression, path.child('matchExpressions').index(i)));
  });
  return errors;
}

function validateExpression(expression: JsonObject, path: FieldPath): FieldError[] {
  const operator = textOf(expression['operator']);
  const values = Array.isArray(expression['values']) ? expression['values'].map(textOf) : [];
  const valuesPath = path.child('values');
  const errors = valueCountErrors(operator, values.length, valuesPath) ?? [
    invalid(path.child('operator'), operator, 'not a valid selector operator'),
  ];
  const key = textOf(expression['key']);
  errors.push(...qualifiedNameErrors(key, path.child('key')));
  values.forEach((value, i) => {
    errors.push(...labelValueErrors(value, valuesPath.index(i)));
  });
  return errors;
}

/** Validates the number of values of a requirement; undefined if the operator is unknown. `path` is that of the values. */
export function valueCountErrors(operator: string, count: number, path: FieldPath): FieldError[] | undefined {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count > 0 ? [] : [required(path, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      return count === 0 ? [] : [forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return undefined;
  }
}
