import { kubernetesEnvironment, types, fromJson, type Environment, type StructDecl, type Type } from '@annex/cel';
import { featureGates } from '../../util/feature-gates.js';
import type { CompileMatchExpression } from './match-conditions.js';

const { STRING, BOOL, listOf, mapOf, objectType } = types;

const REQUIREMENTS = listOf(objectType('kubernetes.SelectorRequirement'));
const SPEC = objectType('kubernetes.SubjectAccessReviewSpec');

/** The CEL cost limit of one evaluation, the same as for every expression in Kubernetes. */
const COST_LIMIT = 1_000_000;

/** The types in the spec of a v1 SubjectAccessReview, by name. */
const STRUCTS: Readonly<Record<string, Readonly<Record<string, Type>>>> = {
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
const withSelectors = (): boolean => featureGates.enabled('AuthorizeWithSelectors');

function struct(name: string): StructDecl | undefined {
  const fields = Object.hasOwn(STRUCTS, name) ? STRUCTS[name] : undefined;
  if (fields === undefined) return undefined;
  const has = (field: string): boolean => Object.hasOwn(fields, field) && (withSelectors() || !SELECTORS.has(field));
  return { type: objectType(name), field: (field) => (has(field) ? fields[field] : undefined) };
}

let environment: Environment | undefined;

/** Compiles a match condition: a boolean expression over `request`. */
export const compileCelCondition: CompileMatchExpression = (expression) => {
  environment ??= kubernetesEnvironment('stored').extend([{ name: 'request', type: SPEC }], struct);
  const { program, failure } = environment.compile(expression);
  if (failure !== undefined) return { error: `compilation failed: ${failure.text}` };
  const { outputType } = program;
  if (!outputType.equals(BOOL)) return { error: `must evaluate to bool but got ${outputType.toString()}` };
  return (request) => {
    const outcome = program.evaluate({ request: fromJson(request) }, COST_LIMIT);
    if (outcome.kind !== 'value') throw new Error(outcome.message);
    return outcome.value === true;
  };
};
