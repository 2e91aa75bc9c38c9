/** Characters of an atom (RFC 5322), and all beyond ASCII (RFC 6532). */
const ATOM = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\u{10ffff}]$/u;
const WHITE = /^[\t\r\n ]$/;

/**
 * Whether Go's mail.ParseAddress takes the text: an address alone, or a display name followed by an address in angle
 * brackets, with comments behind it.
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
    this.space();
    const start = this.at;
    if (this.addrSpec() && this.comments() && this.done) return true;
    this.at = start;
    return this.nameAndAddress();
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

  private nameAndAddress(): boolean {
    if (this.peek() !== '<' && !this.phrase()) return false;
    this.space();
    if (!this.take('<')) return false;
    return this.addrSpec() && this.take('>') && this.comments() && this.done;
  }

  private phrase(): boolean {
    let words = 0;
    for (;;) {
      this.space();
      const found = this.peek() === '"' ? this.quoted() : this.atom(true);
      if (!found) return words > 0;
      words++;
    }
  }

  private addrSpec(): boolean {
    this.space();
    const local = this.peek() === '"' ? this.quoted() : this.atom(false);
    if (!local) return false;
    this.space();
    if (!this.take('@')) return false;
    this.space();
    return this.peek() === '[' ? this.literal() : this.atom(false);
  }

  /** A dot-atom; `loose` lets dots stand anywhere, as in display names. */
  private atom(loose: boolean): boolean {
    const start = this.at;
    while (!this.done && (this.peek() === '.' || ATOM.test(this.peek()))) this.at++;
    if (this.at === start) return false;
    if (loose) return true;
    const text = this.chars.slice(start, this.at).join('');
    return !text.startsWith('.') && !text.endsWith('.') && !text.includes('..');
  }

  private quoted(): boolean {
    this.at++;
    const start = this.at;
    while (!this.done) {
      const char = this.peek();
      if (char === '"') {
        this.at++;
        return this.at > start + 1;
      }
      if (char === '\\') this.at++;
      const code = this.peek().codePointAt(0) ?? 0;
      if ((code < 0x20 && code !== 9) || code === 0x7f) return false;
      this.at++;
    }
    return false;
  }

  private literal(): boolean {
    const end = this.chars.indexOf(']', this.at);
    if (end < 0) return false;
    const inside = this.chars.slice(this.at + 1, end).join('');
    this.at = end + 1;
    return (
      /^(?:\d{1,3}\.){3}\d{1,3}$/.test(inside) ||
      /^IPv6:[0-9a-fA-F:.]+$/.test(inside) ||
      /^[0-9a-fA-F:.]*:[0-9a-fA-F:.]+$/.test(inside)
    );
  }

  private space(): void {
    while (!this.done && WHITE.test(this.peek())) this.at++;
  }

  /** Skips white space and comments, which may only stand at the end; false for a comment that does not end. */
  private comments(): boolean {
    for (;;) {
      this.space();
      if (this.peek() !== '(') return true;
      let depth = 0;
      for (; !this.done; this.at++) {
        const char = this.peek();
        if (char === '\\') this.at++;
        else if (char === '(') depth++;
        else if (char === ')' && --depth === 0) break;
      }
      if (this.done) return false;
      this.at++;
    }
  }
}
