const view = new DataView(new ArrayBuffer(8));
const MANTISSA = (1n << 52n) - 1n;
/** The number of significant bits of a double. */
const BITS = 53;
/** The exponent of the smallest double. */
const SMALLEST = -1074;

/** Returns a finite double as a multiple of the smallest one. */
function multiple(value: number): bigint {
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const mantissa = bits & MANTISSA;
  const magnitude = exponent === 0n ? mantissa : (mantissa | (MANTISSA + 1n)) << (exponent - 1n);
  return value < 0 ? -magnitude : magnitude;
}

/** Returns the double that is nearest to a multiple of the smallest one. */
function nearest(total: bigint): number {
  const magnitude = total < 0n ? -total : total;
  const hex = magnitude.toString(16);
  const length = 4 * (hex.length - 1) + (32 - Math.clz32(parseInt(hex.charAt(0), 16)));
  let result: number;
  if (length <= BITS) result = Number(magnitude) * 2 ** SMALLEST;
  else {
    const shift = BigInt(length - BITS);
    const half = 1n << (shift - 1n);
    let kept = magnitude >> shift;
    const rest = magnitude - (kept << shift);
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept++;
    result = Number(kept) * 2 ** (length - BITS + SMALLEST);
  }
  return total < 0n ? -result : result;
}

/** The exact sum of doubles, which does not depend on their order, and from which they can be taken again. */
export class ExactSum {
  private total = 0n;

  add(value: number): void {
    this.total += multiple(value);
  }

  remove(value: number): void {
    this.total -= multiple(value);
  }

  /** The sum, rounded once. Infinite if it is beyond the doubles. */
  get value(): number {
    return nearest(this.total);
  }
}
