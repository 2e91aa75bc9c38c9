const LIMBS = 6;
const BITS = 22;
const BASE = 2 ** BITS;
/** 2^132, one past the limbs, is 4 · 5 modulo 2^130 - 5. */
const WRAP = 20;
const PRIME = 2n ** 130n - 5n;

/** Poly1305's authenticator. Limbs have 22 bits, so that sums of their products stay exact in doubles. */
export class Poly1305 {
  private readonly r: number[];
  private readonly s: bigint;

  constructor(key: Uint8Array) {
    this.r = limbsOf(integerOf(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn);
    this.s = integerOf(key.subarray(16, 32));
  }

  digest(message: Uint8Array): Buffer {
    let sum: number[] = new Array<number>(LIMBS).fill(0);
    for (let at = 0; at < message.length; at += 16) sum = this.times(added(sum, message.subarray(at, at + 16)));
    const total = (valueOf(sum) % PRIME) + this.s;
    const tag = Buffer.alloc(16);
    tag.writeBigUInt64LE(total & 0xffffffffffffffffn, 0);
    tag.writeBigUInt64LE((total >> 64n) & 0xffffffffffffffffn, 8);
    return tag;
  }

  private times(a: readonly number[]): number[] {
    const product = new Array<number>(LIMBS).fill(0);
    for (let i = 0; i < LIMBS; i++) {
      const limb = a[i] ?? 0;
      for (let j = 0; j < LIMBS; j++) {
        const at = i + j;
        const part = limb * (this.r[j] ?? 0);
        if (at < LIMBS) product[at] = (product[at] ?? 0) + part;
        else product[at - LIMBS] = (product[at - LIMBS] ?? 0) + part * WRAP;
      }
    }
    return carried(product);
  }
}

/** A block and the bit behind it, added to a sum. */
function added(sum: readonly number[], block: Uint8Array): number[] {
  const result = [...sum];
  for (let i = 0; i <= block.length; i++) {
    const byte = i === block.length ? 1 : (block[i] ?? 0);
    const bit = 8 * i;
    const limb = Math.floor(bit / BITS);
    result[limb] = (result[limb] ?? 0) + byte * 2 ** (bit % BITS);
  }
  return carried(result);
}

/** Limbs below 2^22 but the lowest, which may be a little above. */
function carried(limbs: number[]): number[] {
  for (let i = 0; i < LIMBS; i++) {
    const limb = limbs[i] ?? 0;
    const carry = Math.floor(limb / BASE);
    limbs[i] = limb - carry * BASE;
    if (i < LIMBS - 1) limbs[i + 1] = (limbs[i + 1] ?? 0) + carry;
    else limbs[0] = (limbs[0] ?? 0) + carry * WRAP;
  }
  const low = limbs[0] ?? 0;
  const carry = Math.floor(low / BASE);
  limbs[0] = low - carry * BASE;
  limbs[1] = (limbs[1] ?? 0) + carry;
  return limbs;
}

const integerOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);

const limbsOf = (value: bigint): number[] =>
  Array.from({ length: LIMBS }, (_, i) => Number((value >> BigInt(BITS * i)) & BigInt(BASE - 1)));

const valueOf = (limbs: readonly number[]): bigint =>
  limbs.reduceRight((value, limb) => (value << BigInt(BITS)) + BigInt(limb), 0n);
