/** An address of 32 or 128 bits as Go prints it, and RFC 5952 wants it. */
export function ipText(value: bigint, bits: number): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => ((value >> shift) & 0xffn).toString()).join('.');
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
