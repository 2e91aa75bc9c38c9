import { quoted } from '../values/text.js';

/** An IP address, as Go's netip package reads it. */
export interface Address {
  /** 32 or 128. */
  readonly bits: number;
  readonly value: bigint;
}

/** The reason why a string is not an IP address, as Go words it. */
export class AddressError extends Error {}

const GROUPS = 8;
const DIGITS = /[0-9a-fA-F]*/y;

/** Reads one address from left to right, because each error names the text that is not read yet. */
class AddressReader {
  /** Where the zone begins, or the end. */
  private readonly end: number;
  private at = 0;
  private readonly groups: bigint[] = [];
  /** The number of groups before `::`; undefined without one. */
  private ellipsis: number | undefined;

  constructor(private readonly text: string) {
    const percent = text.indexOf('%');
    this.end = percent < 0 ? text.length : percent;
  }

  fail(why: string, from?: number, to = this.end): never {
    const rest = from === undefined ? '' : this.text.slice(from, to);
    throw new AddressError(`ParseAddr(${quoted(this.text)}): ${why}${rest === '' ? '' : ` (at ${quoted(rest)})`}`);
  }

  /** Reads four decimal numbers up to `end`. */
  dotted(start: number, end: number): bigint {
    const fields = this.text.slice(start, end).split('.');
    let value = 0n;
    let from = start;
    fields.forEach((field, i) => {
      this.octet(field, from, end);
      const stop = from + field.length;
      const next = fields[i + 1];
      // The point after an empty field is where Go notices it; before it, what follows does not count.
      if (next !== undefined && (field === '' || (next === '' && i + 2 === fields.length)))
        this.fail('IPv4 field must have at least one digit', stop, end);
      if (next !== undefined && i === 3) this.fail('IPv4 address too long');
      value = (value << 8n) | BigInt(field);
      from = stop + 1;
    });
    if (fields.length < 4) this.fail('IPv4 address too short');
    return value;
  }

  /** Checks one number; an empty one is its caller's concern. */
  private octet(field: string, from: number, end: number): void {
    let value = 0;
    for (let i = 0; i < field.length; i++) {
      const digit = field.charCodeAt(i) - 0x30;
      if (digit < 0 || digit > 9) this.fail('unexpected character', from + i, end);
      if (i === 1 && value === 0) this.fail('IPv4 field has octet with leading zero');
      value = value * 10 + digit;
      if (value > 255) this.fail('IPv4 field has value >255');
    }
  }

  /** Reads an address with colons. */
  colons(): bigint {
    if (this.end === this.text.length - 1) this.fail('zone must be a non-empty string');
    if (this.text.startsWith('::')) {
      this.ellipsis = 0;
      this.at = 2;
    }
    while (this.groups.length < GROUPS && (this.at < this.end || this.ellipsis === undefined)) if (this.last()) break;
    if (this.at < this.end) this.fail('trailing garbage after address', this.at);
    return this.expanded().reduce((value, group) => (value << 16n) | group, 0n);
  }

  /** Reads a group and the colons behind it, and reports whether it is the last. */
  private last(): boolean {
    const start = this.at;
    DIGITS.lastIndex = start;
    const digits = DIGITS.exec(this.text)?.[0] ?? '';
    if (digits.length > 4) this.fail('each group must have 4 or less digits', start);
    if (digits === '') this.fail('each colon-separated field must have at least one digit', start);
    const behind = start + digits.length;
    if (this.text[behind] === '.') return this.embedded(start);
    this.groups.push(BigInt(`0x${digits}`));
    this.at = behind;
    if (behind >= this.end) return true;
    if (this.text[behind] !== ':') this.fail('unexpected character, want colon', behind);
    if (behind + 1 === this.end) this.fail('colon must be followed by more characters', behind);
    this.at++;
    if (this.text[this.at] !== ':') return false;
    if (this.ellipsis !== undefined) this.fail('multiple :: in address', this.at);
    this.ellipsis = this.groups.length;
    this.at++;
    return this.at >= this.end;
  }

  /** Reads an IPv4 address, which replaces the last two groups. */
  private embedded(start: number): true {
    if (this.ellipsis === undefined && this.groups.length !== GROUPS - 2)
      this.fail('embedded IPv4 address must replace the final 2 fields of the address', start);
    if (this.groups.length > GROUPS - 2)
      this.fail('too many hex fields to fit an embedded IPv4 at the end of the address', start);
    const value = this.dotted(start, this.end);
    this.groups.push(value >> 16n, value & 0xffffn);
    this.at = this.end;
    return true;
  }

  private expanded(): readonly bigint[] {
    const missing = GROUPS - this.groups.length;
    if (this.ellipsis === undefined) return missing > 0 ? this.fail('address string too short') : this.groups;
    if (missing === 0) this.fail('the :: must expand to at least one field of zeros');
    const zeros = new Array<bigint>(missing).fill(0n);
    return [...this.groups.slice(0, this.ellipsis), ...zeros, ...this.groups.slice(this.ellipsis)];
  }
}

/** Parses an address, or throws an AddressError. The zone is returned separately. */
export function parseAddress(text: string): Address & { readonly zone: string } {
  const reader = new AddressReader(text);
  const [kind] = /[.:%]/.exec(text) ?? [];
  if (kind === '.') return { bits: 32, value: reader.dotted(0, text.length), zone: '' };
  if (kind === undefined) return reader.fail('unable to parse IP');
  if (kind === '%') return reader.fail('missing IPv6 address');
  const percent = text.indexOf('%');
  return { bits: 128, value: reader.colons(), zone: percent < 0 ? '' : text.slice(percent + 1) };
}
