import { trimBoth, trimRight } from './trim.js';
import { trimSpace } from './trim-space.js';

test('trims one character', () => {
  expect(trimRight('**a**', '*')).toBe('**a');
  expect(trimRight('**', '*')).toBe('');
  expect(trimBoth('  a b ', ' ')).toBe('a b');
  expect(trimBoth('  ', ' ')).toBe('');
});

test('trims the white space of Go', () => {
  expect(trimSpace('\t\u2003a\u00a0b\u0085\u3000\n')).toBe('a\u00a0b');
  expect(trimSpace('\ufeffa\x1c')).toBe('\ufeffa\x1c');
  expect(trimSpace(' ')).toBe('');
});
