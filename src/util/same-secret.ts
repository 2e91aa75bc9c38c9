import { timingSafeEqual } from 'node:crypto';

/** Whether two secrets are equal, in a time that tells nothing but whether their lengths are. */
export function sameSecret(a: string, b: string): boolean {
  const x = Buffer.from(a, 'utf8');
  const y = Buffer.from(b, 'utf8');
  return x.length === y.length && timingSafeEqual(x, y);
}
