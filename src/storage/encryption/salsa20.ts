/** "expand 32-byte k". */
const SIGMA = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;
const BLOCK = 64;

/** Returns the key that XSalsa20 uses with the first 16 bytes of its nonce (HSalsa20). */
export function salsaKey(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const words = new Int32Array(16);
  rounds(input(key, nonce), words);
  const derived = Buffer.alloc(32);
  [0, 5, 10, 15, 6, 7, 8, 9].forEach((word, i) => derived.writeUInt32LE((words[word] ?? 0) >>> 0, 4 * i));
  return derived;
}

/** XORs `data` in place with Salsa20's stream for an eight-byte nonce. */
export function salsaXor(data: Uint8Array, nonce: Uint8Array, key: Uint8Array): void {
  const state = input(key, Buffer.concat([nonce, Buffer.alloc(8)]));
  const words = new Int32Array(16);
  const whole = data.length - (data.length % BLOCK);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at < whole; at += BLOCK) {
    next(state, words);
    for (let i = 0; i < 16; i++) {
      const place = at + 4 * i;
      view.setInt32(place, view.getInt32(place, true) ^ (words[i] as number), true);
    }
  }
  if (whole === data.length) return;
  next(state, words);
  for (let i = 0; i < data.length - whole; i++) {
    data[whole + i] = (data[whole + i] as number) ^ (((words[i >> 2] as number) >>> (8 * (i & 3))) & 0xff);
  }
}

/** Computes the words of a block of the stream, and advances the state to the next block. */
function next(state: Int32Array, words: Int32Array): void {
  rounds(state, words);
  for (let i = 0; i < 16; i++) words[i] = (words[i] as number) + (state[i] as number);
  state[8] = (state[8] as number) + 1;
  if (state[8] === 0) state[9] = (state[9] as number) + 1;
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

/** Computes twenty rounds, without the addition of the input. */
function rounds(state: Int32Array, x: Int32Array): void {
  x.set(state);
  for (let i = 0; i < 10; i++) {
    // Columns, then rows.
    quarter(x, 0, 4, 8, 12);
    quarter(x, 5, 9, 13, 1);
    quarter(x, 10, 14, 2, 6);
    quarter(x, 15, 3, 7, 11);
    quarter(x, 0, 1, 2, 3);
    quarter(x, 5, 6, 7, 4);
    quarter(x, 10, 11, 8, 9);
    quarter(x, 15, 12, 13, 14);
  }
}

/** Avoids loops and closures, because nearly all of the time is spent here. */
function quarter(x: Int32Array, a: number, b: number, c: number, d: number): void {
  let sum = ((x[a] as number) + (x[d] as number)) | 0;
  x[b] = (x[b] as number) ^ ((sum << 7) | (sum >>> 25));
  sum = (x[b] + (x[a] as number)) | 0;
  x[c] = (x[c] as number) ^ ((sum << 9) | (sum >>> 23));
  sum = (x[c] + x[b]) | 0;
  x[d] = (x[d] as number) ^ ((sum << 13) | (sum >>> 19));
  sum = (x[d] + x[c]) | 0;
  x[a] = (x[a] as number) ^ ((sum << 18) | (sum >>> 14));
}
