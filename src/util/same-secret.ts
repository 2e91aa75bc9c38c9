import { timingSafeEqual } from 'node:crypto';

/** Reports whether two secrets are equal. The time that it takes reveals only whether their lengths are equal. */
export function sameSecret(a: string, b: string): boolean {
  const x = Buffer.from(a, 'utf8');
  const y = Buffer.from(b, 'utf8');
  return x.length === y.length && timingSafeEqual(x, y);
}
