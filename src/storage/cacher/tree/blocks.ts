import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Budget } from '../budget.js';
import { BlockBuffer, type CachedItem } from './cached-item.js';
import type { Segment } from './btree.js';
import { leafData, type ItemLeaf, type LeafData } from './leaf-data.js';
import { PackedItems } from './packed-items.js';
import { copyOf } from '../../../util/bytes.js';
import { isShownAsStored } from '../../record.js';
import type { Representation } from '../interfaces.js';

/** kube-apiserver compresses at level 1 too. */
const GZIP_LEVEL = 1;
const compress = promisify(gzip);

/** The maximum number of origins that a leaf searches for its items; more are not worth the search. */
const MAX_ORIGINS = 4;

/**
 * Called when leaves have been replaced by others. The bytes rendered for the old leaves are not lost: when the new ones render theirs,
 * they take over the parts of unchanged items.
 */
export function replaceLeaves(removed: readonly ItemLeaf[], added: readonly ItemLeaf[], budget: Budget): void {
  const origins: ItemLeaf[] = [];
  for (const leaf of removed) {
    leaf.retire();
    const { data } = leaf;
    if (data === undefined) continue;
    data.bytes.keepInherited();
    if (data.bytes.size > 0) origins.push(leaf);
    for (const origin of data.origins) if ((origin.data?.bytes.size ?? 0) > 0) origins.push(origin);
    data.origins = [];
  }
  // Without items there is nothing to take over.
  const kept = added.some(({ size }) => size > 0) ? MAX_ORIGINS : 0;
  for (const leaf of origins.splice(kept)) leaf.data?.bytes.clear();
  if (origins.length > 0) for (const leaf of added) leafData(leaf, budget).origins = origins;
}

/** Drops a leaf that is gone for good. */
export function dropLeaf(leaf: ItemLeaf): void {
  leaf.current = false;
  leaf.data?.bytes.clear();
  for (const origin of leaf.data?.origins ?? []) origin.data?.bytes.clear();
}

/**
 * Returns the bytes of all items of a leaf, with a separator before each, including the first. So the same block serves wherever the leaf
 * is in a list, and the first block of a list omits its leading separator.
 */
function block(leaf: ItemLeaf, representation: Representation, budget: Budget): Uint8Array {
  const data = leafData(leaf, budget);
  const known = data.bytes.get(representation.id);
  if (known !== undefined) return known;
  const separator = Buffer.from(representation.separator);
  const offsets = new Uint32Array(leaf.size + 1);
  data.offsets.set(representation.id, offsets);
  const packed = packedIdentity(leaf, representation);
  if (packed !== undefined) return data.bytes.put(representation.id, packed.join(0, leaf.size, separator, offsets));
  const { items } = leaf;
  if (!isIdentity(items, representation)) {
    const bytes = joinParts(renderedParts(items, representation, data.origins), separator, offsets);
    return data.bytes.put(representation.id, bytes, 'inherited');
  }
  const bytes = joinIdentity(items, separator, offsets);
  if (!leaf.current) return data.bytes.put(representation.id, bytes);
  const home = new BlockBuffer(bytes);
  items.forEach((item, i) => item.moveToBlock(home, (offsets[i] ?? 0) + separator.length));
  return data.bytes.put(representation.id, bytes, 'shared');
}

/** Returns the packed items of a leaf if their stored bytes are the representation, so that they need not be unpacked. */
function packedIdentity({ packed }: ItemLeaf, representation: Representation): PackedItems | undefined {
  return packed instanceof PackedItems && packed.areShownAsStored(representation) ? packed : undefined;
}

/** Reports whether the items' own bytes are the representation. */
function isIdentity(items: readonly CachedItem[], representation: Representation): boolean {
  return items.every((item) => isShownAsStored(item, representation));
}

/** Returns each item's bytes in a representation: from the joined bytes of a replaced leaf (no two objects share a revision), else rendered. */
function renderedParts(
  items: readonly CachedItem[],
  representation: Representation,
  origins: readonly ItemLeaf[],
): Uint8Array[] {
  const { id } = representation;
  const separator = Buffer.byteLength(representation.separator);
  const parts = new Array<Uint8Array | undefined>(items.length);
  for (const origin of origins) {
    const { data } = origin;
    const joined = data?.bytes.peek(id);
    const offsets = data?.offsets.get(id);
    if (joined === undefined || offsets === undefined) continue;
    const olds = new Map(origin.itemsOnce().map(({ revision }, at) => [revision, at]));
    items.forEach(({ revision }, i) => {
      const at = parts[i] === undefined ? olds.get(revision) : undefined;
      if (at !== undefined) parts[i] = joined.subarray((offsets[at] ?? 0) + separator, offsets[at + 1]);
    });
    data?.bytes.drop(id);
  }
  return items.map((item, i) => parts[i] ?? item.renderOnce(representation));
}

/** Parts of a leaf are cut out of its block. If no block is cached, one is made only for at least this many items. */
const WORTH_A_BLOCK = 16;

