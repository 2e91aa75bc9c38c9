import { admissionEnvironment } from '../../../../admission/cel/environment.js';
import { compileExpression } from '../../../../expressions/expression.js';
import { types } from '@annex/cel';
import { type FieldError, type FieldPath, tooMany } from '../../../../apimachinery/meta/field-error.js';
import { type JsonValue, objectsOf, textAt } from '../../../../apimachinery/json/json.js';
import { qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { trimSpace } from '../../../../util/text/trim-space.js';
import { eachErrors, noDuplicates, requiredOr, type TextCheck } from '../../shared/checks.js';
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
  const again = noDuplicates();
  const conditionExpression: TextCheck = (expression, at) => {
    const environment = admissionEnvironment(known.has(expression) ? 'stored' : 'new', { params, authorizer: true });
    return expressionErrors(compileExpression(environment, expression, [types.BOOL]), at);
  };
  const conditionName: TextCheck = (name, at) => [...qualifiedNameErrors(name, at), ...again(name, at)];
  return [
    ...(all.length > MAX_CONDITIONS ? [tooMany(path, all.length, MAX_CONDITIONS)] : []),
    ...eachErrors(all, path, (condition, at) => [
      ...requiredOr(trimSpace(textAt(condition, 'expression')), at.child('expression'), conditionExpression),
      ...requiredOr(textAt(condition, 'name'), at.child('name'), conditionName),
    ]),
  ];
}

/** Returns the expressions of match conditions, unchanged. */
export const conditionExpressions = (conditions: JsonValue | undefined): string[] =>
  objectsOf(conditions).map((condition) => textAt(condition, 'expression'));
