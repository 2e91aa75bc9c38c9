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
  let valid = true;
  const name = identifier.replace(/__[^_]+__/g, (part) => {
    const content = part.slice(2, -2);
    const known = UNESCAPES[content];
    if (known !== undefined) return known;
    if (!RESERVED.has(content) || part.length !== identifier.length) valid = false;
    return content;
  });
  return valid ? name : undefined;
}
