import type { AuthorizationResult, Decision } from './interfaces.js';

export const ALLOW: AuthorizationResult = { decision: 'allow', reason: '' };
export const NO_OPINION: AuthorizationResult = { decision: 'no-opinion', reason: '' };

/** An empty `error` is still an error. */
export function result(decision: Decision, reason: string, error?: string): AuthorizationResult {
  return error === undefined ? { decision, reason } : { decision, reason, error };
}

/** Formats errors like Go's aggregate: one as it is, several distinct ones in brackets, none as ''. */
export function aggregateTexts(texts: readonly string[]): string {
  if (texts.length === 0) return '';
  const distinct = [...new Set(texts)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}
