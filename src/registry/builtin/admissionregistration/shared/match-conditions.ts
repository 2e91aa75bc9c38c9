import { admissionEnvironment } from '../../../../admission/cel/environment.js';
import { compileExpression } from '../../../../admission/cel/expression.js';
import { types } from '@annex/cel';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  required,
  tooMany,
} from '../../../../apimachinery/meta/field-error.js';
import { type JsonValue, textAt } from '../../../../apimachinery/json/json.js';
import { objectsOf } from '../../../../apimachinery/json/values.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { trimSpace } from '../../../../util/text/trim-space.js';
import { expressionErrors } from './expressions.js';

const MAX_CONDITIONS = 64;

export interface MatchConditionOptions {
  readonly params: boolean;
  /** The expressions that the object had before. They may use what new ones may not. */
  readonly known: ReadonlySet<string>;
}

/** Validates the match conditions of a webhook or a policy. */
export function validateMatchConditions(
  conditions: JsonValue | undefined,
  path: FieldPath,
  { params, known }: MatchConditionOptions,
): FieldError[] {
  const all = objectsOf(conditions);
  const errors: FieldError[] = [];
  const names = new Set<string>();
  if (all.length > MAX_CONDITIONS) errors.push(tooMany(path, all.length, MAX_CONDITIONS));
  all.forEach((condition, i) => {
    const at = path.index(i);
    const expression = trimSpace(textAt(condition, 'expression'));
    if (expression === '') errors.push(required(at.child('expression')));
    else {
      const environment = admissionEnvironment(known.has(expression) ? 'stored' : 'new', { params, authorizer: true });
      const compiled = compileExpression(environment, expression, [types.BOOL]);
      errors.push(...expressionErrors(compiled, at.child('expression')));
    }
    const name = textAt(condition, 'name');
    if (name === '') {
      errors.push(required(at.child('name')));
      return;
    }
    errors.push(...qualifiedNameErrors(name, at.child('name')));
    if (names.has(name)) errors.push(duplicate(at.child('name'), name));
    names.add(name);
  });
  return errors;
}

/** Returns the expressions of match conditions, unchanged. */
export const conditionExpressions = (conditions: JsonValue | undefined): string[] =>
  objectsOf(conditions).map((condition) => textAt(condition, 'expression'));
