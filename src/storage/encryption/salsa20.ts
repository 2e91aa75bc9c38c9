/** "expand 32-byte k". */
const SIGMA = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;
const BLOCK = 64;

/** The four words that each quarter round of a double round works on: columns, then rows. */
const QUARTERS = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const;

/** The key that XSalsa20 uses with the first 16 bytes of its nonce: HSalsa20. */
export function salsaKey(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const words = rounds(input(key, nonce));
  const derived = Buffer.alloc(32);
  [0, 5, 10, 15, 6, 7, 8, 9].forEach((word, i) => derived.writeUInt32LE((words[word] ?? 0) >>> 0, 4 * i));
  return derived;
}

/** Adds Salsa20's stream for a nonce of eight bytes to `data`, in place. */
export function salsaXor(data: Uint8Array, nonce: Uint8Array, key: Uint8Array): void {
  const state = input(key, Buffer.concat([nonce, Buffer.alloc(8)]));
  for (let at = 0; at < data.length; at += BLOCK) {
    const words = rounds(state);
    const end = Math.min(BLOCK, data.length - at);
    for (let i = 0; i < end; i++) {
      const word = ((words[i >> 2] ?? 0) + (state[i >> 2] ?? 0)) | 0;
      data[at + i] = (data[at + i] ?? 0) ^ ((word >>> (8 * (i & 3))) & 0xff);
    }
    state[8] = ((state[8] ?? 0) + 1) | 0;
    if (state[8] === 0) state[9] = ((state[9] ?? 0) + 1) | 0;
  }
}

function input(key: Uint8Array, nonce: Uint8Array): Int32Array {
  const k = Buffer.from(key);
  const n = Buffer.from(nonce);
  const state = new Int32Array(16);
  SIGMA.forEach((word, i) => (state[5 * i] = word));
  for (let i = 0; i < 4; i++) {
    state[1 + i] = k.readInt32LE(4 * i);
    state[11 + i] = k.readInt32LE(16 + 4 * i);
    state[6 + i] = n.readInt32LE(4 * i);
  }
  return state;
}

/** Twenty rounds, without the addition of the input. */
function rounds(state: Int32Array): Int32Array {
  const x = Int32Array.from(state);
  const mix = (to: number, a: number, b: number, by: number): void => {
    const sum = ((x[a] ?? 0) + (x[b] ?? 0)) | 0;
    x[to] = (x[to] ?? 0) ^ ((sum << by) | (sum >>> (32 - by)));
  };
  for (let i = 0; i < 10; i++) {
    for (const [a, b, c, d] of QUARTERS) {
      mix(b, a, d, 7);
      mix(c, b, a, 9);
      mix(d, c, b, 13);
      mix(a, d, c, 18);
    }
  }
  return x;
}
