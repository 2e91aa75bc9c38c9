import { ContinueTokenError, decodeContinueToken, encodeContinueToken } from './continue-token.js';

const textOf = (token: string): unknown => JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
const tokenOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('continue tokens', () => {
  test('carry the log, and a compacted revision for kube-apiserver', () => {
    const token = { revision: 48_211, startKey: 'ns/a\0', log: 'one' };
    const text = encodeContinueToken(token);
    expect(textOf(text)).toEqual({ v: 'meta.k8s.io/v1', rv: 1, start: 'ns/a\0', log: 'one', at: 48_211 });
    expect(decodeContinueToken(text)).toEqual(token);
  });

  test('match those of kube-apiserver without a log', () => {
    const text = encodeContinueToken({ revision: 7, startKey: 'a' });
    expect(textOf(text)).toEqual({ v: 'meta.k8s.io/v1', rv: 7, start: 'a' });
    expect(decodeContinueToken(text)).toEqual({ revision: 7, startKey: 'a' });
  });

  test('that continue at the newest state work on any server', () => {
    const text = encodeContinueToken({ revision: -1, startKey: 'a', log: 'one' });
    expect(textOf(text)).toEqual({ v: 'meta.k8s.io/v1', rv: -1, start: 'a' });
  });

  test.each([[0], [-3], [1.5], ['7'], [2 ** 60], [null]])('ignores %p as the revision of a log', (at) => {
    const text = tokenOf({ v: 'meta.k8s.io/v1', rv: 1, start: 'a', log: 'one', at });
    expect(decodeContinueToken(text)).toEqual({ revision: 1, startKey: 'a' });
  });

  test('cannot start outside of the collection', () => {
    const text = tokenOf({ v: 'meta.k8s.io/v1', rv: 1, start: '../a', log: 'one', at: 7 });
    expect(() => decodeContinueToken(text)).toThrow(ContinueTokenError);
  });
});
