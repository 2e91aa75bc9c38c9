import {
  type FieldError,
  type FieldPath,
  invalid,
  Printed,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import type { JsonObject } from '../../../../apimachinery/json/json.js';
import { compareUtf8, goJson } from '../../../../apimachinery/meta/meta.js';
import type { ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '../../../../apimachinery/generated/core.js';
import { isQuotaHugePages, quantityErrors, quantityOf, resourceNameErrors } from '../../shared/resources.js';

const COMPUTE = ['cpu', 'memory'];
const OF_PODS = new Set([
  'pods',
  ...COMPUTE,
  ...COMPUTE.map((name) => `limits.${name}`),
  ...COMPUTE.map((name) => `requests.${name}`),
]);
const OF_CLAIMS = new Set(['persistentvolumeclaims', 'requests.storage']);
const STANDARD = new Set([
  ...OF_PODS,
  ...OF_CLAIMS,
  'ephemeral-storage',
  'requests.ephemeral-storage',
  'limits.ephemeral-storage',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]);

/** The resources that a quota can limit, by its scope. */
const SCOPES = new Map<string, ReadonlySet<string>>([
  ['Terminating', OF_PODS],
  ['NotTerminating', OF_PODS],
  ['BestEffort', new Set(['pods'])],
  ['NotBestEffort', OF_PODS],
  ['PriorityClass', OF_PODS],
  ['CrossNamespacePodAffinity', OF_PODS],
  ['VolumeAttributesClass', OF_CLAIMS],
]);
/** The scopes that either apply to an object or not: they have no values. */
const WITHOUT_VALUES = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];
const OPPOSITES: readonly (readonly [string, string])[] = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];
const MUST_EXIST =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

const isStandard = (name: string): boolean => STANDARD.has(name) || isQuotaHugePages(name);

function nameErrors(name: string, path: FieldPath): FieldError[] {
  const errors = resourceNameErrors(name, path);
  if (name.includes('/') || isStandard(name)) return errors;
  return [...errors, invalid(path, name, 'must be a standard resource for quota')];
}

/** Validates amounts by resource. */
export function amountErrors(amounts: JsonObject | undefined, path: FieldPath): FieldError[] {
  return Object.keys(amounts ?? {})
    .sort(compareUtf8)
    .flatMap((name) => {
      const at = path.key(name);
      return [...nameErrors(name, at), ...quantityErrors(name, quantityOf(amounts?.[name]), at)];
    });
}

export const quotaSpecErrors = (spec: ResourceQuotaSpec, path: FieldPath): FieldError[] => [
  ...amountErrors(spec.hard, path.child('hard')),
  ...scopesErrors(spec, path.child('scopes')),
  ...selectorErrors(spec, path.child('scopeSelector', 'matchExpressions')),
];

/** Returns the resources of the quota to which a scope does not apply. */
const unsuited = (spec: ResourceQuotaSpec, scope: string): string[] =>
  Object.keys(spec.hard ?? {}).filter((name) => isStandard(name) && SCOPES.get(scope)?.has(name) === false);

const NOT_SUITED = 'unsupported scope applied to resource';

function scopesErrors(spec: ResourceQuotaSpec, path: FieldPath): FieldError[] {
  const value = spec.scopes;
  const scopes = value ?? [];
  const errors = scopes.flatMap((scope) => [
    ...(SCOPES.has(scope) ? [] : [invalid(path, value, 'unsupported scope')]),
    ...unsuited(spec, scope).map(() => invalid(path, value, NOT_SUITED)),
  ]);
  return [...errors, ...oppositeErrors(scopes, spec, path)];
}

function oppositeErrors(scopes: readonly string[], spec: ResourceQuotaSpec, path: FieldPath): FieldError[] {
  return OPPOSITES.filter((pair) => pair.every((scope) => scopes.includes(scope))).map(() =>
    invalid(path, spec.scopes ?? null, 'conflicting scopes'),
  );
}

/** Formats the selector as Go's encoder writes the internal type. */
function printed(expressions: readonly ScopedResourceSelectorRequirement[]): Printed {
  const all = expressions.map((one) => {
    const name = goJson(one.scopeName ?? '');
    const operator = goJson(one.operator ?? '');
    return `{"ScopeName":${name},"Operator":${operator},"Values":${goJson(one.values ?? null)}}`;
  });
  return new Printed(`{"MatchExpressions":${all.length === 0 ? 'null' : `[${all.join(',')}]`}}`);
}

function selectorErrors(spec: ResourceQuotaSpec, path: FieldPath): FieldError[] {
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  const scopes = expressions.map((expression) => expression.scopeName ?? '');
  const errors = expressions.flatMap((expression) => {
    const scope = expression.scopeName ?? '';
    return [
      ...(SCOPES.has(scope) ? [] : [invalid(path.child('scopeName'), scope, 'unsupported scope')]),
      ...unsuited(spec, scope).map(() => invalid(path, printed(expressions), NOT_SUITED)),
      ...expressionErrors(expression, path),
    ];
  });
  return [...errors, ...oppositeErrors(scopes, spec, path)];
}

function expressionErrors(expression: ScopedResourceSelectorRequirement, path: FieldPath): FieldError[] {
  const operator = expression.operator ?? '';
  const values = expression.values ?? [];
  const errors: FieldError[] = [];
  if (WITHOUT_VALUES.includes(expression.scopeName ?? '') && operator !== 'Exists') {
    errors.push(invalid(path.child('operator'), operator, MUST_EXIST));
  }
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) {
      const why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
      errors.push(required(path.child('values'), why));
    }
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
      errors.push(invalid(path.child('values'), values, why));
    }
  } else errors.push(invalid(path.child('operator'), operator, 'not a valid selector operator'));
  return errors;
}
