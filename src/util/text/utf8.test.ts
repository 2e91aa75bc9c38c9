import fc from 'fast-check';
import { strayByte, textOfBytes, wellFormed } from './utf8.js';

const back = (text: string): Buffer =>
  Buffer.concat(
    Array.from(text, (char) => {
      const stray = strayByte(char.codePointAt(0) ?? 0);
      return stray === undefined ? Buffer.from(char) : Buffer.from([stray]);
    }),
  );

test('no byte is lost', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      expect(back(textOfBytes(Buffer.from(bytes)))).toEqual(Buffer.from(bytes));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(textOfBytes(Buffer.from(text))).toBe(text);
    }),
  );
});

// As in Go, each byte that does not begin a character is decoded as a character of its own.
test.each([
  ['\u00e9', [0xc3, 0xa9], '\u00e9'],
  ['a single byte', [0x61, 0xff], 'a\ufffd'],
  ['half a character', [0xe2, 0x82], '\ufffd\ufffd'],
  ['a surrogate', [0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd'],
  ['more bytes than needed', [0xc0, 0xaf], '\ufffd\ufffd'],
  ['U+FFFD itself', [0xef, 0xbf, 0xbd], '\ufffd'],
])('%s', (_, bytes, expected) => {
  expect(wellFormed(textOfBytes(Buffer.from(bytes)))).toBe(expected);
});
