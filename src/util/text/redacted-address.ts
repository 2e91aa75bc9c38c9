/**
 * Returns the text with the password of an address replaced, as Go's HTTP client does. For messages: it works on text that is no valid address, where all
 * between `//` and the last `@` before a slash counts as credentials.
 */
export function redactedAddress(text: string): string {
  const start = text.indexOf('//') + 2;
  if (start < 2) return text;
  const slash = text.slice(start).search(/[/?#]/);
  const authority = slash < 0 ? text.length : start + slash;
  const at = text.lastIndexOf('@', authority);
  if (at < start) {
    // A password with a slash that is not escaped.
    const late = text.lastIndexOf('@');
    return late < start ? text : `${text.slice(0, start)}***${text.slice(late)}`;
  }
  const colon = text.indexOf(':', start);
  return colon < 0 || colon > at ? text : `${text.slice(0, colon + 1)}***${text.slice(at)}`;
}
