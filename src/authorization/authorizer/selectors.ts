import type { FieldRequirement } from '../../apimachinery/selectors/field-selectors.js';
import type { LabelRequirement } from '../../apimachinery/selectors/labels.js';
import type { SelectorRequirement } from './interfaces.js';

const LABEL_OPERATORS: Readonly<Record<string, string>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

/**
 * Converts the requirements of a label selector for authorizers. `gt` and `lt` have no counterpart and are dropped: all
 * requirements must hold, so dropping one only makes the check broader.
 */
export function labelRequirements(requirements: readonly LabelRequirement[]): readonly SelectorRequirement[] {
  const out: SelectorRequirement[] = [];
  for (const { key, operator, values } of requirements) {
    const known = LABEL_OPERATORS[operator];
    if (known !== undefined) out.push({ key, operator: known, values });
  }
  return out;
}

export function fieldRequirements(requirements: readonly FieldRequirement[]): readonly SelectorRequirement[] {
  return requirements.map(({ field, equal, value }) => ({
    key: field,
    operator: equal ? 'In' : 'NotIn',
    values: [value],
  }));
}
