import { deepCopy, isObject, type JsonValue } from '../../apimachinery/json/json.js';
import { toYaml } from '../../apimachinery/yaml/yaml.js';
import { Refusal } from './conversion.js';
import { convertValue, type ConversionTarget } from './convert-value.js';
import type { Piece } from './documents/documents.js';
import type { Input } from './documents/inputs.js';
import { describe } from './name.js';
import { prettyJson, rewriteJson, rewriteYaml } from './documents/rewrite.js';

type Verdict = 'unchanged' | 'converted' | 'refused' | 'unreadable' | 'foreign';

export interface Result {
  readonly piece: Piece;
  readonly verdict: Verdict;
  readonly value: JsonValue;
}

export interface Rules extends ConversionTarget {
  readonly allowLoss: boolean;
}

/** Reports whether a document in a folder is none of Kubernetes: such files stand beside manifests in most repositories. */
export const isLeftAlone = ({ named }: Input, { foreign = false }: Piece): boolean => foreign && !named;

/** Converts the documents of an input; `report` receives the messages for the user. */
export function convertDocuments(input: Input, rules: Rules, report: (line: string) => void): readonly Result[] {
  return input.pieces.map((piece) => {
    if (isLeftAlone(input, piece)) return { piece, verdict: 'foreign', value: piece.value };
    const where = `${input.name}:${String(piece.line)}`;
    if (piece.problem !== undefined) {
      report(`error: ${where}: ${piece.problem}`);
      return { piece, verdict: 'unreadable', value: piece.value };
    }
    return convertPiece(piece, where, rules, report);
  });
}

function convertPiece(piece: Piece, where: string, rules: Rules, report: (line: string) => void): Result {
  const at = `${where}: ${describe(piece.value)}`;
  const value = deepCopy(piece.value);
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const lose = (text: string): void => {
    if (!rules.allowLoss) throw new Refusal(`${text} (--allow-loss drops it)`);
    warn(`lost: ${text}`);
  };
  try {
    const changed = convertValue(value, rules, { warn, lose });
    for (const warning of warnings) report(`warning: ${at}: ${warning}`);
    return { piece, verdict: changed ? 'converted' : 'unchanged', value: changed ? value : piece.value };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    report(`error: ${at}: ${error.message}`);
    return { piece, verdict: 'refused', value: piece.value };
  }
}

function textOf({ piece, verdict, value }: Result): string {
  if (verdict !== 'converted') return piece.text;
  return piece.format === 'json' ? rewriteJson(piece.text, value) : rewriteYaml(piece.text, piece.value, value);
}

/** Returns the content of a file after conversion: what was not converted stays as it was, byte for byte. */
export const fileText = (results: readonly Result[]): string =>
  results.map((result) => result.piece.separator + textOf(result)).join('');

/** Reports whether a document has no converted form. */
export const hasFailed = ({ verdict }: Result): boolean => verdict === 'refused' || verdict === 'unreadable';

const isPrinted = (result: Result): boolean => !hasFailed(result) && result.verdict !== 'foreign';

/** Returns the standard output for all inputs, without the documents that were refused or left alone. */
export function streamText(files: readonly (readonly Result[])[], format: 'json' | 'yaml' | undefined): string {
  const kept = files.map((results) => results.filter(isPrinted));
  if (format === 'json') return jsonText(kept.flat().map(({ value }) => value));
  const all = kept.flat();
  if (format === undefined && all.length > 0 && all.every(({ piece }) => piece.format === 'json'))
    return lines(all.map(textOf).join(''));
  let out = '';
  for (const results of kept) {
    results.forEach((result, i) => {
      const text = result.piece.format === 'json' ? toYaml(result.value) : textOf(result);
      if (out === '') out = result.piece.separator + text;
      else out = lines(out) + (i > 0 && result.piece.separator !== '' ? result.piece.separator : '---\n') + text;
    });
  }
  return lines(out);
}

/** Formats one object, or a list of them, as kubectl prints it. */
function jsonText(values: readonly JsonValue[]): string {
  const objects = values.filter(isObject);
  const [only, ...more] = objects;
  if (only === undefined) return '';
  const value: JsonValue = more.length === 0 ? only : { apiVersion: 'v1', kind: 'List', items: objects };
  return `${prettyJson(value, '    ')}\n`;
}

const lines = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
