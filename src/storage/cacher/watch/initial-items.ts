import type { ObjectPredicate } from '../interfaces.js';
import { type Selector, selects } from '../selections.js';
import type { ItemSegment } from '../tree/blocks.js';
import type { CachedItem } from '../tree/cached-item.js';

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
