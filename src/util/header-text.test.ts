import { headerText } from './header-text.js';

test.each([
  ['plain', 'plain'],
  ['', ''],
  [Buffer.from('jürgen-世').toString('latin1'), 'jürgen-世'],
  ['\xe9', '\ufffd'],
  ['a\xffb', 'a\ufffdb'],
])('%j', (received, text) => {
  expect(headerText(received)).toBe(text);
});
