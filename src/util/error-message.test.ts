import { messageOf } from './error-message.js';

const fileError = (message: string, path?: string): Error => {
  const [code = '', , syscall = ''] = /^(\w+): [^,]+, (\w+)/.exec(message)?.slice(0) ?? [];
  return Object.assign(new Error(message), { code, syscall, ...(path !== undefined && { path }) });
};

test.each([
  ['an error', new Error('x'), 'x'],
  ['a text', 'x', 'x'],
  ['something else', { a: 1 }, '{"a":1}'],
  [
    'no such file',
    fileError("ENOENT: no such file or directory, open '/a'", '/a'),
    'open /a: no such file or directory',
  ],
  [
    'no file at all',
    fileError('EISDIR: illegal operation on a directory, read'),
    'EISDIR: illegal operation on a directory, read',
  ],
])('%s', (_name, error, text) => {
  expect(messageOf(error)).toBe(text);
});
