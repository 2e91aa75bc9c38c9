import type { AuthenticationResponse } from '../authenticator/interfaces.js';

const CHARACTER = 2;
const TEXT = 32;

/** Returns the approximate number of bytes of a response in memory. */
export function responseBytes(response: AuthenticationResponse | undefined): number {
  if (response === undefined) return 0;
  const { name, uid, groups, extra } = response.user;
  const texts = [name, uid, ...groups, ...(response.audiences ?? []), ...(response.warnings ?? [])];
  for (const [key, values] of Object.entries(extra)) texts.push(key, ...values);
  for (const [key, value] of Object.entries(response.annotations ?? {})) texts.push(key, value);
  return texts.reduce((sum, { length }) => sum + TEXT + CHARACTER * length, 0);
}
