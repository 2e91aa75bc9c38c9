import type { Author } from './interfaces.js';

/** What clients say about themselves is cut to this length. */
const MAX_LENGTH = 256;

const cut = (text: string): string => (text.length <= MAX_LENGTH ? text : text.slice(0, MAX_LENGTH));

/** Returns the stored form of an author. */
export function encodeAuthor({ user, manager, userAgent, auditID, impersonator }: Author): Buffer {
  return Buffer.from(JSON.stringify([cut(user), cut(manager), cut(userAgent), cut(auditID), cut(impersonator)]));
}

/** Reads the stored form; undefined for no bytes, or damaged ones. */
export function readAuthor(bytes: Uint8Array): Author | undefined {
  if (bytes.length === 0) return undefined;
  try {
    const parts: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
    if (!Array.isArray(parts)) return undefined;
    const [user, manager, userAgent, auditID, impersonator] = parts.map(String);
    return {
      user: user ?? '',
      manager: manager ?? '',
      userAgent: userAgent ?? '',
      auditID: auditID ?? '',
      impersonator: impersonator ?? '',
    };
  } catch {
    return undefined;
  }
}
