import {
  duplicate,
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../../apimachinery/meta/field-error.js';
import { stringsOf } from '../../../../apimachinery/json/json.js';
import { validateLabelSelector } from '../../../../apimachinery/selectors/label-selector-object.js';
import { labelErrors, qualifiedNameErrors } from '../../../../apimachinery/validation/name-errors.js';
import { isLabelValue } from '../../../../apimachinery/validation/names.js';
import type * as core from '../../../../apimachinery/generated/core.js';
import type { LabelSelector } from '../../../../apimachinery/generated/meta.js';
import { choice, choiceIfSet, eachErrors, fieldErrors, integerOf, itemErrors, oneOf } from '../../shared/checks.js';
import { numberOf } from '../../shared/fields.js';
import { nodeSelectorErrors, nodeSelectorTermErrors, TAINT_EFFECTS } from '../../shared/node-selector.js';
import { PREFERRED, REQUIRED } from './fields.js';

const POSITIVE = 'must be greater than zero';

function weightErrors(term: core.PreferredSchedulingTerm, path: FieldPath): FieldError[] {
  const weight = numberOf(term.weight);
  return weight >= 1 && weight <= 100 ? [] : [invalid(path.child('weight'), weight, 'must be in the range 1-100')];
}

function labelKeyErrors(keys: readonly string[], selector: LabelSelector | undefined, path: FieldPath): FieldError[] {
  if (keys.length === 0) return [];
  if (selector === undefined) return [forbidden(path, 'must not be specified when labelSelector is not set')];
  return eachErrors(keys, path, qualifiedNameErrors);
}

/** Validates the keys of the pod's own labels whose values are added to the selector. None may be in the selector already. */
function matchKeyErrors(
  match: readonly string[],
  mismatch: readonly string[],
  selector: LabelSelector | undefined,
  path: FieldPath,
): FieldError[] {
  const errors = [
    ...labelKeyErrors(match, selector, path.child('matchLabelKeys')),
    ...labelKeyErrors(mismatch, selector, path.child('mismatchLabelKeys')),
  ];
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  const matched = new Set(match);
  const mismatched = new Set(mismatch);
  for (const expression of selector?.matchExpressions ?? []) {
    const key = expression.key ?? '';
    // The selector has an expression for each key by now, so a key that occurs again was in it before.
    if (seen.has(key) && matched.has(key)) {
      errors.push(invalid(path.index(match.lastIndexOf(key)), key, 'exists in both matchLabelKeys and labelSelector'));
    }
    seen.add(key);
  }
  match.forEach((key, i) => {
    if (!mismatched.has(key)) return;
    const why = 'exists in both matchLabelKeys and mismatchLabelKeys';
    errors.push(invalid(path.child('matchLabelKeys').index(i), key, why));
  });
  return errors;
}

/** Validates a term of a pod affinity or anti-affinity. */
function podTermErrors(term: core.PodAffinityTerm, path: FieldPath): FieldError[] {
  const selector = term.labelSelector;
  const topology = term.topologyKey ?? '';
  const at = path.child('topologyKey');
  return [
    ...validateLabelSelector(selector, path.child('labelSelector')),
    ...validateLabelSelector(term.namespaceSelector, path.child('namespaceSelector')),
    ...(term.namespaces ?? []).flatMap((name) => labelErrors(name, path.child('namespace'))),
    ...matchKeyErrors(term.matchLabelKeys ?? [], term.mismatchLabelKeys ?? [], selector, path),
    ...(topology === '' ? [required(at, 'can not be empty')] : []),
    ...qualifiedNameErrors(topology, at),
  ];
}

function podAffinityErrors(
  affinity: core.PodAffinity | core.PodAntiAffinity | undefined,
  path: FieldPath,
): FieldError[] {
  return [
    ...itemErrors(affinity, REQUIRED, path, podTermErrors),
    ...itemErrors(affinity, PREFERRED, path, (term, at) => {
      const inner: core.PodAffinityTerm = term.podAffinityTerm ?? {};
      return [...weightErrors(term, at), ...podTermErrors(inner, at.child('podAffinityTerm'))];
    }),
  ];
}

export function affinityErrors(affinity: core.Affinity | undefined, path: FieldPath): FieldError[] {
  const nodes = affinity?.nodeAffinity;
  const nodePath = path.child('nodeAffinity');
  const needed = nodes?.[REQUIRED];
  return [
    ...(needed === undefined ? [] : nodeSelectorErrors(needed, nodePath.child(REQUIRED))),
    ...itemErrors(nodes, PREFERRED, nodePath, (term, at) => {
      const preference: core.NodeSelectorTerm = term.preference ?? {};
      return [...weightErrors(term, at), ...nodeSelectorTermErrors(preference, at.child('preference'), false)];
    }),
    ...podAffinityErrors(affinity?.podAffinity, path.child('podAffinity')),
    ...podAffinityErrors(affinity?.podAntiAffinity, path.child('podAntiAffinity')),
  ];
}

function operatorErrors(toleration: core.Toleration, path: FieldPath): FieldError[] {
  const operator = toleration.operator ?? '';
  const value = toleration.value ?? '';
  const at = path.child('operator');
  switch (operator) {
    case '':
    case 'Equal': {
      const texts = isLabelValue(value);
      return texts.length === 0 ? [] : [invalid(at, value, texts.join(';'))];
    }
    case 'Exists':
      return value === '' ? [] : [invalid(at, value, "value must be empty when `operator` is 'Exists'")];
    default: {
      const compares = operator === 'Lt' || operator === 'Gt';
      return [notSupported(at, operator, compares ? ['Equal', 'Exists', 'Lt', 'Gt'] : ['Equal', 'Exists'])];
    }
  }
}

/** Validates a toleration of a pod. */
export function tolerationErrors(toleration: core.Toleration, path: FieldPath): FieldError[] {
  const key = toleration.key ?? '';
  const operator = toleration.operator ?? '';
  const effect = toleration.effect ?? '';
  const errors = key === '' ? [] : qualifiedNameErrors(key, path.child('key'));
  if (key === '' && operator !== 'Exists') {
    const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.push(invalid(path.child('operator'), operator, why));
  }
  if (integerOf(toleration.tolerationSeconds) !== undefined && effect !== 'NoExecute') {
    errors.push(invalid(path.child('effect'), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  errors.push(...operatorErrors(toleration, path));
  return effect === '' ? errors : [...errors, ...choice(effect, path.child('effect'), TAINT_EFFECTS)];
}

const HONORED = oneOf('Honor', 'Ignore');
const ACTIONS = ['DoNotSchedule', 'ScheduleAnyway'];

/** Validates the topology spread constraints of a pod. */
export function spreadErrors(constraints: readonly core.TopologySpreadConstraint[], path: FieldPath): FieldError[] {
  return constraints.flatMap((constraint, i) => {
    const at = path.index(i);
    const skew = numberOf(constraint.maxSkew);
    const topology = constraint.topologyKey ?? '';
    const action = constraint.whenUnsatisfiable ?? '';
    const selector = constraint.labelSelector;
    const errors = skew > 0 ? [] : [invalid(at.child('maxSkew'), skew, POSITIVE)];
    if (topology === '') errors.push(required(at.child('topologyKey'), 'can not be empty'));
    errors.push(...choiceIfSet(action, at.child('whenUnsatisfiable'), ACTIONS));
    const again = constraints
      .slice(i + 1)
      .some((one) => (one.topologyKey ?? '') === topology && (one.whenUnsatisfiable ?? '') === action);
    if (again) errors.push(duplicate(at.child('{topologyKey, whenUnsatisfiable}'), `{${topology}, ${action}}`));
    return [
      ...errors,
      ...minDomainErrors(constraint, action, at.child('minDomains')),
      ...fieldErrors(constraint, at, { nodeAffinityPolicy: HONORED, nodeTaintsPolicy: HONORED }),
      ...matchKeyErrors(constraint.matchLabelKeys ?? [], [], selector, at),
      ...validateLabelSelector(selector, at.child('labelSelector')),
    ];
  });
}

function minDomainErrors(constraint: core.TopologySpreadConstraint, action: string, path: FieldPath): FieldError[] {
  const least = constraint.minDomains;
  if (typeof least !== 'number') return [];
  const errors = least > 0 ? [] : [invalid(path, least, POSITIVE)];
  const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
  return action === 'DoNotSchedule' ? errors : [...errors, invalid(path, least, why)];
}

/** Adds the values of the pod's own labels to the selectors that name their keys. */
export function fillSelectors(spec: core.PodSpec, labels: Readonly<Record<string, string>>): void {
  const affinity = spec.affinity;
  for (const pods of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of pods?.[REQUIRED] ?? []) fillSelector(term, labels);
    for (const term of pods?.[PREFERRED] ?? []) fillSelector(term.podAffinityTerm, labels);
  }
  for (const constraint of spec.topologySpreadConstraints ?? []) fillSelector(constraint, labels);
}

function fillSelector(
  term: core.TopologySpreadConstraint | core.PodAffinityTerm | undefined,
  labels: Readonly<Record<string, string>>,
): void {
  const selector = term?.labelSelector;
  if (term === undefined || selector === undefined) return;
  const added = [
    ['matchLabelKeys', 'In'],
    ['mismatchLabelKeys', 'NotIn'],
  ].flatMap(([field = '', operator = '']) =>
    stringsOf(term[field])
      .filter((key) => Object.hasOwn(labels, key))
      .map((key) => ({ key, operator, values: [labels[key] ?? ''] })),
  );
  if (added.length > 0) selector.matchExpressions = [...(selector.matchExpressions ?? []), ...added];
}
