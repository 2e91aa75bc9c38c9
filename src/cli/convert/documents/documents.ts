import { isObject, type JsonValue } from '../../../apimachinery/json/json.js';
import { parseYaml } from '../../../apimachinery/yaml/yaml.js';
import { readYamlText } from '../../../apimachinery/yaml/reader.js';
import { messageOf } from '../../../util/error-message.js';

/** One document of a file, split as kubectl splits it. */
export interface Piece {
  /** The `---` line before it, with its line break; empty before the first document and in JSON. */
  readonly separator: string;
  readonly text: string;
  /** The number of the first line of content, starting at 1. */
  readonly line: number;
  readonly format: 'json' | 'yaml';
  /** The parsed value; null if there are only comments. */
  readonly value: JsonValue;
  /** The reason why it cannot be read. */
  readonly problem?: string;
  /** True if it can be read, but is not a Kubernetes object. */
  readonly foreign?: boolean;
}

/** Manifests are shallow. What is deeper than this would overflow the stack of what edits documents. */
const MAX_DEPTH = 500;
const TOO_DEEP = `it has more than ${String(MAX_DEPTH)} levels`;

/** Without recursion: the value may be deeper than the stack. */
function isTooDeep(root: JsonValue): boolean {
  let level: (JsonValue | undefined)[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
  return false;
}

const problemOf = (error: unknown): string => (error instanceof RangeError ? TOO_DEEP : messageOf(error));

const LINE = /[^\n]*\n|[^\n]+$/g;

/** Splits the content of a file into documents. Throws an Error if its bytes are not text. */
export function readPieces(bytes: Uint8Array): readonly Piece[] {
  const text = readYamlText(bytes);
  return (/^\ufeff?\s*\{/.test(text) ? jsonPieces(text) : undefined) ?? yamlPieces(text);
}

function yamlPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let separator = '';
  let body = '';
  let first = 1;
  let wrong: string | undefined;
  const end = (): void => {
    if (separator !== '' || body !== '') pieces.push(yamlPiece(separator, body, first, wrong));
    body = '';
  };
  let line = 0;
  for (const [raw] of text.matchAll(LINE)) {
    line++;
    if (!raw.startsWith('---')) {
      body += raw;
      continue;
    }
    end();
    separator = raw;
    first = line + 1;
    const rest = raw.slice(3).trim();
    wrong = rest === '' || rest.startsWith('#') ? undefined : `invalid Yaml document separator: ${rest}`;
  }
  end();
  return pieces;
}

/** Matches the end of a document before the end of its piece: the text after it is not read. */
const AFTER_END = /^\.\.\.[ \t]*(?:#.*)?\r?\n(?=(?:[ \t]*(?:#.*)?\r?\n)*[ \t]*[^\s#])/m;

function yamlPiece(separator: string, text: string, first: number, wrong: string | undefined): Piece {
  const blank = /^(?:[ \t\ufeff]*(?:#.*)?\r?\n)*/.exec(text)?.[0] ?? '';
  const common = { separator, text, line: first + (blank.match(/\n/g)?.length ?? 0), format: 'yaml' as const };
  if (wrong !== undefined) return { ...common, line: first - 1, value: null, problem: wrong };
  try {
    const { value, repeated } = parseYaml(text);
    if (isTooDeep(value)) return { ...common, value: null, problem: TOO_DEEP };
    const shape = shapeProblem(value);
    if (shape !== undefined) return { ...common, value, problem: shape, foreign: true };
    const problem =
      repeated[0] ?? (AFTER_END.test(text) ? 'there is text after the end of the document ("...")' : undefined);
    return { ...common, value, ...(problem !== undefined && { problem: problem.replaceAll('\n', '') }) };
  } catch (error) {
    return { ...common, value: null, problem: problemOf(error) };
  }
}

/** Kubernetes objects have an apiVersion and a kind. */
function shapeProblem(value: JsonValue): string | undefined {
  if (value === null) return undefined;
  if (!isObject(value)) return 'it is not an object';
  if (typeof value['kind'] !== 'string' || value['kind'] === '') return 'kind is missing';
  if (typeof value['apiVersion'] !== 'string' || value['apiVersion'] === '') return 'apiVersion is missing';
  return undefined;
}

/** Splits concatenated JSON objects; returns undefined if the text is not JSON. */
function jsonPieces(text: string): Piece[] | undefined {
  const pieces: Piece[] = [];
  let at = 0;
  let line = 1;
  while (/\S/.test(text.slice(at, at + 1)) || at < text.length) {
    const end = endOfObject(text, at);
    if (end === undefined) break;
    const part = text.slice(at, end);
    const value = parseJson(part);
    if (value === undefined) return undefined;
    const lead = /^[\s\ufeff]*/.exec(part)?.[0] ?? '';
    const deep = isTooDeep(value);
    const shape = deep ? undefined : shapeProblem(value);
    const start = line + (lead.match(/\n/g)?.length ?? 0);
    pieces.push({
      separator: '',
      text: part,
      line: start,
      format: 'json',
      value: deep ? null : value,
      ...(deep && { problem: TOO_DEEP }),
      ...(shape !== undefined && { problem: shape, foreign: true }),
    });
    line += part.match(/\n/g)?.length ?? 0;
    at = end;
  }
  const rest = text.slice(at);
  if (rest.trim() !== '') return undefined;
  const last = pieces.pop();
  if (last === undefined) return undefined;
  return [...pieces, { ...last, text: last.text + rest }];
}

function parseJson(text: string): JsonValue | undefined {
  try {
    JSON.parse(text.replace(/^\ufeff/, ''));
    // Of duplicate keys the last one counts, as everywhere in JSON.
    return parseYaml(text.replace(/^\ufeff/, '')).value;
  } catch {
    return undefined;
  }
}

/** Returns the index after the closing brace of the object that begins at `from`. */
function endOfObject(text: string, from: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (quoted) {
      if (char === '\\') i++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return i + 1;
    else if (depth === 0 && char !== undefined && !/[\s\ufeff]/.test(char)) return undefined;
  }
  return undefined;
}
