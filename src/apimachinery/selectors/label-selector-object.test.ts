import { FieldPath } from '../meta/field-error.js';
import { labelSelectorFromObject, validateLabelSelector } from './label-selector-object.js';
import { LabelSelector } from './labels.js';

describe('LabelSelector objects', () => {
  test('an absent selector selects nothing, an empty one everything', () => {
    expect(labelSelectorFromObject(undefined)).toBe(LabelSelector.nothing);
    expect(labelSelectorFromObject(undefined).matches({})).toBe(false);
    expect(labelSelectorFromObject({}).empty).toBe(true);
  });
  test('labels and expressions are combined', () => {
    const selector = labelSelectorFromObject({
      matchLabels: { a: 'b' },
      matchExpressions: [
        { key: 'c', operator: 'In', values: ['e', 'd'] },
        { key: 'f', operator: 'DoesNotExist' },
      ],
    });
    expect(selector.toString()).toBe('a=b,c in (d,e),!f');
    expect(selector.requiresExactMatch('a')).toBe('b');
    expect(selector.requiresExactMatch('c')).toBeUndefined();
  });
  test('refuses an unknown operator', () => {
    expect(() => labelSelectorFromObject({ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] })).toThrow(
      '"Gt" is not a valid label selector operator',
    );
  });
  test('validation', () => {
    const errors = validateLabelSelector(
      {
        matchLabels: { 'a b': 'c' },
        matchExpressions: [
          { key: 'a', operator: 'In' },
          { key: 'a', operator: 'Exists', values: ['x'] },
          { key: '', operator: 'x' },
        ],
      },
      FieldPath.of('spec', 'selector'),
    );
    expect(errors.map((e) => e.toString().slice(0, 110))).toEqual([
      expect.stringMatching(/^spec.selector.matchLabels: Invalid value: "a b": name part must/),
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      expect.stringMatching(/^spec.selector.matchExpressions\[1\].values: Forbidden: may not be specified/),
      'spec.selector.matchExpressions[2].operator: Invalid value: "x": not a valid selector operator',
      'spec.selector.matchExpressions[2].key: Invalid value: "": name part must be non-empty',
      expect.stringMatching(/^spec.selector.matchExpressions\[2\].key: Invalid value: "": name part must consist/),
    ]);
  });
});
