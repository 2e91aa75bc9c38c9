import { headerText } from './header-text.js';
import { textOfBytes } from './utf8.js';

test.each([
  ['plain', 'plain'],
  ['', ''],
  [Buffer.from('jürgen-世').toString('latin1'), 'jürgen-世'],
  // Bytes that are not UTF-8 are preserved.
  ['\xe9', textOfBytes(Buffer.of(0xe9))],
  ['a\xffb', textOfBytes(Buffer.of(0x61, 0xff, 0x62))],
])('%j', (received, text) => {
  expect(headerText(received)).toBe(text);
});
