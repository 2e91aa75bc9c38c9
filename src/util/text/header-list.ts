const COMMA = 0x2c;
const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/** Returns a part of the header without the spaces around it. */
function trimmed(header: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(header.charCodeAt(start))) start++;
  while (end > start && isSpace(header.charCodeAt(end - 1))) end--;
  return header.slice(start, end);
}

/**
 * Yields the items of a header that is a list, without the spaces around them. One pass over the text, and nothing is built for the
 * items that nobody reads: a client can send half a million of them.
 */
export function* listItems(header: string): Generator<string> {
  for (let start = 0; start <= header.length;) {
    let end = header.indexOf(',', start);
    if (end < 0) end = header.length;
    yield trimmed(header, start, end);
    start = end + 1;
  }
}

/** Reports whether a list has an item, in any case. `item` is in lower case. */
export function hasListItem(header: string, item: string): boolean {
  let begun = 0;
  for (let at = 0; at <= header.length; at++) {
    if (at < header.length && header.charCodeAt(at) !== COMMA) continue;
    if (at - begun >= item.length && trimmed(header, begun, at).toLowerCase() === item) return true;
    begun = at + 1;
  }
  return false;
}
