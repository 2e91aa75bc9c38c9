import * as crypto from 'node:crypto';
import fc from 'fast-check';
import { sameSecret } from './same-secret.js';

jest.mock('node:crypto', () => {
  const actual = jest.requireActual<typeof crypto>('node:crypto');
  return { ...actual, timingSafeEqual: jest.fn(actual.timingSafeEqual) };
});
const compared = jest.mocked(crypto.timingSafeEqual);

test('secrets are equal if their bytes are', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      expect(sameSecret(a, b)).toBe(Buffer.from(a).equals(Buffer.from(b)));
      expect(sameSecret(a, a)).toBe(true);
    }),
  );
});

test('compares all bytes once, regardless of the length of the common prefix', () => {
  const secret = '0123456789abcdef';
  for (let right = 0; right < secret.length; right++) {
    compared.mockClear();
    expect(sameSecret(secret, secret.slice(0, right).padEnd(secret.length, 'x'))).toBe(false);
    expect(compared.mock.calls.map((sides) => sides.map(({ byteLength }) => byteLength))).toEqual([[16, 16]]);
  }
});
