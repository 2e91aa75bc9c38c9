import type { Revision } from '../../interfaces.js';
import type { Budget } from '../budget.js';
import type { ObjectPredicate } from '../interfaces.js';
import { Selector, selects } from '../selections.js';
import type { ItemSegment } from '../tree/blocks.js';
import type { CachedItem } from '../tree/cached-item.js';

/** The cache of a type, as far as its watchers need it. */
export interface WatchedCache {
  /** Returns the revision up to which the cache has seen every event. */
  revision(): Revision;
  /** The version of the items' selector attributes. */
  readonly retyped: number;
}

/** Returns the selector of a predicate with a condition; undefined for others. */
export const selectorFor = (predicate: ObjectPredicate, cache: WatchedCache, budget: Budget): Selector | undefined =>
  predicate.condition && new Selector(predicate, cache.retyped, budget);

/**
 * Yields the items of a segment that a watch begins with. `selector` is that of a predicate with a condition, which may take long: undefined
 * is then yielded after each evaluation.
 */
export function* initialItems(
  segment: ItemSegment,
  predicate: ObjectPredicate,
  selector: Selector | undefined,
): Generator<CachedItem | undefined> {
  const { leaf, start, end } = segment;
  if (selector !== undefined) {
    for (const place of selector.examine(segment)) yield place === undefined ? undefined : leaf.at(place);
    return;
  }
  for (let i = start; i < end; i++) {
    // With a selector, use the leaf's own items: their attributes are computed once for all watchers.
    const item = predicate.everything ? leaf.at(i) : leaf.items[i];
    if (item !== undefined && selects(predicate, item)) yield item;
  }
}
