/** Unicode white space, which does not include U+FEFF. */
function isSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  if (code < 0x1680) return code === 0x85 || code === 0xa0;
  if (code >= 0x2000 && code <= 0x200a) return true;
  return code === 0x1680 || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f || code === 0x3000;
}

/** Trims like Go's strings.TrimSpace. Linear, also in runs of spaces within the text, which clients choose. */
export function trimSpace(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value.charCodeAt(start))) start++;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}
