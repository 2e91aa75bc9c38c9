import fc from 'fast-check';
import { inspect } from 'node:util';
import { TokenFileAuthenticator } from './token-file.js';

const nothing = (): void => undefined;
const load = (text: string, warn: (message: string) => void = nothing): TokenFileAuthenticator =>
  new TokenFileAuthenticator(text, 'f.csv', warn);
const user = (name: string, uid: string, groups: readonly string[] = []): object => ({
  user: { name, uid, groups, extra: {} },
});

test('finds users by their tokens', () => {
  const warnings: string[] = [];
  const file = load('t1,jane,1\nt2,joe,2,"a,b"\n,nobody,3\nt1,jim,4,c\n', (text) => warnings.push(text));
  expect(file.authenticateToken('t1')).toEqual(user('jim', '4', ['c']));
  expect(file.authenticateToken('t2')).toEqual(user('joe', '2', ['a', 'b']));
  expect(warnings).toEqual([
    "empty token has been found in token file 'f.csv', record number '3'",
    "duplicate token has been found in token file 'f.csv', record number '4'",
  ]);
});

test.each([
  [
    'too few columns',
    't1,jane',
    "token file 'f.csv' must have at least 3 columns (token, user name, user uid), found 2",
  ],
  ['a quote that does not end', 't1,"jane,1', "token file 'f.csv': "],
])('refused: %s', (_name, text, why) => {
  expect(() => load(text)).toThrow(why);
});

const tokens = fc.stringMatching(/^[a-zA-Z0-9._~+/-]{1,40}$/);

test('prefixes and extensions of a token, and tokens that differ in one letter, are unknown', () => {
  fc.assert(
    fc.property(tokens, fc.nat(), (token, at) => {
      const file = load(`${token},jane,1`);
      const i = at % token.length;
      const other = token[i] === 'a' ? 'b' : 'a';
      const wrong = [
        token.slice(0, i),
        `${token}a`,
        token.slice(0, i) + other + token.slice(i + 1),
        token.trim() + ' ',
      ];
      for (const one of wrong) expect(file.authenticateToken(one)).toBeUndefined();
      expect(file.authenticateToken(token)).toEqual(user('jane', '1'));
    }),
  );
});

test('tokens are looked up by salted digests of equal length, and are not kept', () => {
  const token = 'a-token-that-nobody-may-see';
  const keysOf = (file: object): string[] => [...(Reflect.get(file, 'byDigest') as Map<string, unknown>).keys()];
  const [a, b] = [load(`${token},jane,1\nx,joe,2`), load(`${token},jane,1\nx,joe,2`)];
  expect(keysOf(a).map((key) => key.length)).toEqual([32, 32]);
  expect(keysOf(a).filter((key) => keysOf(b).includes(key))).toEqual([]);
  expect(inspect(a, { depth: null, showHidden: true, maxStringLength: null })).not.toContain(token);
});
