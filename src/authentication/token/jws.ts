/** A token in compact serialization, decoded but not verified: nothing in it may be trusted yet. */
export interface UnverifiedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decodePart(part: string): Readonly<Record<string, unknown>> | undefined {
  if (!BASE64URL.test(part) || part.length % 4 === 1) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns undefined if the token is not a JWS in compact serialization. The signature is not checked, and may be empty. */
export function readToken(token: string): UnverifiedToken | undefined {
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  if (first <= 0 || second < 0 || token.includes('.', second + 1)) return undefined;
  const signature = token.slice(second + 1);
  if (signature !== '' && (!BASE64URL.test(signature) || signature.length % 4 === 1)) return undefined;
  const claims = decodePart(token.slice(first + 1, second));
  if (claims === undefined) return undefined;
  const header = decodePart(token.slice(0, first));
  if (header === undefined || typeof (header['alg'] ?? '') !== 'string') return undefined;
  return { header, claims };
}

/** Returns the strings of a claim that is a string or a list of strings, or undefined if it is anything else. */
export function texts(claim: unknown): readonly string[] | undefined {
  if (typeof claim === 'string') return [claim];
  if (!Array.isArray(claim)) return undefined;
  const items: readonly unknown[] = claim;
  return items.every((item): item is string => typeof item === 'string') ? items : undefined;
}
