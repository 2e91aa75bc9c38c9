import type { JsonObject, JsonValue } from '../../../apimachinery/json/json.js';
import { JsonPath } from '../../../schema/columns/json-path.js';
import { JsonPathError } from '../../../schema/columns/json-path-parser.js';
import { UsageError } from '../failure.js';
import { plainText } from './json-text.js';

/** A part of a template: text, the values at a path, or what is repeated for each of them. */
type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: JsonPath }
  | { readonly kind: 'range'; readonly path: JsonPath; readonly parts: readonly Part[] };

/** A template of kubectl's `-o jsonpath`: paths in braces, `{range}` and `{end}`, text and quoted text. */
export class Template {
  private readonly parts: readonly Part[];

  /** Throws a UsageError for a template that is malformed. */
  constructor(text: string) {
    const tokens = tokensOf(text);
    this.parts = partsOf(tokens, false);
  }

  apply(object: JsonObject): string {
    return render(this.parts, object);
  }

  /** Returns the values at the paths of the template, outside of ranges. */
  values(object: JsonObject): readonly JsonValue[] {
    return this.parts.flatMap((part) => (part.kind === 'path' ? part.path.all(object) : []));
  }
}

/** Returns the text between braces and outside them, in turns: text, action, text, … */
function tokensOf(text: string): string[] {
  const tokens: string[] = [''];
  let quote = '';
  let inside = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (!inside && char === '{') {
      inside = true;
      tokens.push('');
    } else if (inside && quote === '' && char === '}') {
      inside = false;
      tokens.push('');
    } else {
      if (inside && (char === '"' || char === "'") && text[i - 1] !== '\\')
        quote = quote === '' ? char : quote === char ? '' : quote;
      tokens.push((tokens.pop() ?? '') + char);
    }
  }
  if (inside) throw new UsageError(`jsonpath: unclosed action in ${text}`);
  return tokens;
}

function partsOf(tokens: string[], within: boolean, isAction = { now: false }): Part[] {
  const parts: Part[] = [];
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    const action = isAction.now;
    isAction.now = !action;
    if (!action) {
      if (token !== '') parts.push({ kind: 'text', text: token });
      continue;
    }
    const trimmed = token.trim();
    if (trimmed === 'end') {
      if (within) return parts;
      throw new UsageError('jsonpath: not in range, nothing to end');
    }
    const ranged = /^range(?=[\s.[@$])\s*(.*)$/s.exec(trimmed)?.[1];
    if (ranged === undefined) parts.push({ kind: 'path', path: compiled(trimmed) });
    else parts.push({ kind: 'range', path: compiled(ranged), parts: partsOf(tokens, true, isAction) });
  }
  if (within) throw new UsageError('jsonpath: unclosed range');
  return parts;
}

/** Compiles a path as kubectl takes it: in braces or not, with a leading dot or not. */
export function compiled(path: string): JsonPath {
  try {
    return new JsonPath(path);
  } catch (error) {
    if (error instanceof JsonPathError) throw new UsageError(`jsonpath: ${error.message}: ${path}`);
    throw error;
  }
}

function render(parts: readonly Part[], value: JsonValue): string {
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      const found = part.path.all(value);
      if (part.kind === 'path') return found.map(plainText).join(' ');
      return found.map((item) => render(part.parts, item)).join('');
    })
    .join('');
}
