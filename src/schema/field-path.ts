import { type JsonObject, isObject, objectAt } from '../apimachinery/json.js';
import type { JsonSchemaProps } from './interfaces.js';

/** Where a path leads: its members, and the schema there. */
export type FieldPathResult =
  { readonly path: readonly string[]; readonly schema: JsonObject } | { readonly error: string };

/** Dots and brackets, quoted names, and what stands between them; an unfinished quoted name is no token. */
function tokensOf(text: string): string[] {
  return text.match(/[.[\]]|'(?:[^'\\]|\\[\s\S])*'|'[^']*$|[^.[\]']+[^.[\]]*/g) ?? [];
}

/**
 * Follows a path like `.spec.color` or `.spec['a.b']` through a schema's properties and additional properties (the paths of
 * selectable fields and of rules' `fieldPath`).
 */
export function resolveFieldPath(schema: JsonSchemaProps, text: string, allowBrackets = true): FieldPathResult {
  const tokens = tokensOf(text);
  const path: string[] = [];
  let current: JsonObject = schema;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    let name: string;
    if (token === '[') {
      if (!allowBrackets) return { error: 'array notation is not allowed' };
      const quoted = tokens[++i];
      if (quoted === undefined) return { error: 'unexpected end of JSON path' };
      if (!/^'.*'$/s.test(quoted) || quoted.length < 2) {
        return { error: `expected single quoted string but got ${quoted}` };
      }
      const unescaped = unescape(quoted.slice(1, -1));
      if (unescaped === undefined) return { error: 'invalid string literal: invalid escape sequence' };
      name = unescaped;
    } else if (token === '.') {
      const plain = tokens[++i];
      if (plain === undefined) return { error: 'unexpected end of JSON path' };
      name = plain;
    } else return { error: `expected [ or . but got: ${token ?? ''}` };
    const next = step(current, name);
    if (next === undefined) return { error: 'does not refer to a valid field' };
    path.push(name);
    current = next;
    if (token === '[') {
      const close = tokens[++i];
      if (close === undefined) return { error: 'unexpected end of JSON path' };
      if (close !== ']') return { error: `expected ] but got ${close}` };
    }
  }
  return { path, schema: current };
}

function step(schema: JsonObject, name: string): JsonObject | undefined {
  const properties = objectAt(schema, 'properties');
  if (properties !== undefined && Object.keys(properties).length > 0) {
    return Object.hasOwn(properties, name) ? objectAt(properties, name) : undefined;
  }
  const additional = schema['additionalProperties'];
  return isObject(additional) ? additional : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = { "'": "'", '\\': '\\', n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function unescape(text: string): string | undefined {
  let valid = true;
  const out = text.replace(/\\([\s\S]?)/g, (_, char: string) => {
    const plain = ESCAPES[char];
    if (plain === undefined) valid = false;
    return plain ?? '';
  });
  return valid ? out : undefined;
}

/** Why a path does not lead to a field, or undefined. */
export function fieldPathFault(schema: JsonSchemaProps, text: string): string | undefined {
  const result = resolveFieldPath(schema, text);
  return 'error' in result ? result.error : undefined;
}
