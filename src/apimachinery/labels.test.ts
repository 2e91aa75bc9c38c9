import fc from 'fast-check';
import { FieldPath } from './field-error.js';
import {
  LabelSelector,
  labelSelectorFromObject,
  parseInt64,
  parseLabelSelector,
  validateLabelSelector,
} from './labels.js';

describe('parseLabelSelector', () => {
  const good: [string, string][] = [
    ['', ''],
    ['a=b', 'a=b'],
    ['a==b', 'a==b'],
    ['a != b', 'a!=b'],
    ['b,a', 'a,b'],
    ['!a', '!a'],
    ['a in (c, b,b)', 'a in (b,c)'],
    ['a notin (b)', 'a notin (b)'],
    ['a in ()', 'a in ()'],
    ['a in (,b)', 'a in (,b)'],
    ['a in (b,)', 'a in (,b)'],
    ['a>1', 'a>1'],
    ['a<1,a>5', 'a<1,a>5'],
    ['a=', 'a='],
    ['a=,b', 'a=,b'],
    ['in', 'in'],
    ['in in (in,notin)', 'in in (in,notin)'],
    ['example.com/a=b', 'example.com/a=b'],
    ['a\0\0,,,', 'a'],
    ['a \0,,,', 'a'],
    ['a\0=\0b,c', 'a=b,c'],
  ];
  test.each(good)('%j', (text, canonical) => {
    expect(parseLabelSelector(text).toString()).toBe(canonical);
  });

  const key =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const bad: [string, string][] = [
    ['a,', "found '', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a\0b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a in (b,=)', "unable to parse requirement: found '=', expected: ',', or identifier"],
    ['a=(', "unable to parse requirement: found '(', expected: identifier"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['-a', `unable to parse requirement: <nil>: Invalid value: "-a": ${key}`],
    [
      'a>b',
      `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      'a=-b',
      'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be an empty string or consist of alphanumeric characters',
    ],
  ];
  test.each(bad)('%j is refused', (text, message) => {
    let caught: unknown;
    try {
      parseLabelSelector(text);
    } catch (error) {
      caught = error;
    }
    expect((caught as Error | undefined)?.message.slice(0, message.length)).toBe(message);
  });

  const cases: [string, Record<string, string> | undefined, boolean][] = [
    ['', undefined, true],
    ['a', { a: '' }, true],
    ['a', undefined, false],
    ['a=b', { a: 'b' }, true],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a notin (b,c)', { a: 'd' }, true],
    ['a in (b,c)', { a: 'c' }, true],
    ['!a', { b: '' }, true],
    ['a>1', { a: '2' }, true],
    ['a>1', { a: 'x' }, false],
    ['a<1', {}, false],
    ['a>9007199254740992', { a: '9007199254740993' }, true],
    ['toString', {}, false],
    ['a=b,c=d', { a: 'b', c: 'e' }, false],
  ];
  test.each(cases)('%j on %j', (text, labels, expected) => {
    expect(parseLabelSelector(text).matches(labels)).toBe(expected);
  });

  test('the canonical text selects the same', () => {
    const name = fc.stringMatching(/^[a-c]{1,2}$/);
    const requirement = fc.oneof(
      fc.tuple(name, fc.constantFrom('=', '==', '!='), name).map((t) => t.join('')),
      fc
        .tuple(name, fc.constantFrom(' in ', ' notin '), fc.array(name, { minLength: 1 }))
        .map(([k, o, v]) => `${k}${o}(${v.join(',')})`),
      name.map((n) => `!${n}`),
      name,
    );
    fc.assert(
      fc.property(
        fc.array(requirement, { minLength: 1, maxLength: 4 }),
        fc.dictionary(name, name),
        (requirements, labels) => {
          const selector = parseLabelSelector(requirements.join(','));
          expect(selector.matches(labels)).toBe(requirements.every((r) => parseLabelSelector(r).matches(labels)));
          expect(parseLabelSelector(selector.toString()).matches(labels)).toBe(selector.matches(labels));
        },
      ),
    );
  });
});

describe('LabelSelector objects', () => {
  test('none selects nothing, the empty one everything', () => {
    expect(labelSelectorFromObject(undefined)).toBe(LabelSelector.nothing);
    expect(labelSelectorFromObject(undefined).matches({})).toBe(false);
    expect(labelSelectorFromObject({}).empty).toBe(true);
  });
  test('labels and expressions', () => {
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
  test('an unknown operator', () => {
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

test.each([
  ['1', 1n],
  ['+5', 5n],
  ['-9223372036854775808', -9223372036854775808n],
  ['9223372036854775808', undefined],
  ['1.0', undefined],
  ['', undefined],
  ['1'.repeat(100), undefined],
])('parseInt64(%j)', (text, value) => {
  expect(parseInt64(text)).toBe(value);
});
