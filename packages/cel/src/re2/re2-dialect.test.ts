import { patternFor } from './re2.js';

const found = (pattern: string, texts: string): string =>
  Array.from(texts)
    .filter((c) => patternFor(pattern).matches(c))
    .join('');

test.each([
  ['\\p{uppercase letter}', 'A'],
  ['\\p{Lowercase_Letter}', 'aα'],
  ['\\P{^l-l}', 'aα'],
  ['\\pl', 'Aaα'],
  ['[^\\p{LETTER}\\p{punct}]', '1 '],
  ['\\p{greek}', 'α'],
  ['\\p{aNY}', 'Aaα1 !'],
  ['[\\pn]', '1'],
])('accepts the class %s, which is spelled differently in the tables', (pattern, all) => {
  expect(found(pattern, 'Aaα1 !')).toBe(all);
});

test.each(['\\p{Old_Italic}', '\\p{old italic}', '\\P{^Foo}', '\\p{}', '\\p^L'])(
  'refuses the class name %s',
  (pattern) => {
    expect(patternFor(pattern).error()).toMatch(/^error parsing regexp: invalid character class range: `\\[pP]/);
  },
);

test('an error shows the pattern as given', () => {
  const error = (pattern: string): string | undefined => patternFor(pattern).error();
  expect(error('(\\p{letter}\\p{L}')).toBe('error parsing regexp: missing closing ): `(\\p{letter}\\p{L}`');
  expect(error('\\p{$&}')).toBe('error parsing regexp: invalid character class range: `\\p{$&}`');
  expect(error('(?P<n>(?<n>(?P<n>')).toBe('error parsing regexp: missing closing ): `(?P<n>(?<n>(?P<n>`');
  expect(error('\\p{old_italic}')).toBe('error parsing regexp: invalid character class range: `\\p{old_italic}`');
  expect(error('a\\')).toBe('error parsing regexp: trailing backslash at end of expression: ``');
});

test.each([
  ['^(?P<n>a)(?P<n>b)(?<n>c)(?P<n_2>d)$', 'abcd'],
  ['^[(?P<n>][(?P<n>](?P<n>b)$', '>Pb'],
  ['^[]?P<n>[]([[:alpha:](?P<n>]+)(?P<n>x)(?P<n>y)$', ']a(xy'],
  ['^\\Q(?P<n>\\E(?P<n>a)(?P<n>b)$', '(?P<n>ab'],
  ['^\\[(?P<n>a)\\](?P<n>b)[\\]](?P<n>c)$', '[a]b]c'],
  ['^[:a](?P<n>b)(?P<n>b)$', ':bb'],
])('accepts groups of the same name: %s', (pattern, text) => {
  expect(patternFor(pattern).error()).toBeUndefined();
  expect(patternFor(pattern).matches(text)).toBe(true);
});
