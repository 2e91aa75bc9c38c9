import { FieldPath } from '../../apimachinery/meta/field-error.js';
import { isObject, type JsonObject, objectAt } from '../../apimachinery/json/json.js';

/** A path and the schema it leads to, or the error of resolving it. */
export type PathResult =
  { readonly path: FieldPath; readonly schema: JsonObject; readonly error?: undefined } | { readonly error: string };

const ESCAPES: Record<string, string> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

/** Splits a path at dots and brackets; a quoted name is one token. */
function tokens(path: string): string[] {
  const found: string[] = [];
  let at = 0;
  while (at < path.length) {
    const first = path[at];
    if (first === "'") {
      let end = at + 1;
      while (end < path.length && !(path[end] === "'" && path[end - 1] !== '\\')) end++;
      found.push(path.slice(at, end + 1));
      at = end + 1;
    } else if (first === '.' || first === '[' || first === ']') {
      found.push(first);
      at++;
    } else {
      let end = at;
      while (end < path.length && !'.[]'.includes(path[end] ?? '')) end++;
      found.push(path.slice(at, end));
      at = end;
    }
  }
  return found;
}

function unquote(token: string): { name: string } | { error: string } {
  let error: string | undefined;
  const name = token.slice(1, -1).replace(/\\(.)/g, (match, char: string) => {
    const known = ESCAPES[char];
    if (known === undefined) error ??= `invalid escape char ${match}`;
    return known ?? '';
  });
  return error === undefined ? { name } : { error: `invalid string literal: ${error}` };
}

class Walker {
  path = FieldPath.empty;

  constructor(public schema: JsonObject) {}

  /** Follows a name. Returns the error, if any. */
  step(name: string): string | undefined {
    const properties = objectAt(this.schema, 'properties');
    const values = this.schema['additionalProperties'] ?? undefined;
    if (properties !== undefined) {
      this.path = this.path.child(name);
      const next = Object.hasOwn(properties, name) ? objectAt(properties, name) : undefined;
      if (next === undefined) return 'does not refer to a valid field';
      this.schema = next;
      return undefined;
    }
    if (values === undefined) return 'does not refer to a valid field';
    this.path = this.path.key(name);
    this.schema = isObject(values) ? values : {};
    return undefined;
  }
}

/** Checks a relative path (`.spec.map['key']`) against a schema. */
export function resolveFieldPath(
  path: string,
  schema: JsonObject,
  brackets: 'allowed' | 'forbidden' = 'allowed',
): PathResult {
  const walker = new Walker(schema);
  const parts = tokens(path);
  for (let i = 0; i < parts.length;) {
    const token = parts[i];
    const name = parts[i + 1];
    if (token !== '.' && token !== '[') return { error: `expected [ or . but got: ${token ?? ''}` };
    if (token === '[' && brackets === 'forbidden') return { error: 'array notation is not allowed' };
    if (name === undefined) return { error: 'unexpected end of JSON path' };
    if (token === '.') {
      const error = walker.step(name);
      if (error !== undefined) return { error };
      i += 2;
      continue;
    }
    if (name.length < 2 || !name.startsWith("'") || !name.endsWith("'")) {
      return { error: `expected single quoted string but got ${name}` };
    }
    const unquoted = unquote(name);
    if ('error' in unquoted) return unquoted;
    const error = walker.step(unquoted.name);
    if (error !== undefined) return { error };
    const close = parts[i + 2];
    if (close === undefined) return { error: 'unexpected end of JSON path' };
    if (close !== ']') return { error: `expected ] but got ${close}` };
    i += 3;
  }
  return { path: walker.path, schema: walker.schema };
}
