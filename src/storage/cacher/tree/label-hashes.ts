import type { Budget } from '../budget.js';
import { type ItemLeaf, leafData } from './leaf-data.js';
import type { CachedItem } from './cached-item.js';

/** The hash of a label that an item does not have. */
const ABSENT = 0;

/** FNV-1a over the UTF-16 code units; never ABSENT. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0 || 1;
}

/**
 * Returns the hashes of a label's values in a leaf, item by item. With them, a list by label reads four bytes of an item instead of its
 * labels, which are spread over the heap. Only items with the right hash are examined.
 */
export function labelHashes(leaf: ItemLeaf, key: string, budget: Budget): Uint32Array {
  const { bytes } = leafData(leaf, budget);
  const id = `label ${key}`;
  const known = bytes.get(id);
  if (known !== undefined) return new Uint32Array(known.buffer, known.byteOffset, leaf.size);
  const hashes = new Uint32Array(leaf.size);
  leaf.items.forEach((item, i) => {
    hashes[i] = hashOfLabel(item, key);
  });
  if (leaf.current) bytes.put(id, new Uint8Array(hashes.buffer));
  return hashes;
}

function hashOfLabel(item: CachedItem, key: string): number {
  const { labels } = item.attributes;
  if (labels === undefined || !Object.hasOwn(labels, key)) return ABSENT;
  const value: unknown = labels[key];
  return typeof value === 'string' ? hashOf(value) : ABSENT;
}
