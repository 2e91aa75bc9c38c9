import { kubernetesEnvironment, types, fromJson, type Environment } from '@annex/cel';
import { compileExpression, evaluateExpression } from '../../expressions/expression.js';
import { type Structs, structsOf } from '../../expressions/types.js';
import { featureGates } from '../../util/feature-gates.js';
import type { CompileMatchExpression } from './match-conditions.js';

const { STRING, BOOL, listOf, mapOf, objectType } = types;

const REQUIREMENTS = listOf(objectType('kubernetes.SelectorRequirement'));
const SPEC = objectType('kubernetes.SubjectAccessReviewSpec');

/** The types in the spec of a v1 SubjectAccessReview, by name. */
const STRUCTS: Structs = {
  'kubernetes.SubjectAccessReviewSpec': {
    resourceAttributes: objectType('kubernetes.ResourceAttributes'),
    nonResourceAttributes: objectType('kubernetes.NonResourceAttributes'),
    user: STRING,
    groups: listOf(STRING),
    extra: mapOf(STRING, listOf(STRING)),
    uid: STRING,
  },
  'kubernetes.ResourceAttributes': {
    namespace: STRING,
    verb: STRING,
    group: STRING,
    version: STRING,
    resource: STRING,
    subresource: STRING,
    name: STRING,
    fieldSelector: objectType('kubernetes.FieldSelectorAttributes'),
    labelSelector: objectType('kubernetes.LabelSelectorAttributes'),
  },
  'kubernetes.NonResourceAttributes': { path: STRING, verb: STRING },
  'kubernetes.FieldSelectorAttributes': { rawSelector: STRING, requirements: REQUIREMENTS },
  'kubernetes.LabelSelectorAttributes': { rawSelector: STRING, requirements: REQUIREMENTS },
  'kubernetes.SelectorRequirement': { key: STRING, operator: STRING, values: listOf(STRING) },
};

const SELECTORS = new Set(['fieldSelector', 'labelSelector']);
const struct = structsOf(STRUCTS, (field) => !SELECTORS.has(field) || featureGates.enabled('AuthorizeWithSelectors'));

let environment: Environment | undefined;

/** Compiles a match condition: a boolean expression over `request`. */
export const compileCelCondition: CompileMatchExpression = (expression) => {
  environment ??= kubernetesEnvironment('stored').extend([{ name: 'request', type: SPEC }], struct);
  const compiled = compileExpression(environment, expression, [BOOL]);
  if (compiled.error !== undefined) return { error: compiled.error };
  return (request) => {
    const { value, error } = evaluateExpression(compiled, { request: fromJson(request) });
    if (error !== undefined) throw new Error(error);
    return value === true;
  };
};
