import { quoted } from '../values/text.js';

/** An IP address without a zone. */
export interface Address {
  /** 32 or 128. */
  readonly bits: number;
  readonly value: bigint;
}

/** Why a text is no address, in Go's words. */
export class AddressError extends Error {}

function bad(text: string, why: string, at?: string): never {
  const where = at === undefined ? '' : ` (at ${quoted(at)})`;
  throw new AddressError(`ParseAddr(${quoted(text)}): ${why}${where}`);
}

function parse4(text: string): bigint {
  const fields = text.split('.');
  let value = 0n;
  fields.forEach((field, i) => {
    const rest = fields.slice(i).join('.');
    if (field === '') bad(text, 'IPv4 field must have at least one digit', rest === '' ? undefined : rest);
    const odd = /[^0-9]/.exec(field);
    if (odd !== null) bad(text, 'unexpected character', text.slice(text.length - rest.length + odd.index));
    if (i === 4) bad(text, 'IPv4 address too long');
    if (field.length > 1 && field.startsWith('0')) bad(text, 'IPv4 field has octet with leading zero');
    if (Number(field) > 255) bad(text, 'IPv4 field has value >255');
    value = (value << 8n) | BigInt(field);
  });
  if (fields.length < 4) bad(text, 'IPv4 address too short');
  return value;
}

function groups(text: string, part: string): bigint[] {
  if (part === '') return [];
  const found: bigint[] = [];
  const fields = part.split(':');
  fields.forEach((field, i) => {
    if (field.includes('.') && i === fields.length - 1) {
      const value = parse4(field);
      found.push(value >> 16n, value & 0xffffn);
      return;
    }
    if (field === '') bad(text, 'each colon-separated field must have at least one digit', fields.slice(i).join(':'));
    if (!/^[0-9a-fA-F]+$/.test(field))
      bad(
        text,
        'unexpected character, want colon',
        fields
          .slice(i)
          .join(':')
          .replace(/^[0-9a-fA-F]*/, ''),
      );
    if (field.length > 4) bad(text, 'each group must have 4 or less digits', fields.slice(i).join(':'));
    found.push(BigInt(`0x${field}`));
  });
  return found;
}

function parse6(text: string): bigint {
  const double = text.indexOf('::');
  let all: bigint[];
  if (double < 0) {
    all = groups(text, text);
    if (all.length < 8) bad(text, 'address string too short');
  } else {
    const head = groups(text, text.slice(0, double));
    const rest = text.slice(double + 2);
    if (rest.includes('::')) bad(text, 'multiple :: in address', `::${rest.slice(rest.indexOf('::') + 2)}`);
    const tail = groups(text, rest);
    if (head.length + tail.length >= 8) bad(text, 'the :: must expand to at least one field of zeros');
    all = [...head, ...new Array<bigint>(8 - head.length - tail.length).fill(0n), ...tail];
  }
  if (all.length > 8) bad(text, 'trailing garbage after address');
  return all.reduce((value, group) => (value << 16n) | group, 0n);
}

export const isMapped = (address: Address): boolean => address.bits === 128 && address.value >> 32n === 0xffffn;

/** Reads an address; throws an AddressError. A zone is kept apart. */
export function parseAddress(text: string): Address & { readonly zone: string } {
  for (const char of text) {
    if (char === '.') return { bits: 32, value: parse4(text), zone: '' };
    if (char === ':') {
      const percent = text.indexOf('%');
      if (percent < 0) return { bits: 128, value: parse6(text), zone: '' };
      if (percent === text.length - 1) bad(text, 'zone must be a non-empty string');
      return { bits: 128, value: parse6(text.slice(0, percent)), zone: text.slice(percent + 1) };
    }
    if (char === '%') bad(text, 'missing IPv6 address');
  }
  return bad(text, 'unable to parse IP');
}

function format6(value: bigint): string {
  const all = Array.from({ length: 8 }, (_, i) => (value >> BigInt(112 - 16 * i)) & 0xffffn);
  // The longest run of two or more zero groups is left out.
  let best = { at: -1, length: 1 };
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && all[end] === 0n) end++;
    if (end - i > best.length) best = { at: i, length: end - i };
  }
  const hex = all.map((group) => group.toString(16));
  if (best.at < 0) return hex.join(':');
  return `${hex.slice(0, best.at).join(':')}::${hex.slice(best.at + best.length).join(':')}`;
}

export function formatAddress(address: Address): string {
  if (address.bits === 128) return format6(address.value);
  return [24n, 16n, 8n, 0n].map((shift) => ((address.value >> shift) & 0xffn).toString()).join('.');
}

/** The address with all but its first `bits` cleared. */
export function mask(address: Address, bits: number): Address {
  const shift = BigInt(address.bits - bits);
  return { bits: address.bits, value: (address.value >> shift) << shift };
}
