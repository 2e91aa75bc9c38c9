/** Returns the beginning of a text that a client chose, for logs, traces and audit events. */
export const truncated = (text: string, max: number, mark = '...'): string =>
  text.length > max ? `${text.slice(0, max)}${mark}` : text;

/** The numbers of characters that are kept of what clients send. */
export const MAX_LOGGED = { method: 64, auditId: 64, uri: 1024, userAgent: 1024 } as const;
