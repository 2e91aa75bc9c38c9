import { compileRules } from '../../../../schema/cel/validator.js';
import { validateRuleDefinitions } from '../../../../schema/cel/definition.js';
import { effectiveVersion } from '../../../../util/effective-version.js';
import type { RuleChecks } from '../interfaces.js';

/** Runs the rules of a schema on its default: as an unchanged value and, because rules may distinguish the two, as a new one. */
export const validateDefaultByRules: NonNullable<RuleChecks['validateDefaultByRules']> = (schema, value, path) => {
  const rules = compileRules(schema, 'part');
  if (rules === undefined) return [];
  const { errors } = rules.validate(value, { old: value, path });
  return errors.length > 0 ? errors : rules.validate(value, { path }).errors;
};

/** Compiles the rules of a schema and estimates their costs. The fields of rules are validated with the schema itself. */
export const validateRules: NonNullable<RuleChecks['validateRules']> = (schema, path, known, schemaErrors) => {
  const { expressions, total } = validateRuleDefinitions(schema, path, {
    known,
    schemaErrors,
    compatibility: effectiveVersion.minCompatibility,
  });
  return [...expressions, ...total];
};
