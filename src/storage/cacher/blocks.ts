import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Leaf } from './btree.js';
import { DerivedSet, type Budget } from './budget.js';
import { Home, type CachedItem } from './cached-item.js';
import type { Representation } from './interfaces.js';

export type ItemLeaf = Leaf<CachedItem, LeafData>;

/** kube-apiserver compresses at level 1 too. */
const GZIP_LEVEL = 1;
const compress = promisify(gzip);

/** What is derived from a leaf's items: joined and compressed bytes. */
export class LeafData {
  readonly bytes: DerivedSet;
  /** Compressions under way, so that no block is compressed twice. */
  readonly compressing = new Map<string, Promise<Uint8Array>>();

  constructor(budget: Budget) {
    this.bytes = new DerivedSet(budget);
  }
}

export function leafData(leaf: ItemLeaf, budget: Budget): LeafData {
  return (leaf.data ??= new LeafData(budget));
}

/** The leaf has been replaced: what was derived from it will hardly be asked for again. */
export function retireLeaf(leaf: ItemLeaf): void {
  leaf.current = false;
  leaf.data?.bytes.clear();
}

/**
 * The bytes of all items of a leaf, a separator before each, also before the first: so the same block serves wherever the leaf
 * stands in a list, and the first block of a list leaves its first separator out.
 */
export function block(leaf: ItemLeaf, representation: Representation, budget: Budget): Uint8Array {
  const data = leafData(leaf, budget);
  const known = data.bytes.get(representation.id);
  if (known !== undefined) return known;
  if (representation.identity === true && leaf.current) {
    const home = new Home(joinItems(leaf.items, 0, leaf.items.length, representation));
    settleAll(leaf, home, Buffer.byteLength(representation.separator));
    // The items' bytes live in the block now, so it takes no memory beside them.
    return data.bytes.put(representation.id, home.bytes, true);
  }
  return data.bytes.put(representation.id, joinItems(leaf.items, 0, leaf.items.length, representation));
}

function settleAll(leaf: ItemLeaf, home: Home, separator: number): void {
  let at = 0;
  for (const item of leaf.items) {
    at += separator;
    item.settle(home, at);
    at += item.length;
  }
}

/** Items `start` to before `end`, a separator before each. */
export function joinItems(
  items: readonly CachedItem[],
  start: number,
  end: number,
  representation: Representation,
): Uint8Array {
  const separator = Buffer.from(representation.separator);
  return representation.identity === true
    ? joinIdentity(items, start, end, separator)
    : joinRendered(items, start, end, representation, separator);
}

function joinIdentity(items: readonly CachedItem[], start: number, end: number, separator: Uint8Array): Uint8Array {
  let total = 0;
  for (let i = start; i < end; i++) total += separator.length + (items[i]?.length ?? 0);
  const joined = Buffer.allocUnsafeSlow(total);
  let at = 0;
  for (let i = start; i < end; i++) {
    const item = items[i];
    if (item === undefined) continue;
    joined.set(separator, at);
    at += separator.length;
    item.copyTo(joined, at);
    at += item.length;
  }
  return joined;
}

function joinRendered(
  items: readonly CachedItem[],
  start: number,
  end: number,
  representation: Representation,
  separator: Uint8Array,
): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let i = start; i < end; i++) {
    const item = items[i];
    if (item !== undefined) parts.push(separator, item.render(representation));
  }
  return Buffer.concat(parts);
}

/** Of a leaf's items `start` to before `end`: what a gzip member of them is kept under. */
function gzipId(leaf: ItemLeaf, start: number, end: number, first: boolean, representation: Representation): string {
  const whole = start === 0 && end === leaf.items.length;
  return `${representation.id} gzip${whole ? '' : ` ${start}-${end}`}${first ? ' first' : ''}`;
}

/** A gzip member of a part of a leaf, if it is there already. `first`: without the leading separator. */
export function knownGzip(
  leaf: ItemLeaf,
  start: number,
  end: number,
  first: boolean,
  representation: Representation,
): Uint8Array | undefined {
  return leaf.data?.bytes.get(gzipId(leaf, start, end, first, representation));
}

/** Makes the member, outside of the event loop. */
export function makeGzip(
  leaf: ItemLeaf,
  start: number,
  end: number,
  first: boolean,
  representation: Representation,
  budget: Budget,
): Promise<Uint8Array> {
  const data = leafData(leaf, budget);
  const id = gzipId(leaf, start, end, first, representation);
  let running = data.compressing.get(id);
  if (running === undefined) {
    const whole = start === 0 && end === leaf.items.length;
    const joined = whole ? block(leaf, representation, budget) : joinItems(leaf.items, start, end, representation);
    const bytes = first ? joined.subarray(Buffer.byteLength(representation.separator)) : joined;
    running = compress(bytes, { level: GZIP_LEVEL })
      .then((member) => (leaf.current ? data.bytes.put(id, exact(member)) : member))
      .finally(() => data.compressing.delete(id));
    data.compressing.set(id, running);
  }
  return running;
}

/** zlib's result may be a part of a larger buffer. */
function exact(bytes: Buffer): Uint8Array {
  if (bytes.byteLength === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

export function compressNow(bytes: Uint8Array): Promise<Uint8Array> {
  return compress(bytes, { level: GZIP_LEVEL });
}
