/** An IP address, and how its text differs from the canonical form that Go prints. */
export interface IpAddress {
  readonly value: bigint;
  /** 32 also for an IPv4-mapped IPv6 address, as in Go. */
  readonly bits: 32 | 128;
  /** True if an IPv4 number has leading zeros, or an IPv6 group has more than four digits. */
  readonly zeros: boolean;
  /** True for an IPv4-mapped IPv6 address. */
  readonly mapped: boolean;
}

const MAPPED = 0xffffn;
/** The maximum length of an address. Longer strings are rejected, whatever they contain. */
const MAX_CHARACTERS = 1024;

/** Parses an address without a zone like Go's net package before 1.17: IPv4 numbers may have leading zeros and are decimal. */
export function parseIp(text: string): IpAddress | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  return text.includes(':') ? parse6(text) : parse4(text);
}

function parse6(text: string): IpAddress | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const last = halves.length === 2 ? tail : head;
  // A dotted IPv4 address may replace the last two groups.
  const ending = last.at(-1)?.includes('.') === true ? last.pop() : undefined;
  const dotted = ending === undefined ? undefined : parse4(ending);
  if (ending !== undefined && dotted === undefined) return undefined;
  if (![...head, ...tail].every((part) => /^0*[0-9a-fA-F]{1,4}$/.test(part))) return undefined;
  const numbers = (parts: readonly string[]): bigint[] => parts.map((part) => BigInt(`0x${part}`));
  const embedded = dotted === undefined ? [] : [dotted.value >> 16n, dotted.value & 0xffffn];
  const missing = 8 - head.length - tail.length - embedded.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...numbers(head), ...new Array<bigint>(missing).fill(0n), ...numbers(tail), ...embedded];
  const value = groups.reduce((sum, group) => (sum << 16n) | group, 0n);
  const zeros = dotted?.zeros === true || [...head, ...tail].some((part) => part.length > 4);
  if (value >> 32n === MAPPED) return { value: value & 0xffffffffn, bits: 32, zeros, mapped: true };
  return { value, bits: 128, zeros, mapped: false };
}

function parse4(text: string): IpAddress | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part) && Number(part) < 256)) return undefined;
  const value = parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  return { value, bits: 32, zeros: parts.some((part) => part.length > 1 && part.startsWith('0')), mapped: false };
}

/** Formats an address of 32 or 128 bits as Go does, in the form that RFC 5952 recommends. */
export function ipText(value: bigint, bits: number): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => ((value >> shift) & 0xffn).toString()).join('.');
  const all = Array.from({ length: 8 }, (_, i) => (value >> BigInt(112 - 16 * i)) & 0xffffn);
  // The longest run of two or more zero groups is replaced by `::`.
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
