import { isIP } from 'node:net';

/** Visible characters, and all beyond ASCII (RFC 6532). */
const VISIBLE = /^[!-~\u0080-\u{10ffff}]$/u;
/** The visible characters that an atom cannot contain. */
const SPECIAL = /^[()<>[\]:;@\\,"]$/;

/**
 * Reports whether Go's mail.ParseAddress accepts the text: an address alone, a display name followed by an address in angle
 * brackets, or a group of exactly one of these, optionally followed by comments.
 */
export function isEmailAddress(text: string): boolean {
  return text.includes('@') && new AddressReader(text).read();
}

class AddressReader {
  private readonly chars: readonly string[];
  private at = 0;

  constructor(text: string) {
    this.chars = Array.from(text);
  }

  read(): boolean {
    return this.address('or group') === 1 && this.comments() && this.done;
  }

  private get done(): boolean {
    return this.at >= this.chars.length;
  }

  private peek(): string {
    return this.chars[this.at] ?? '';
  }

  private take(char: string): boolean {
    if (this.peek() !== char) return false;
    this.at++;
    return true;
  }

  /** Reads addresses and returns their number; undefined for anything else. Groups cannot contain groups. */
  private address(allowed: 'or group' | 'alone'): number | undefined {
    this.space();
    const start = this.at;
    if (this.addrSpec()) {
      this.space();
      return this.peek() !== '(' || this.describedBy() ? 1 : undefined;
    }
    this.at = start;
    this.space();
    if (this.peek() !== '<' && !this.phrase()) return undefined;
    this.space();
    if (allowed === 'or group' && this.take(':')) return this.group();
    return this.take('<') && this.addrSpec() && this.take('>') ? 1 : undefined;
  }

  private group(): number | undefined {
    this.space();
    if (this.take(';')) return this.comments() ? 0 : undefined;
    for (let members = 0; ;) {
      const more = this.address('alone');
      if (more === undefined || !this.comments()) return undefined;
      members += more;
      if (this.take(';')) return this.comments() ? members : undefined;
      if (!this.take(',')) return undefined;
    }
  }

  /** Reads words, and comments after the first word that is not encoded. Anything else ends the phrase. */
  private phrase(): boolean {
    for (let some = false, plain = false; ; some = true) {
      if (plain && !this.comments()) return false;
      this.space();
      const start = this.at;
      const isQuoted = this.peek() === '"';
      if (isQuoted ? this.quoted() === undefined : this.atom() === '') return some;
      const charset = isQuoted ? undefined : charsetOf(this.chars.slice(start, this.at).join(''));
      if (charset === 'unknown') return some;
      plain ||= charset === undefined;
    }
  }

  private addrSpec(): boolean {
    this.space();
    const local = this.peek() === '"' ? (this.quoted() ?? '') !== '' : this.dotAtom();
    if (!local || !this.take('@')) return false;
    this.space();
    return this.peek() === '[' ? this.literal() : this.dotAtom();
  }

  /** Reads an atom, with dots anywhere, as in display names. */
  private atom(): string {
    const start = this.at;
    while (VISIBLE.test(this.peek()) && !SPECIAL.test(this.peek())) this.at++;
    return this.chars.slice(start, this.at).join('');
  }

  private dotAtom(): boolean {
    const text = this.atom();
    return text !== '' && !text.startsWith('.') && !text.endsWith('.') && !text.includes('..');
  }

  /** Reads a quoted string and returns its content. If it is not closed properly, nothing is read. */
  private quoted(): string | undefined {
    const start = this.at;
    let text = '';
    for (let at = start + 1; at < this.chars.length; at++) {
      let char = this.chars[at] ?? '';
      if (char === '"') {
        this.at = at + 1;
        return text;
      }
      if (char === '\\') char = this.chars[++at] ?? '';
      if (!VISIBLE.test(char) && char !== ' ' && char !== '\t') return undefined;
      text += char;
    }
    return undefined;
  }

  /** Reads an IP address in brackets. */
  private literal(): boolean {
    const end = this.chars.indexOf(']', this.at);
    if (end < 0) return false;
    const inside = this.chars.slice(this.at + 1, end).join('');
    this.at = end + 1;
    return isIP(inside) !== 0 && !inside.includes('%');
  }

  private space(): void {
    while (this.peek() === ' ' || this.peek() === '\t') this.at++;
  }

  /** Skips white space and comments. Returns false if a comment does not end. */
  private comments(): boolean {
    for (;;) {
      this.space();
      if (this.peek() !== '(') return true;
      if (this.comment() === undefined) return false;
    }
  }

  /** Reads a comment that replaces the display name. */
  private describedBy(): boolean {
    const words = this.comment()?.split(/[ \t]+/);
    return words?.every((word) => charsetOf(word) !== 'unknown') === true;
  }

  private comment(): string | undefined {
    let text = '';
    for (let depth = 0; !this.done; this.at++) {
      if (this.peek() === '\\' && this.at + 1 < this.chars.length) this.at++;
      else if (this.peek() === '(') depth++;
      else if (this.peek() === ')') depth--;
      if (depth === 0) {
        this.at++;
        return text.slice(1);
      }
      text += this.peek();
    }
    return undefined;
  }
}

/** Returns whether Go itself knows the character set of a properly encoded word (RFC 2047); undefined for other words. */
function charsetOf(word: string): 'known' | 'unknown' | undefined {
  const [, charset, encoding = '', content = ''] = /^=\?([^?]+)\?([bBqQ])\?([^?]*)\?=$/.exec(word) ?? [];
  if (charset === undefined || word.length < 8) return undefined;
  const form =
    encoding.toLowerCase() === 'b'
      ? /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
      : /^(?:=[0-9A-Fa-f]{2}|[\t\n\r -<>-~])*$/;
  if (!form.test(content)) return undefined;
  return /^(?:utf-8|iso-8859-1|us-ascii)$/i.test(charset) ? 'known' : 'unknown';
}
