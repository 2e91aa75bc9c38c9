/** Validation rules (x-kubernetes-validations) of custom resources. */
export { skippedRulesError } from './skipped-rules.js';
export { RuleValidator, compileRules } from './validator.js';
export type { RuleOptions, RuleResult } from './validator.js';
export { PER_CALL_LIMIT, RUNTIME_BUDGET } from './compilation.js';
export { resolveFieldPath } from './field-path.js';
export { knownExpressions, validateRuleDefinitions } from './definition.js';
export type { DefinitionErrors, DefinitionOptions, KnownExpressions } from './definition.js';
