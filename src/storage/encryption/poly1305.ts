const LIMBS = 6;
const BITS = 22;
const BASE = 2 ** BITS;
const PER_BASE = 1 / BASE;
const MASK = BASE - 1;
/** 2^132, one past the limbs, is 4 · 5 modulo 2^130 - 5. */
const WRAP = 20;
const PRIME = 2n ** 130n - 5n;
const BLOCK = 16;
/** The bit behind a whole block, in the highest limb. */
const END_BIT = 2 ** (8 * BLOCK - BITS * (LIMBS - 1));

/** The Poly1305 authenticator. Limbs have 22 bits, so that sums of their products stay exact in doubles. */
export class Poly1305 {
  private readonly r: Limbs;
  private readonly s: bigint;
  private sum: Limbs = [0, 0, 0, 0, 0, 0];

  constructor(key: Uint8Array) {
    this.r = limbsOf(integerOf(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn);
    this.s = integerOf(key.subarray(16, 32));
  }

  /** Returns the tag of a message. Must be called only once for each key. */
  digest(message: Uint8Array): Buffer {
    const whole = message.length - (message.length % BLOCK);
    this.take(message.subarray(0, whole), END_BIT);
    if (whole < message.length) {
      const last = new Uint8Array(BLOCK);
      last.set(message.subarray(whole));
      last[message.length - whole] = 1;
      this.take(last, 0);
    }
    const total = (valueOf(this.sum) % PRIME) + this.s;
    const tag = Buffer.alloc(16);
    tag.writeBigUInt64LE(total & 0xffffffffffffffffn, 0);
    tag.writeBigUInt64LE((total >> 64n) & 0xffffffffffffffffn, 8);
    return tag;
  }

  /** Adds each block to the sum, and multiplies the sum by r. A single function without arrays, because it runs for every 16 bytes. */
  private take(blocks: Uint8Array, endBit: number): void {
    const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.byteLength);
    const [r0, r1, r2, r3, r4, r5] = this.r;
    const [, s1, s2, s3, s4, s5] = this.r.map((limb) => limb * WRAP) as Limbs;
    let [h0, h1, h2, h3, h4, h5] = this.sum;
    for (let at = 0; at < blocks.length; at += BLOCK) {
      const w0 = view.getInt32(at, true);
      const w1 = view.getInt32(at + 4, true);
      const w2 = view.getInt32(at + 8, true);
      const w3 = view.getInt32(at + 12, true);
      h0 += w0 & MASK;
      h1 += (w0 >>> 22) | ((w1 & 0xfff) << 10);
      h2 += (w1 >>> 12) | ((w2 & 0x3) << 20);
      h3 += (w2 >>> 2) & MASK;
      h4 += (w2 >>> 24) | ((w3 & 0x3fff) << 8);
      h5 += (w3 >>> 14) + endBit;
      let d0 = h0 * r0 + h1 * s5 + h2 * s4 + h3 * s3 + h4 * s2 + h5 * s1;
      let d1 = h0 * r1 + h1 * r0 + h2 * s5 + h3 * s4 + h4 * s3 + h5 * s2;
      let d2 = h0 * r2 + h1 * r1 + h2 * r0 + h3 * s5 + h4 * s4 + h5 * s3;
      let d3 = h0 * r3 + h1 * r2 + h2 * r1 + h3 * r0 + h4 * s5 + h5 * s4;
      let d4 = h0 * r4 + h1 * r3 + h2 * r2 + h3 * r1 + h4 * r0 + h5 * s5;
      let d5 = h0 * r5 + h1 * r4 + h2 * r3 + h3 * r2 + h4 * r1 + h5 * r0;
      let carry = Math.floor(d0 * PER_BASE);
      d0 -= carry * BASE;
      d1 += carry;
      carry = Math.floor(d1 * PER_BASE);
      h1 = d1 - carry * BASE;
      d2 += carry;
      carry = Math.floor(d2 * PER_BASE);
      h2 = d2 - carry * BASE;
      d3 += carry;
      carry = Math.floor(d3 * PER_BASE);
      h3 = d3 - carry * BASE;
      d4 += carry;
      carry = Math.floor(d4 * PER_BASE);
      h4 = d4 - carry * BASE;
      d5 += carry;
      carry = Math.floor(d5 * PER_BASE);
      h5 = d5 - carry * BASE;
      d0 += carry * WRAP;
      carry = Math.floor(d0 * PER_BASE);
      h0 = d0 - carry * BASE;
      h1 += carry;
    }
    this.sum = [h0, h1, h2, h3, h4, h5];
  }
}

type Limbs = [number, number, number, number, number, number];

const integerOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);

const limbsOf = (value: bigint): Limbs => {
  const limb = (i: number): number => Number((value >> BigInt(BITS * i)) & BigInt(MASK));
  return [limb(0), limb(1), limb(2), limb(3), limb(4), limb(5)];
};

const valueOf = (limbs: Limbs): bigint =>
  limbs.reduceRight((value, limb) => (value << BigInt(BITS)) + BigInt(limb), 0n);
