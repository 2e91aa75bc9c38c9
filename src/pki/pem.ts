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

/** Returns the first PEM block at or after a position, with any label; undefined if there is none. Takes time linear in the text. */
export function nextPemBlock(text: string, from = 0): PemBlock | undefined {
  let ending = -1;
  for (let at = lineStart(text, BEGIN, from); at >= 0; at = lineStart(text, BEGIN, at + 1)) {
    const eol = lineEnd(text, at);
    const head = text.slice(at, eol).trimEnd();
    if (!head.endsWith(DASHES)) continue;
    const label = head.slice(BEGIN.length, -DASHES.length);
    if (ending < eol) ending = lineStart(text, END, eol);
    if (ending < 0) return undefined;
    const stop = lineEnd(text, ending);
    if (text.slice(ending, stop).trimEnd() !== `${END}${label}${DASHES}`) continue;
    const body = text.slice(eol, ending);
    const headers = body.includes(':');
    const data = (headers ? body.slice(afterHeaders(body)) : body).replace(/\s+/g, '');
    if (data.length % 4 !== 0 || !BASE64.test(data)) continue;
    return { label, headers, content: Buffer.from(data, 'base64'), end: Math.min(stop + 1, text.length) };
  }
  return undefined;
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
