import { type ItemLeaf, leafData } from './tree/leaf-data.js';
import type { Budget } from './budget.js';
import type { CachedItem } from './tree/cached-item.js';
import type { CachedObject, ObjectPredicate } from './interfaces.js';

/** Finds the objects that a predicate selects, leaf by leaf. */
export class Selector {
  private readonly id: string | undefined;
  private readonly wanted: number;

  /** `attributes`: the version of the items' attributes, because a type may get other selectable fields. */
  constructor(
    private readonly predicate: ObjectPredicate,
    attributes: number,
    private readonly budget: Budget,
  ) {
    const { id, label } = predicate;
    this.id = id === undefined ? undefined : `select ${attributes} ${id}`;
    this.wanted = label === undefined ? 0 : hashOf(label.value);
  }

  /**
   * Returns the positions of the selected items of a leaf, in order. Leaves do not change, so the positions are computed once for all
   * states of the type that share the leaf, and kept while the budget lasts.
   */
  placesIn(leaf: ItemLeaf): Uint8Array {
    const known = this.id === undefined ? undefined : leaf.data?.bytes.get(this.id);
    if (known !== undefined) return known;
    const places = this.find(leaf);
    if (this.id !== undefined && leaf.current) leafData(leaf, this.budget).bytes.put(this.id, places);
    return places;
  }

  private find(leaf: ItemLeaf): Uint8Array {
    const { label } = this.predicate;
    const hashes = label === undefined ? undefined : labelHashes(leaf, label.key, this.budget);
    const places: number[] = [];
    leaf.items.forEach((item, i) => {
      if ((hashes === undefined || hashes[i] === this.wanted) && selects(this.predicate, item)) places.push(i);
    });
    return Uint8Array.from(places);
  }
}

/** Reports whether a predicate selects an item. Reads the item's attributes only if it must. */
export function selects(predicate: ObjectPredicate, item: CachedObject): boolean {
  return predicate.everything || predicate.matches(item.attributes.labels, item.attributes.fields, item);
}

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
