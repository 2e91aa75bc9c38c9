/** The four numbers of a dotted address, or undefined. `sloppy` takes leading zeros as decimal, as Go before 1.17 did. */
function ipv4Octets(text: string, sloppy: boolean): boolean {
  const parts = text.split('.');
  if (parts.length !== 4) return false;
  return parts.every((part) => {
    if (!/^\d+$/.test(part) || (!sloppy && part.length > 1 && part.startsWith('0'))) return false;
    return part.length <= 1024 && Number(part) <= 255;
  });
}

/** Go's parse of an IPv6 address without zone. */
function isIPv6Text(text: string, sloppy: boolean): boolean {
  if (text.length > 1024 || text.includes('%')) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  let groups = 0;
  for (const [index, half] of halves.entries()) {
    if (half === '') continue;
    const parts = half.split(':');
    for (const [at, part] of parts.entries()) {
      const last = index === halves.length - 1 && at === parts.length - 1;
      if (last && part.includes('.')) {
        if (!ipv4Octets(part, sloppy)) return false;
        groups += 2;
      } else {
        if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return false;
        groups += 1;
      }
    }
  }
  return halves.length === 2 ? groups <= 7 : groups === 8 && halves[0] !== '';
}

/** Whether the text is an IPv4 address, or an IPv6 address that embeds one; leading zeros are taken. */
export function isIPv4(text: string): boolean {
  return text.includes('.') && (text.includes(':') ? isIPv6Text(text, true) : ipv4Octets(text, true));
}

export function isIPv6(text: string): boolean {
  return text.includes(':') && isIPv6Text(text, false);
}

export function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const mask = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(mask)) return false;
  if (!address.includes(':')) return ipv4Octets(address, true) && Number(mask) <= 32;
  return isIPv6Text(address, true) && Number(mask) <= 128;
}

/** EUI-48, EUI-64 and 20-octet addresses with colons, dashes or dots, as Go parses them. */
export function isMac(text: string): boolean {
  const separator = text[2];
  if (separator === ':' || separator === '-') {
    const octets = text.split(separator);
    return [6, 8, 20].includes(octets.length) && octets.every((octet) => /^[0-9a-fA-F]{2}$/.test(octet));
  }
  if (text[4] !== '.') return false;
  const groups = text.split('.');
  return [3, 4, 10].includes(groups.length) && groups.every((group) => /^[0-9a-fA-F]{4}$/.test(group));
}
