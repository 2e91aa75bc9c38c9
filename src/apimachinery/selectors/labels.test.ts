import fc from 'fast-check';
import { parseLabelSelector } from './label-parser.js';
import { parseInt64 } from './labels.js';

describe('LabelSelector', () => {
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

test('the first label with exactly one value, of which the first requirement decides', () => {
  const exact = (text: string): string | undefined => parseLabelSelector(text).exactMatch()?.key;
  expect(exact('a in (x,y),a=x,c=d')).toBe('c');
  expect(exact('a=x,a in (x,y),c=d')).toBe('a');
  expect(exact('a,b!=c')).toBeUndefined();
});
