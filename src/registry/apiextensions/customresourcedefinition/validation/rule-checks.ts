import type { JsonValue } from '../../../../apimachinery/json/json.js';
import type { FieldError, FieldPath } from '../../../../apimachinery/meta/field-error.js';
import { type KnownExpressions, validateRuleDefinitions } from '../../../../schema/cel/definition.js';
import { compileRules } from '../../../../schema/cel/validator.js';
import type { JsonSchemaProps } from '../../../../schema/interfaces.js';
import { effectiveVersion } from '../../../../util/effective-version.js';

/** Runs the rules of a schema on its default: as an unchanged value and, because rules may distinguish the two, as a new one. */
export function validateDefaultByRules(
  schema: JsonSchemaProps,
  value: JsonValue,
  path: FieldPath,
): readonly FieldError[] {
  const rules = compileRules(schema, schema['x-kubernetes-embedded-resource'] === true ? 'resource' : 'part');
  if (rules === undefined) return [];
  const { errors } = rules.validate(value, { old: value, path });
  return errors.length > 0 ? errors : rules.validate(value, { path }).errors;
}

/**
 * Compiles the rules of a structural schema, except those at or above the path of one of `schemaErrors`, and estimates their costs.
 * The fields of rules are validated with the schema itself.
 */
export function validateRules(
  schema: JsonSchemaProps,
  path: FieldPath,
  known: KnownExpressions,
  schemaErrors: readonly FieldError[],
): readonly FieldError[] {
  const { expressions, total } = validateRuleDefinitions(schema, path, {
    known,
    schemaErrors,
    compatibility: effectiveVersion.minCompatibility,
  });
  return [...expressions, ...total];
}
