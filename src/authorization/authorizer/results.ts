import { quote } from '../../apimachinery/meta/meta.js';
import type { AuthorizationResult, Decision } from './interfaces.js';

export const NO_OPINION: AuthorizationResult = { decision: 'no-opinion', reason: '' };

/** An error without a text is one, too. */
export function result(decision: Decision, reason: string, error?: string): AuthorizationResult {
  return error === undefined ? { decision, reason } : { decision, reason, error };
}

/** Go's aggregate of errors: one plain, several in brackets, texts that repeat once; none gives ''. */
export function aggregateTexts(texts: readonly string[]): string {
  if (texts.length === 0) return '';
  const distinct = [...new Set(texts)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

/** Go's `%q` of a list of strings. */
export function quoteList(values: readonly string[]): string {
  return `[${values.map(quote).join(' ')}]`;
}
