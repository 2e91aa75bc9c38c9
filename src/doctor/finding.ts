import { messageOf } from '../util/error-message.js';

/** The result of one check; a failure comes with a hint on how to fix it. */
export type Finding =
  | { readonly check: string; readonly verdict: 'ok' | 'skipped' | 'warning'; readonly detail: string }
  | { readonly check: string; readonly verdict: 'failed'; readonly detail: string; readonly hint: string };

export const ok = (check: string, detail: string): Finding => ({ check, verdict: 'ok', detail });

export const skipped = (check: string, detail: string): Finding => ({ check, verdict: 'skipped', detail });

/** Nothing is broken, but the user may not expect it. */
export const warning = (check: string, detail: string): Finding => ({ check, verdict: 'warning', detail });

export const failed = (check: string, what: unknown, hint: string): Finding => ({
  check,
  verdict: 'failed',
  detail: messageOf(what),
  hint,
});

/** Formats a finding as one line of text. */
export function lineOf(finding: Finding): string {
  const detail = finding.detail.replaceAll(/\s*\n\s*/g, ' ');
  const start = `${finding.check}: ${finding.verdict}`;
  if (finding.verdict === 'failed') return `${start}: ${detail}; fix: ${finding.hint}`;
  return detail === '' ? start : `${start} (${detail})`;
}

/** A finding as printed by `annex doctor -o json`. */
export interface CheckResult {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  /** How to fix it; only for failed checks. */
  readonly hint?: string;
}

export function resultOf(finding: Finding): CheckResult {
  const { check: name, detail: message } = finding;
  if (finding.verdict === 'failed') return { name, status: 'failed', message, hint: finding.hint };
  return { name, status: finding.verdict, message };
}