/**
 * Reports whether a block is worth keeping. The bytes of packed items are copied from the file, and kept only if they would still be kept
 * had they been kept the last time: kept blocks grow old before they are evicted, and only a full garbage collection frees them.
 */
function isWorthKeeping(leaf: ItemLeaf, representation: Representation, budget: Budget): boolean {
  if (packedIdentity(leaf, representation) === undefined) return true;
  const before = leaf.joined;
  leaf.joined = budget.turnover;
  return budget.keepsSince(before);
}

/** A run of adjacent items of a leaf. */
export type ItemSegment = Segment<CachedItem, LeafData>;

const isWhole = ({ leaf, start, end }: ItemSegment): boolean => start === 0 && end === leaf.size;

/** Returns the items of a segment, with a separator before each. */
export function joinSegment(segment: ItemSegment, representation: Representation, budget: Budget): Uint8Array {
  const { leaf, start, end } = segment;
  if (leaf.data?.bytes.peek(representation.id) === undefined) {
    if (!isWhole(segment) && end - start < WORTH_A_BLOCK) return joinPart(segment, representation);
    if (!isWorthKeeping(leaf, representation, budget)) {
      const bytes = joinPart(segment, representation);
      budget.pass(bytes.length);
      return bytes;
    }
  }
  const bytes = block(leaf, representation, budget);
  if (isWhole(segment)) return bytes;
  const offsets = leaf.data?.offsets.get(representation.id);
  return offsets === undefined ? joinPart(segment, representation) : bytes.subarray(offsets[start], offsets[end]);
}

function joinPart({ leaf, start, end }: ItemSegment, representation: Representation): Uint8Array {
  return (
    packedIdentity(leaf, representation)?.join(start, end, Buffer.from(representation.separator)) ??
    joinItems(leaf.items, start, end, representation)
  );
}

/** Joins items `start` (inclusive) to `end` (exclusive), with a separator before each. */
export function joinItems(
  items: readonly CachedItem[],
  start: number,
  end: number,
  representation: Representation,
): Uint8Array {
  const separator = Buffer.from(representation.separator);
  const wanted = items.slice(start, end);
  if (isIdentity(wanted, representation)) return joinIdentity(wanted, separator);
  return joinParts(
    wanted.map((item) => item.render(representation)),
    separator,
  );
}

function joinIdentity(items: readonly CachedItem[], separator: Uint8Array, offsets?: Uint32Array): Uint8Array {
  let total = 0;
  for (const { length } of items) total += separator.length + length;
  const joined = Buffer.allocUnsafeSlow(total);
  let at = 0;
  items.forEach((item, i) => {
    if (offsets !== undefined) offsets[i] = at;
    joined.set(separator, at);
    at += separator.length;
    item.copyTo(joined, at);
    at += item.length;
  });
  if (offsets !== undefined) offsets[items.length] = at;
  return joined;
}

function joinParts(parts: readonly Uint8Array[], separator: Uint8Array, offsets?: Uint32Array): Uint8Array {
  let total = 0;
  for (const part of parts) total += separator.length + part.length;
  const joined = Buffer.allocUnsafeSlow(total);
  let at = 0;
  parts.forEach((part, i) => {
    if (offsets !== undefined) offsets[i] = at;
    joined.set(separator, at);
    joined.set(part, at + separator.length);
    at += separator.length + part.length;
  });
  if (offsets !== undefined) offsets[parts.length] = at;
  return joined;
}

/** Returns the id of the gzip member with a segment's items. `first`: without the leading separator. */
function gzipId(segment: ItemSegment, first: boolean, representation: Representation): string {
  const part = isWhole(segment) ? '' : ` ${segment.start}-${segment.end}`;
  return `${representation.id} gzip${part}${first ? ' first' : ''}`;
}

/** Returns the gzip member of a segment if it is cached. */
export function knownGzip(
  segment: ItemSegment,
  first: boolean,
  representation: Representation,
): Uint8Array | undefined {
  return segment.leaf.data?.bytes.get(gzipId(segment, first, representation));
}

/** Compresses the member off the event loop. */
export function makeGzip(
  segment: ItemSegment,
  first: boolean,
  representation: Representation,
  budget: Budget,
): Promise<Uint8Array> {
  const { leaf } = segment;
  const data = leafData(leaf, budget);
  const id = gzipId(segment, first, representation);
  let running = data.compressing.get(id);
  if (running === undefined) {
    const joined = joinSegment(segment, representation, budget);
    const bytes = first ? joined.subarray(Buffer.byteLength(representation.separator)) : joined;
    running = compress(bytes, { level: GZIP_LEVEL })
      .then((member) => (leaf.current ? data.bytes.put(id, exact(member)) : member))
      .finally(() => data.compressing.delete(id));
    data.compressing.set(id, running);
  }
  return running;
}

/** Copies a result of zlib if it is a part of a larger buffer. */
function exact(bytes: Buffer): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : copyOf(bytes);
}

export function compressNow(bytes: Uint8Array): Promise<Uint8Array> {
  return compress(bytes, { level: GZIP_LEVEL });
}
