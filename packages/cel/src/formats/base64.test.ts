import { illegalBase64At } from './base64.js';

test.each<[string, number | undefined]>([
  ['', undefined],
  ['aGk=', undefined],
  ['aA==', undefined],
  ['a\nG\r\nk=\n', undefined],
  ['aA=\n=', undefined],
  ['aGk', 0],
  ['aGkaG', 4],
  ['a!k=', 1],
  ['a=k=', 1],
  ['=', 0],
  ['aA=', 3],
  ['aA=x', 2],
  ['aA==x', 4],
  ['aGk=\nx', 5],
  ['aGk=aGk=', 4],
])('%j is illegal at %j', (text, at) => {
  expect(illegalBase64At(Buffer.from(text), 'standard')).toBe(at);
});

test('each alphabet has two characters of its own', () => {
  expect(illegalBase64At(Buffer.from('ab+/'), 'standard')).toBeUndefined();
  expect(illegalBase64At(Buffer.from('ab+/'), 'url')).toBe(2);
  expect(illegalBase64At(Buffer.from('ab-_'), 'url')).toBeUndefined();
  expect(illegalBase64At(Buffer.from('ab-_'), 'standard')).toBe(2);
});
