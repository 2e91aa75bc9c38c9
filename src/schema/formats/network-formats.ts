import { parseIp } from '@annex/cel/formats/ip-address';

/** Reports whether the text is an IPv4 address, or an IPv6 address that embeds one; leading zeros are accepted. */
export const isIPv4 = (text: string): boolean => text.includes('.') && parseIp(text) !== undefined;

export const isIPv6 = (text: string): boolean => text.includes(':') && parseIp(text)?.zeros === false;

export function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const length = text.slice(slash + 1);
  if (!/^0*\d{1,3}$/.test(length) || parseIp(address) === undefined) return false;
  return Number(length) <= (address.includes(':') ? 128 : 32);
}

/** Accepts EUI-48, EUI-64 and 20-octet addresses, separated by colons, dashes, dots or nothing, as Go parses them. */
export function isMac(text: string): boolean {
  const separator = text[2];
  if (separator === ':' || separator === '-') {
    const octets = text.split(separator);
    return [6, 8, 20].includes(octets.length) && octets.every((octet) => /^[0-9a-fA-F]{2}$/.test(octet));
  }
  if (text[4] !== '.') return /^(?:[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})$/.test(text);
  const groups = text.split('.');
  return [3, 4, 10].includes(groups.length) && groups.every((group) => /^[0-9a-fA-F]{4}$/.test(group));
}
