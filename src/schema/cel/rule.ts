import { type JsonObject, objectsOf, textOf } from '../../apimachinery/json/json.js';
import { trimSpace } from '../../util/text/trim-space.js';

/** One entry of x-kubernetes-validations. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
  /** The entry as written in the schema. */
  readonly source: JsonObject;
}

export function rulesOf(schema: JsonObject): readonly Rule[] {
  return objectsOf(schema['x-kubernetes-validations']).map((source) => {
    const { reason, optionalOldSelf } = source;
    return {
      rule: textOf(source['rule']),
      message: textOf(source['message']),
      messageExpression: textOf(source['messageExpression']),
      reason: typeof reason === 'string' ? reason : undefined,
      fieldPath: textOf(source['fieldPath']),
      optionalOldSelf: typeof optionalOldSelf === 'boolean' ? optionalOldSelf : undefined,
      source,
    };
  });
}

/** Returns the name of a rule in errors: its message, else its text. */
export const ruleName = (rule: Rule): string => trimSpace(rule.message === '' ? rule.rule : rule.message);

/** Returns the message of a failed rule. */
export const failureMessage = (rule: Rule): string =>
  rule.message === '' ? `failed rule: ${trimSpace(rule.rule)}` : trimSpace(rule.message);
