import { messageOf } from '../util/error-message.js';

/** What a check has found. What is wrong comes with what to do about it. */
export type Finding =
  | { readonly check: string; readonly verdict: 'ok' | 'skipped' | 'warning'; readonly detail: string }
  | { readonly check: string; readonly verdict: 'wrong'; readonly detail: string; readonly mend: string };

export const ok = (check: string, detail: string): Finding => ({ check, verdict: 'ok', detail });

export const skipped = (check: string, detail: string): Finding => ({ check, verdict: 'skipped', detail });

/** Nothing is broken, but somebody may not expect it. */
export const warning = (check: string, detail: string): Finding => ({ check, verdict: 'warning', detail });

export const wrong = (check: string, what: unknown, mend: string): Finding => ({
  check,
  verdict: 'wrong',
  detail: messageOf(what),
  mend,
});

/** One line for people. */
export function lineOf(finding: Finding): string {
  const detail = finding.detail.replaceAll(/\s*\n\s*/g, ' ');
  const start = `${finding.check}: ${finding.verdict}`;
  if (finding.verdict === 'wrong') return `${start}: ${detail} / mend it by: ${finding.mend}`;
  return detail === '' ? start : `${start} (${detail})`;
}

/** A finding as `annex doctor -o json` shows it. */
export interface CheckResult {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  /** What to do; with failed checks only. */
  readonly hint?: string;
}

export function resultOf(finding: Finding): CheckResult {
  const { check: name, detail: message } = finding;
  if (finding.verdict === 'wrong') return { name, status: 'failed', message, hint: finding.mend };
  return { name, status: finding.verdict, message };
}
