/**
 * Trimming in linear time. A regular expression such as `/ +$/` tries each character of an inner run as the start of the last
 * one, which takes quadratic time, and clients choose these texts.
 */

/** Removes a character from the end, as Go's strings.TrimRight does. */
export function trimRight(text: string, char: string): string {
  const code = char.charCodeAt(0);
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === code) end--;
  return text.slice(0, end);
}

/** Removes a character from both ends, as Go's strings.Trim does. */
export function trimBoth(text: string, char: string): string {
  const code = char.charCodeAt(0);
  let start = 0;
  while (start < text.length && text.charCodeAt(start) === code) start++;
  return trimRight(text.slice(start), char);
}
