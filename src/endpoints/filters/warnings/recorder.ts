import type { HttpResponse } from '../../http.js';

const TOTAL_RUNES = 4 * 1024;
const ITEM_RUNES = 256;

/** Collects the Warning headers of a response: each text once, truncated if they are too long in total. */
export class WarningRecorder {
  private readonly texts: string[] = [];
  private headers: string[] = [];
  private written = 0;
  private truncating = false;

  constructor(private readonly response: HttpResponse) {}

  add(text: string): void {
    if (text === '' || this.response.headersSent) return;
    if (this.written >= TOTAL_RUNES && this.truncating) return;
    if (this.texts.includes(text)) return;
    this.texts.push(text);
    const header = warningHeader(this.cut(text));
    if (header === undefined) return;
    if (!this.truncating && this.written + runes(text) > TOTAL_RUNES) this.restartTruncated();
    else this.push(this.cut(text), header);
    this.response.setHeader('Warning', this.headers);
  }

  private restartTruncated(): void {
    this.truncating = true;
    this.written = 0;
    this.headers = [];
    for (const text of this.texts) {
      const cut = this.cut(text);
      const header = warningHeader(cut);
      if (header !== undefined) this.push(cut, header);
    }
  }

  private cut(text: string): string {
    if (!this.truncating || runes(text) <= ITEM_RUNES) return text;
    return Array.from(text.slice(0, 2 * ITEM_RUNES))
      .slice(0, ITEM_RUNES)
      .join('');
  }

  private push(text: string, header: string): void {
    this.written += runes(text);
    this.headers.push(header);
  }
}

function runes(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Returns `299 - "text"`, with the UTF-8 bytes of the text as header characters; undefined if a header cannot contain the text. */
export function warningHeader(text: string): string | undefined {
  if (/\p{Cc}/u.test(text) || /\p{Cs}/u.test(text)) return undefined;
  const quoted = text.replace(/["\\]/g, (char) => `\\${char}`);
  return `299 - "${Buffer.from(quoted).toString('latin1')}"`;
}
