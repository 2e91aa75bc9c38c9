import { type ItemLeaf, leafData } from './tree/leaf-data.js';
import { ASKED, type Budget } from './budget.js';
import type { ItemSegment } from './tree/blocks.js';
import type { CachedItem } from './tree/cached-item.js';
import type { CachedObject, Condition, Failures, ObjectPredicate } from './interfaces.js';

/** What is known of a condition on an item: nothing yet, or what it says. */
const UNKNOWN = 0;
const NO = 1;
const YES = 2;
const FAILED = 3;

/** Finds the objects that a predicate selects, leaf by leaf. */
export class Selector {
  private readonly selectors: ObjectPredicate;
  private readonly condition: Condition | undefined;
  private readonly id: string | undefined;
  private readonly conditionId: string | undefined;
  private readonly wanted: number;
  private readonly tally = new FailureTally();

  /** `attributes`: the version of the items' attributes, because a type may get other selectable fields. */
  constructor(
    predicate: ObjectPredicate,
    attributes: number,
    readonly budget: Budget,
  ) {
    this.selectors = predicate.condition?.selectors ?? predicate;
    this.condition = predicate.condition?.of;
    const { id, label } = this.selectors;
    this.id = id === undefined ? undefined : `select ${attributes} ${id}`;
    this.conditionId = this.condition?.id === undefined ? undefined : `${ASKED}${this.condition.id}`;
    this.wanted = label === undefined ? 0 : hashOf(label.value);
  }

  get failures(): Failures | undefined {
    return this.tally.failures;
  }

  /** Yields the places of the selected items of a segment, in order, and undefined after each item on which the condition was evaluated. */
  *examine({ leaf, start, end }: ItemSegment): Generator<number | undefined, void, undefined> {
    const { condition } = this;
    const verdicts = condition === undefined ? undefined : this.verdictsOn(leaf);
    let items: readonly CachedItem[] | undefined;
    for (const place of this.placesIn(leaf, start, end)) {
      if (condition === undefined || verdicts === undefined) {
        yield place;
        continue;
      }
      let verdict = verdicts[place];
      if (verdict === UNKNOWN) {
        items ??= leaf.itemsOnce();
        verdict = verdictOn(condition, items[place]);
        verdicts[place] = verdict;
        yield undefined;
      } else this.budget.reuse();
      if (verdict === YES) yield place;
      else if (verdict === FAILED) this.tally.add(() => items?.[place] ?? leaf.at(place));
    }
  }

  /** Reports whether an item is selected. */
  selects(item: CachedItem): boolean {
    if (!selects(this.selectors, item)) return false;
    if (this.condition === undefined) return true;
    const verdict = verdictOn(this.condition, item);
    if (verdict === FAILED) this.tally.add(() => item);
    return verdict === YES;
  }

  /** Yields the places between two of the items that the selectors match. */
  private *placesIn(leaf: ItemLeaf, start: number, end: number): Generator<number, void, undefined> {
    if (this.selectors.everything) {
      for (let place = start; place < end; place++) yield place;
      return;
    }
    for (const place of this.selectedIn(leaf)) {
      if (place >= end) return;
      if (place >= start) yield place;
    }
  }

  /**
   * Returns the positions of the items of a leaf that the selectors match, in order. Leaves do not change, so the positions are computed once
   * for all states of the type that share the leaf, and kept while the budget lasts.
   */
  private selectedIn(leaf: ItemLeaf): Uint8Array {
    const known = this.id === undefined ? undefined : leaf.data?.bytes.get(this.id);
    if (known !== undefined) return known;
    const places = this.find(leaf);
    if (this.id !== undefined && leaf.current) leafData(leaf, this.budget).bytes.put(this.id, places);
    return places;
  }

  private find(leaf: ItemLeaf): Uint8Array {
    const { label } = this.selectors;
    const hashes = label === undefined ? undefined : labelHashes(leaf, label.key, this.budget);
    const places: number[] = [];
    leaf.items.forEach((item, i) => {
      if ((hashes === undefined || hashes[i] === this.wanted) && selects(this.selectors, item)) places.push(i);
    });
    return Uint8Array.from(places);
  }

  /**
   * Returns what is known of the condition on the items of a leaf, to be completed. It is kept while the budget lasts, and a leaf that
   * replaces others takes over what was known of the same objects.
   */
  private verdictsOn(leaf: ItemLeaf): Uint8Array {
    const { conditionId } = this;
    if (conditionId === undefined || !leaf.current) return new Uint8Array(leaf.size);
    const data = leafData(leaf, this.budget);
    const known = data.bytes.get(conditionId);
    if (known !== undefined) return known;
    const verdicts = new Uint8Array(leaf.size);
    for (const origin of data.origins) {
      const old = origin.data?.bytes.peek(conditionId);
      if (old !== undefined) takeOver(origin, old, leaf, verdicts);
      origin.data?.bytes.drop(conditionId);
    }
    return data.bytes.put(conditionId, verdicts, 'inherited');
  }
}

function takeOver(origin: ItemLeaf, old: Uint8Array, leaf: ItemLeaf, verdicts: Uint8Array): void {
  const places = new Map(origin.itemsOnce().map(({ revision }, place) => [revision, place]));
  leaf.itemsOnce().forEach(({ revision }, place) => {
    const before = places.get(revision);
    if (before !== undefined) verdicts[place] ||= old[before] ?? UNKNOWN;
  });
}

/** Returns what a condition says of an item that the selectors match. */
function verdictOn(condition: Condition, item: CachedObject | undefined): number {
  if (item === undefined || item.undecodable) return NO;
  const matches = condition.matches(item);
  if (matches === undefined) return FAILED;
  return matches ? YES : NO;
}

/** Counts the objects on which a condition fails. */
export class FailureTally {
  failures: Failures | undefined;

  add(object: () => CachedObject | undefined): void {
    const first = this.failures?.first ?? object();
    if (first !== undefined) this.failures = { count: (this.failures?.count ?? 0) + 1, first };
  }

  /** Counts an object on which a condition is undefined, and returns whether it is met. */
  counted(matches: boolean | undefined, object: CachedObject): boolean {
    if (matches === undefined) this.add(() => object);
    return matches === true;
  }
}

/** Reports whether a predicate selects an item. Reads the item's attributes only if it must. */
export function selects(predicate: ObjectPredicate, item: CachedObject): boolean {
  if (predicate.everything) return true;
  const { condition } = predicate;
  if (condition?.selectors.everything === true) return verdictOn(condition.of, item) === YES;
  return predicate.matches(item.attributes.labels, item.attributes.fields, item);
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
