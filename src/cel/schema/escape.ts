const RESERVED = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);

const ESCAPES: Record<string, string> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' };
const UNESCAPES: Record<string, string> = { underscores: '__', dot: '.', dash: '-', slash: '/' };

export const isReserved = (name: string): boolean => RESERVED.has(name);

/** The identifier that stands for a property name; undefined if the name cannot be an identifier. */
export function escapeIdentifier(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (part) => ESCAPES[part] ?? part);
}

/** The property name that an identifier stands for; undefined if it is not well escaped. */
export function unescapeIdentifier(identifier: string): string | undefined {
  const parts: string[] = [];
  let at = 0;
  for (const match of identifier.matchAll(/__([^_]+)__/g)) {
    const [whole, content = ''] = match;
    const known =
      UNESCAPES[content] ?? (RESERVED.has(content) && whole.length === identifier.length ? content : undefined);
    if (known === undefined) return undefined;
    parts.push(identifier.slice(at, match.index), known);
    at = match.index + whole.length;
  }
  return parts.join('') + identifier.slice(at);
}
