/** Formats a number of bytes in human-readable form. */
export function sizeText(bytes: number): string {
  if (bytes < 1 << 10) return `${bytes} B`;
  if (bytes < 1 << 20) return `${(bytes / (1 << 10)).toFixed(1)} KiB`;
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
