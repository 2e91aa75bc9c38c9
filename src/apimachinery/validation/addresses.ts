import { ipText, parseIp, type IpAddress } from '@annex/cel/formats/ip-address';
import { quote } from '../meta/meta.js';

/** Parses an address range. `zeros` is also true if the prefix length has leading zeros. */
function parseRange(text: string): (IpAddress & { readonly prefix: number }) | undefined {
  const slash = text.indexOf('/');
  const parsed = slash < 0 ? undefined : parseIp(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (parsed === undefined || !/^\d{1,16}$/.test(length)) return undefined;
  // The prefix length of an IPv4-mapped IPv6 address counts the bits of IPv6.
  const prefix = Number(length) - (parsed.mapped ? 96 : 0);
  if (prefix < 0 || prefix > parsed.bits) return undefined;
  return { ...parsed, zeros: parsed.zeros || (length.length > 1 && length.startsWith('0')), prefix };
}

/** Reports whether Go parses it as an address, however it is written. */
export const isAddress = (text: string): boolean => parseIp(text) !== undefined;

/** Returns the errors in a new address. */
export function addressErrors(text: string): string[] {
  const parsed = parseIp(text);
  if (parsed === undefined) return ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
  if (parsed.zeros) return ['must not have leading 0s'];
  return parsed.mapped ? ['must not be an IPv4-mapped IPv6 address'] : [];
}

/** Returns the errors in a new range of addresses. */
export function cidrErrors(text: string): string[] {
  const parsed = parseRange(text);
  if (parsed === undefined) return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
  if (parsed.zeros) return ['must not have leading 0s in IP or prefix length'];
  if (parsed.mapped) return ['must not have an IPv4-mapped IPv6 address'];
  const host = BigInt(parsed.bits - parsed.prefix);
  return (parsed.value >> host) << host === parsed.value ? [] : ['must not have bits set beyond the prefix length'];
}

/** Returns kube-apiserver's warnings about a valid address that is not in canonical form. */
export function addressWarnings(path: string, text: string): string[] {
  const parsed = parseIp(text);
  if (parsed === undefined) return [];
  const canonical = ipText(parsed.value, parsed.bits);
  if (parsed.zeros || parsed.mapped)
    return [`${path}: non-standard IP address ${quote(text)} is invalid: use ${quote(canonical)}`];
  if (canonical === text) return [];
  return [`${path}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}

/** Returns the same warnings about a range of addresses. */
export function cidrWarnings(path: string, text: string): string[] {
  const parsed = parseRange(text);
  if (parsed === undefined) return [];
  const { value, bits, prefix } = parsed;
  const host = BigInt(bits - prefix);
  const network = (value >> host) << host;
  const canonical = `${ipText(network, bits)}/${prefix}`;
  const found: string[] = [];
  if (network !== value) {
    const single = `${ipText(value, bits)}/${bits}`;
    const choice = `should be ${quote(canonical)} or ${quote(single)}?`;
    found.push(`${path}: CIDR value ${quote(text)} is ambiguous in this context (${choice})`);
  }
  if (parsed.zeros || parsed.mapped)
    found.push(`${path}: non-standard CIDR value ${quote(text)} is invalid: use ${quote(canonical)}`);
  if (found.length > 0 || canonical === text) return found;
  return [`${path}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}
