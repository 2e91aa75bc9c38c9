import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { WarningRecorder, warningHeader } from './recorder.js';

function warned(...texts: readonly string[]): readonly string[] {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const recorder = new WarningRecorder(response);
  for (const text of texts) recorder.add(text);
  const header = response.getHeader('warning');
  return Array.isArray(header) ? header : [];
}

test.each([
  ['plain', 'careful', '299 - "careful"'],
  ['quotes and backslashes', 'a "b" \\c', '299 - "a \\"b\\" \\\\c"'],
  ['non-ASCII: the bytes of UTF-8', 'ü', `299 - "${Buffer.from('ü').toString('latin1')}"`],
  ['a line break in no header', 'a\r\nX-Evil: 1', undefined],
  ['nor is another control character', 'a\u0007', undefined],
  ['nor half of a surrogate pair', 'a\ud800', undefined],
])('%s', (_name, text, header) => {
  expect(warningHeader(text)).toBe(header);
});

test('adds each text once, and skips empty texts', () => {
  expect(warned('a', '', 'b', 'a')).toEqual(['299 - "a"', '299 - "b"']);
});

test('keeps texts whole while all fit, and truncates all when they do not', () => {
  const long = (letter: string): string => letter.repeat(1500);
  expect(warned(long('a'), long('b')).map(({ length }) => length)).toEqual([1508, 1508]);
  const cut = warned(long('a'), 'short', long('b'), long('c'));
  expect(cut).toEqual([
    `299 - "${'a'.repeat(256)}"`,
    '299 - "short"',
    `299 - "${'b'.repeat(256)}"`,
    `299 - "${'c'.repeat(256)}"`,
  ]);
});

test('an invalid text truncates nothing, and is added if truncation makes it valid', () => {
  const long = (letter: string): string => letter.repeat(2000);
  const broken = `${long('x')}\n`;
  expect(warned(long('a'), long('b'), broken).map(({ length }) => length)).toEqual([2008, 2008]);
  const cut = ['a', 'x', 'b', 'c'].map((letter) => `299 - "${letter.repeat(256)}"`);
  expect(warned(long('a'), broken, long('b'), long('c'))).toEqual(cut);
});

test('limits the number of warnings', () => {
  const many = Array.from({ length: 100 }, (_, i) => String(i).padEnd(300, 'x'));
  const texts = warned(...many).map((header) => header.slice(7, -1));
  expect(texts).toHaveLength(16);
  expect(texts.every(({ length }) => length === 256)).toBe(true);
});

test('ignores warnings after the head is sent', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  response.writeHead(200);
  expect(() => {
    new WarningRecorder(response).add('late');
  }).not.toThrow();
});
