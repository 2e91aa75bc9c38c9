import type { LineCounter, YAMLError } from 'yaml';

/** What Go's scanner and parser say about the mistakes that the parser here finds. */
function problem(error: YAMLError, text: string): string {
  const at = text.charAt(error.pos[0]);
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return continuesPlain(text.slice(0, error.pos[0]))
        ? 'found a tab character that violates indentation'
        : 'found character that cannot start any token';
    case 'BAD_SCALAR_START':
      return 'found character that cannot start any token';
    case 'BAD_ALIAS':
      return 'did not find expected alphabetic or numeric character';
    case 'BAD_DIRECTIVE':
      return 'found unknown directive name';
    case 'BAD_DQ_ESCAPE':
      if (/^\\U[0-9a-fA-F]{8}/.test(text.slice(error.pos[0], error.pos[0] + 10))) {
        return 'found invalid Unicode character escape code';
      }
      return /\\[xuU]/.test(text.slice(error.pos[0], error.pos[0] + 2))
        ? 'did not find expected hexdecimal number'
        : 'found unknown escape character';
    case 'BAD_INDENT':
      return error.message.includes('flow') ? 'did not find expected node content' : 'did not find expected key';
    case 'BLOCK_IN_FLOW':
      return at === '-' ? 'block sequence entries are not allowed in this context' : notSeparated(error, text);
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return 'mapping values are not allowed in this context';
    case 'KEY_OVER_1024_CHARS':
      return "could not find expected ':'";
    case 'MISSING_CHAR':
      return error.message.includes(', or : between') ? notSeparated(error, text) : missing(error.message);
    case 'MULTIPLE_ANCHORS':
    case 'MULTIPLE_TAGS':
      return 'did not find expected node content';
    case 'UNEXPECTED_TOKEN':
      return unexpected(error, text);
    case 'TAG_RESOLVE_FAILED':
      return 'found undefined tag handle';
    default:
      return 'did not find expected key';
  }
}

/** Whether the text ends in a scalar without quotes, which the next line would go on with. */
function continuesPlain(before: string): boolean {
  const last = before.trimEnd().split('\n').at(-1) ?? '';
  return /[^\s:,\-'"\]}|>#?]$/.test(last) && !/(^|\s)#/.test(last);
}

/** Go's text for what it refuses at the beginning of a document, and the parser here does not. */
export function mistakeAtBeginning(text: string): string | undefined {
  const found = /^(?:[ \r\n]|#[^\n]*\n)*(\t|%YAML[ \t]+(?!1\.1(?:\s|$)))/.exec(text);
  if (found === null) return undefined;
  if (found[1] !== '\t') return 'yaml: found incompatible YAML document';
  const line = found[0].split('\n').length;
  return `yaml: ${line === 1 ? '' : `line ${String(line)}: `}found character that cannot start any token`;
}

/** Where a flow collection must go on or end, in the kind of brackets that are open there. */
function notSeparated(error: YAMLError, text: string): string {
  const open = openBracket(text, error.pos[0]);
  return open === undefined
    ? 'did not find expected key'
    : `did not find expected ',' or '${open === '[' ? ']' : '}'}'`;
}

function openBracket(text: string, before: number): '[' | '{' | undefined {
  let closed = 0;
  for (let i = before - 1; i >= 0; i--) {
    const char = text.charAt(i);
    if (char === ']' || char === '}') closed++;
    else if ((char === '[' || char === '{') && closed-- === 0) return char;
  }
  return undefined;
}

function unexpected(error: YAMLError, text: string): string {
  const { message } = error;
  if (message.includes('block-seq-ind')) return 'block sequence entries are not allowed in this context';
  if (/: [|>][-+]?0/.test(message)) return 'found an indentation indicator equal to 0';
  if (message.startsWith('Block scalar header')) return 'did not find expected comment or line break';
  return message.endsWith('at node end') ? notSeparated(error, text) : 'did not find expected node content';
}

function missing(message: string): string {
  if (message.includes('directives-end')) return 'did not find expected <document start>';
  if (message.includes('closing "quote') || message.includes("closing 'quote")) return 'found unexpected end of stream';
  if (message.includes('end with a ]')) return "did not find expected ',' or ']'";
  if (message.includes('end with a }')) return "did not find expected ',' or '}'";
  return "could not find expected ':'";
}

const END = /[\s]*$/;

/** A flow collection that the end of the text cuts off: the end counts as the beginning of a line. */
function cutOff(bracket: string, text: string): string {
  const rest = text.replace(END, '');
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const what = /[[{,:]$/.test(rest)
    ? 'did not find expected node content'
    : `did not find expected ',' or '${bracket}'`;
  return `yaml: line ${String(lines)}: ${what}`;
}

/** Where a mapping within a scalar was found: at its colon, which may stand lines below the scalar's begin. */
function mistakeAt(error: YAMLError, text: string): number {
  const [start] = error.pos;
  if (error.code !== 'MULTILINE_IMPLICIT_KEY' && error.code !== 'BLOCK_AS_IMPLICIT_KEY') return start;
  const colon = text.slice(start).search(/:(?:\s|$)/);
  return colon < 0 ? start : start + colon;
}

/** Objections of the scanner name the line itself, those of the parser the one before; none names the first line. */
const FROM_SCANNER =
  /^(found |mapping values|block sequence|could not find|did not find expected (?:hexdecimal|comment))/;

/** Go's text for a mistake in a YAML text, as far as it can be told from where the parser here stumbled. */
export function yamlErrorText(error: YAMLError, text: string, lines: LineCounter): string {
  const flow = /end with a ([\]}])/.exec(error.message);
  if (flow !== null && text.slice(error.pos[0]).trim() === '') return cutOff(flow[1] ?? '', text);
  const what = flow === null ? problem(error, text) : `did not find expected ',' or '${flow[1] ?? ''}'`;
  const { line } = lines.linePos(mistakeAt(error, text));
  const named = FROM_SCANNER.test(what) ? (line === 1 ? 0 : line) : line - 1;
  return named === 0 ? `yaml: ${what}` : `yaml: line ${String(named)}: ${what}`;
}
