import { ipText } from '../../util/ip-text.js';
import { quote } from '../meta.js';

/** An IP address: 4 or 16 bytes as one number, and how far its text was from what Go prints. */
interface Parsed {
  readonly value: bigint;
  readonly bits: 32 | 128;
  /** A number of IPv4 has leading zeros. */
  readonly zeros: boolean;
  /** IPv4 within IPv6. */
  readonly mapped: boolean;
}

const MAPPED = 0xffffn;

/** Go's parse of an address that may have leading zeros, taken as decimal. Undefined where it is none. */
function parse(text: string): Parsed | undefined {
  if (!text.includes(':')) return parse4(text);
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  if (head === undefined) return undefined;
  const groups: bigint[][] = [[], []];
  let zeros = false;
  for (const [side, parts] of [head, tail].entries()) {
    for (const part of parts) {
      const embedded = part.includes('.') ? parse4(part) : undefined;
      if (embedded !== undefined) {
        zeros ||= embedded.zeros;
        groups[side]?.push(embedded.value >> 16n, embedded.value & 0xffffn);
      } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups[side]?.push(BigInt(`0x${part}`));
      else return undefined;
    }
  }
  const [before = [], after = []] = groups;
  const missing = 8 - before.length - after.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...before, ...new Array<bigint>(missing).fill(0n), ...after];
  const value = all.reduce((sum, group) => (sum << 16n) | group, 0n);
  if (value >> 32n === MAPPED) return { value: value & 0xffffffffn, bits: 32, zeros, mapped: true };
  return { value, bits: 128, zeros, mapped: false };
}

function parse4(text: string): Parsed | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,16}$/.test(part) && Number(part) < 256)) return undefined;
  const value = parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  const zeros = parts.some((part) => part.length > 1 && part.startsWith('0'));
  return { value, bits: 32, zeros, mapped: false };
}

/** `zeros` also where the length has leading ones. */
function parseRange(text: string): (Parsed & { readonly prefix: number }) | undefined {
  const slash = text.indexOf('/');
  const parsed = slash < 0 ? undefined : parse(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (parsed === undefined || !/^\d{1,16}$/.test(length)) return undefined;
  // The length of IPv4 within IPv6 counts the bits of the latter.
  const prefix = Number(length) - (parsed.mapped ? 96 : 0);
  if (prefix < 0 || prefix > parsed.bits) return undefined;
  return { ...parsed, zeros: parsed.zeros || (length.length > 1 && length.startsWith('0')), prefix };
}

/** Whether Go reads it as an address, however it is written. */
export const isAddress = (text: string): boolean => parse(text) !== undefined;

/** What is wrong with a new address. */
export function addressErrors(text: string): string[] {
  const parsed = parse(text);
  if (parsed === undefined) return ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
  if (parsed.zeros) return ['must not have leading 0s'];
  return parsed.mapped ? ['must not be an IPv4-mapped IPv6 address'] : [];
}

/** What is wrong with a new range of addresses. */
export function cidrErrors(text: string): string[] {
  const parsed = parseRange(text);
  if (parsed === undefined) return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
  if (parsed.zeros) return ['must not have leading 0s in IP or prefix length'];
  if (parsed.mapped) return ['must not have an IPv4-mapped IPv6 address'];
  const host = BigInt(parsed.bits - parsed.prefix);
  return (parsed.value >> host) << host === parsed.value ? [] : ['must not have bits set beyond the prefix length'];
}

/** What kube-apiserver says of a valid address that is not written as it should be. */
export function addressWarnings(path: string, text: string): string[] {
  const parsed = parse(text);
  if (parsed === undefined) return [];
  const canonical = ipText(parsed.value, parsed.bits);
  if (parsed.zeros || parsed.mapped)
    return [`${path}: non-standard IP address ${quote(text)} is invalid: use ${quote(canonical)}`];
  if (canonical === text) return [];
  return [`${path}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}

/** The same of a range of addresses. */
export function cidrWarnings(path: string, text: string): string[] {
  const parsed = parseRange(text);
  if (parsed === undefined) return [];
  const { value, bits, prefix } = parsed;
  const host = BigInt(bits - prefix);
  const network = (value >> host) << host;
  const canonical = `${ipText(network, bits)}/${String(prefix)}`;
  const found: string[] = [];
  if (network !== value) {
    const single = `${ipText(value, bits)}/${String(bits)}`;
    const choice = `should be ${quote(canonical)} or ${quote(single)}?`;
    found.push(`${path}: CIDR value ${quote(text)} is ambiguous in this context (${choice})`);
  }
  if (parsed.zeros || parsed.mapped)
    found.push(`${path}: non-standard CIDR value ${quote(text)} is invalid: use ${quote(canonical)}`);
  if (found.length > 0 || canonical === text) return found;
  return [`${path}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}
