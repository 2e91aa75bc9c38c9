/** Like Go's base64.StdEncoding: padded, and line breaks are skipped. Returns undefined for a malformed text. */
export function decodeBase64(text: string): Buffer | undefined {
  const joined = text.replace(/[\r\n]/g, '');
  if (joined.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(joined)) return undefined;
  return Buffer.from(joined, 'base64');
}
