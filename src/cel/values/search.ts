/**
 * Looking for a part of a text in time linear in both, whatever they are: the native search may compare every unit of the
 * part at every place of the text. It is used where that product is small.
 */
const SMALL = 1 << 20;
const SHORT = 16;

/** For each prefix of the part, how long its longest proper border is. */
function borders(part: string): Int32Array {
  const table = new Int32Array(part.length);
  let length = 0;
  for (let i = 1; i < part.length; i++) {
    while (length > 0 && part.charCodeAt(i) !== part.charCodeAt(length)) length = table[length - 1] as number;
    if (part.charCodeAt(i) === part.charCodeAt(length)) length++;
    table[i] = length;
  }
  return table;
}

/** Calls `found` with the end of every place, overlapping ones too, until it returns true. */
function scan(text: string, part: string, from: number, to: number, found: (end: number) => boolean): void {
  const table = borders(part);
  let length = 0;
  for (let i = from; i < to; i++) {
    const unit = text.charCodeAt(i);
    while (length > 0 && unit !== part.charCodeAt(length)) length = table[length - 1] as number;
    if (unit === part.charCodeAt(length)) length++;
    if (length < part.length) continue;
    if (found(i + 1)) return;
    length = table[length - 1] as number;
  }
}

const isSmall = (text: string, part: string): boolean => part.length <= SHORT || text.length * part.length <= SMALL;

/** The first place of a part from an offset on; -1 if there is none. */
export function find(text: string, part: string, from: number): number {
  if (isSmall(text, part)) return text.indexOf(part, from);
  let at = -1;
  scan(text, part, from, text.length, (end) => {
    at = end - part.length;
    return true;
  });
  return at;
}

/** The last place of a part that begins at an offset or before it; -1 if there is none. */
export function findLast(text: string, part: string, from: number): number {
  if (isSmall(text, part)) return text.lastIndexOf(part, from);
  let at = -1;
  scan(text, part, 0, Math.min(text.length, from + part.length), (end) => {
    at = end - part.length;
    return false;
  });
  return at;
}

/** The parts of a text between the places of a separator that is not empty. */
export function split(text: string, separator: string): string[] {
  if (isSmall(text, separator)) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  scan(text, separator, 0, text.length, (end) => {
    if (end - separator.length >= start) {
      parts.push(text.slice(start, end - separator.length));
      start = end;
    }
    return false;
  });
  parts.push(text.slice(start));
  return parts;
}
