/** A key of an order as it is written, without the direction. */
export interface KeyText {
  readonly text: string;
  readonly descending: boolean;
}

const OPENING = '([{';
const CLOSING = ')]}';
/** The letters before a string in which a backslash is a backslash. */
const RAW_PREFIX = /(?:^|[^A-Za-z0-9_])(?:[rR]|[rR][bB]|[bB][rR])$/;
const SPACE = new Set([' ', '\t', '\n', '\r', '\f']);

/** Splits the value of `orderBy` at the commas that are in no string, list, call or comment. */
export function splitKeys(source: string): readonly KeyText[] {
  const keys: KeyText[] = [];
  let start = 0;
  let depth = 0;
  let commentEnd = -1;
  for (let at = 0; at < source.length;) {
    const char = source.charAt(at);
    if (char === '"' || char === "'" || char === '`') {
      at = endOfString(source, at);
      continue;
    }
    if (char === '/' && source.charAt(at + 1) === '/') {
      const end = source.indexOf('\n', at);
      at = end < 0 ? source.length : end;
      commentEnd = at;
      continue;
    }
    if (OPENING.includes(char)) depth++;
    else if (CLOSING.includes(char)) depth--;
    else if (char === ',' && depth <= 0) {
      keys.push(keyText(source.slice(start, at), false));
      start = at + 1;
    }
    at++;
  }
  keys.push(keyText(source.slice(start), commentEnd === source.length));
  return keys;
}

/** Returns the position after the string or the quoted name that begins at a quote. */
function endOfString(source: string, start: number): number {
  const quote = source.charAt(start);
  const raw = quote !== '`' && RAW_PREFIX.test(source.slice(Math.max(0, start - 3), start));
  const long = quote !== '`' && source.startsWith(quote.repeat(3), start);
  const end = long ? quote.repeat(3) : quote;
  for (let at = start + end.length; at < source.length; at++) {
    if (source.charAt(at) === '\\' && !raw && quote !== '`') at++;
    else if (source.startsWith(end, at)) return at + end.length;
  }
  return source.length;
}

function keyText(part: string, endsInComment: boolean): KeyText {
  const text = trimmed(part);
  const word = endsInComment ? undefined : /[ \t\n\r\f](asc|desc)$/.exec(text)?.[1];
  if (word === undefined) return { text, descending: false };
  return { text: trimmed(text.slice(0, -word.length)), descending: word === 'desc' };
}

function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.has(text.charAt(start))) start++;
  while (end > start && SPACE.has(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}
