import { codePointLength } from './values/text.js';

/** A problem in an expression. The offset counts UTF-16 units; -1 refers to the expression as a whole. */
export interface Issue {
  readonly offset: number;
  readonly message: string;
}

interface Position {
  readonly line: number;
  /** The zero-based column, in code points. */
  readonly column: number;
  readonly text: string;
}

const MAX_REPORTED = 100;
const MAX_SNIPPET = 16384;

function positionOf(source: string, offset: number): Position {
  let line = 1;
  let start = 0;
  for (let i = source.indexOf('\n'); i >= 0 && i < offset; i = source.indexOf('\n', i + 1)) {
    line++;
    start = i + 1;
  }
  const end = source.indexOf('\n', start);
  return {
    line,
    column: codePointLength(source.slice(start, offset)),
    text: end < 0 ? source.slice(start) : source.slice(start, end),
  };
}

function caret(text: string, column: number): string {
  let line = '';
  let index = 0;
  let last = '';
  for (const char of text) {
    if (index++ === column) {
      last = char;
      break;
    }
    line += char.charCodeAt(0) > 0x7f ? '\uff0e' : '.';
  }
  return line + (last !== '' && last.charCodeAt(0) > 0x7f ? '\uff3e' : '^');
}

function display(source: string, issue: Issue): string {
  if (issue.offset < 0) return `ERROR: <input>:-1:0: ${issue.message}`;
  const at = positionOf(source, issue.offset);
  const head = `ERROR: <input>:${at.line}:${at.column + 1}: ${issue.message}`;
  if (Buffer.byteLength(at.text) > MAX_SNIPPET) return head;
  const text = at.text.replaceAll('\t', ' ');
  return `${head}\n | ${text}\n | ${caret(text, at.column)}`;
}

/** Formats the issues like cel-go: sorted by position, each with a caret under the source line. */
export function formatIssues(source: string, issues: readonly Issue[]): string {
  const kept = issues.slice(0, MAX_REPORTED);
  kept.sort((a, b) => a.offset - b.offset);
  const lines = kept.map((issue) => display(source, issue));
  if (issues.length > MAX_REPORTED) lines.push(`${issues.length - MAX_REPORTED} more errors were truncated`);
  return lines.join('\n');
}
