import { HpackError } from './error.js';

/**
 * The length in bits of each byte's code, as base-36 digits (RFC 7541, appendix B). The code is canonical: codes are assigned in the order
 * of their length, then of their byte. The end-of-string symbol (30 bits) is the last.
 */
const LENGTHS = [
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca',
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds',
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn',
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq',
].join('');
const END = 256;
const END_BITS = 30;

/** An inner node of the code tree. `next` holds the child for each bit: another node, or `-1 - symbol` for a leaf. */
interface Node {
  readonly next: [number, number];
  /** True if a string may end here: at most seven bits, all ones, follow the last symbol. */
  readonly mayEnd: boolean;
}

const NONE = Number.MIN_SAFE_INTEGER;

function makeTree(): Node[] {
  const bits = (symbol: number): number => (symbol === END ? END_BITS : parseInt(LENGTHS.charAt(symbol), 36));
  const symbols = Array.from({ length: END + 1 }, (_, symbol) => symbol).sort((a, b) => bits(a) - bits(b) || a - b);
  const nodes: Node[] = [{ next: [NONE, NONE], mayEnd: true }];
  let code = 0;
  let width = 0;
  for (const symbol of symbols) {
    code *= 2 ** (bits(symbol) - width);
    width = bits(symbol);
    let at = 0;
    let ones = true;
    for (let bit = width - 1; bit > 0; bit--) {
      const way = Math.floor(code / 2 ** bit) % 2 === 0 ? 0 : 1;
      ones &&= way === 1;
      const node = nodes[at] as Node;
      if (node.next[way] === NONE) {
        node.next[way] = nodes.length;
        nodes.push({ next: [NONE, NONE], mayEnd: ones && width - bit <= 7 });
      }
      at = node.next[way];
    }
    (nodes[at] as Node).next[code % 2 === 0 ? 0 : 1] = -1 - symbol;
    code++;
  }
  return nodes;
}

const FAILS = 0xffff;
const EMITS = 1 << 24;
const MAY_END = 1 << 25;

/** Builds the steps for each node and each nibble: the next node (16 bits), the symbol that the nibble completes (8 bits), and flags. */
function makeSteps(): Uint32Array {
  const nodes = makeTree();
  const steps = new Uint32Array(nodes.length * 16);
  for (let from = 0; from < nodes.length; from++) {
    for (let nibble = 0; nibble < 16; nibble++) {
      let at = from;
      let out = 0;
      for (let bit = 3; bit >= 0 && at !== FAILS; bit--) {
        const to = (nodes[at] as Node).next[((nibble >> bit) & 1) as 0 | 1];
        if (to >= 0) at = to;
        else if (to === -1 - END) at = FAILS;
        else {
          out = EMITS | ((-1 - to) << 16);
          at = 0;
        }
      }
      if (at !== FAILS && (nodes[at] as Node).mayEnd) out |= MAY_END;
      steps[from * 16 + nibble] = (out | at) >>> 0;
    }
  }
  return steps;
}

let table: Uint32Array | undefined;
let scratch = Buffer.allocUnsafeSlow(4096);

/** Decodes a Huffman-encoded string to text (Latin-1). Throws a HpackError if it is malformed. */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string {
  const steps = (table ??= makeSteps());
  // The shortest codes have five bits.
  const most = Math.ceil(((end - start) * 8) / 5);
  if (scratch.length < most) scratch = Buffer.allocUnsafeSlow(most * 2);
  let length = 0;
  let at = 0;
  let mayEnd = true;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = steps[at * 16 + ((byte >> shift) & 15)] as number;
      at = step & 0xffff;
      if (at === FAILS) throw new HpackError('a string contains the end-of-string symbol');
      if ((step & EMITS) !== 0) scratch[length++] = (step >> 16) & 0xff;
      mayEnd = (step & MAY_END) !== 0;
    }
  }
  if (!mayEnd) throw new HpackError('a string ends within a Huffman code');
  return scratch.toString('latin1', 0, length);
}
