export interface PemBlock {
  readonly label: string;
  /** True if header lines precede the content. */
  readonly headers: boolean;
  readonly content: Buffer;
  /** The position in the text after the block. */
  readonly end: number;
}

const BEGIN = '-----BEGIN ';
const END = '-----END ';
const DASHES = '-----';
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Returns the first PEM block at or after a position, with any label; undefined if there is none. As in Go, a block begins at the last
 * BEGIN before an END, and an END that closes no block is skipped: so each part of the text is read once.
 */
export function nextPemBlock(text: string, from = 0): PemBlock | undefined {
  let after = from;
  for (let ending = lineStart(text, END, from); ending >= 0; ending = lineStart(text, END, after)) {
    const stop = lineEnd(text, ending);
    const block = blockBefore(text, after, ending, stop);
    if (block !== undefined) return block;
    after = stop;
  }
  return undefined;
}

function blockBefore(text: string, from: number, ending: number, stop: number): PemBlock | undefined {
  const part = text.slice(from, ending);
  const at = part.lastIndexOf(BEGIN);
  // A block starts a line.
  if (at < 0 || (at > 0 ? part.charCodeAt(at - 1) !== 10 : from > 0 && text.charCodeAt(from - 1) !== 10))
    return undefined;
  const eol = lineEnd(part, at);
  const head = part.slice(at, eol).trimEnd();
  if (!head.endsWith(DASHES)) return undefined;
  const label = head.slice(BEGIN.length, -DASHES.length);
  if (text.slice(ending, stop).trimEnd() !== `${END}${label}${DASHES}`) return undefined;
  const body = part.slice(eol);
  const headers = body.includes(':');
  const data = (headers ? body.slice(afterHeaders(body)) : body).replace(/\s+/g, '');
  if (data.length % 4 !== 0 || !BASE64.test(data)) return undefined;
  return { label, headers, content: Buffer.from(data, 'base64'), end: Math.min(stop + 1, text.length) };
}

function lineStart(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (at === 0 || text.charCodeAt(at - 1) === 10) return at;
  }
  return -1;
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  return at < 0 ? text.length : at;
}

/** Returns the start of the content. Headers are lines with a colon; the content starts after the last one. */
function afterHeaders(body: string): number {
  return lineEnd(body, body.lastIndexOf(':'));
}
