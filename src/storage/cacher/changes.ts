import type { LogEvent } from '../interfaces.js';
import type { ItemLeaf } from './tree/leaf-data.js';
import { cachedItem, type CachedItem, type Home, type ItemSource } from './tree/cached-item.js';
import { Change } from './watch/events.js';
import type { TypeHistory } from './watch/history.js';
import type { ItemTree } from './tree/page.js';

/** What an event of the backend's log changes. */
export function loggedChange(event: LogEvent, source: ItemSource): Change {
  const current = event.type === 'DELETED' ? undefined : cachedItem(event.object, source);
  const previous = event.previous === undefined ? undefined : cachedItem(event.previous, source);
  return new Change(event.key, event.revision, current, previous);
}

/** The object has a successor: it keeps its bytes apart from the block, and nothing else. */
export function supersede(item: CachedItem, leaves: readonly ItemLeaf[]): void {
  item.dropDerived();
  const home = item.leave();
  if (home !== undefined && home.live * 2 < home.bytes.length) vacate(home, leaves);
}

/** A block that is hardly used is given up. */
function vacate(home: Home, leaves: readonly ItemLeaf[]): void {
  for (const leaf of leaves) {
    for (const item of leaf.held) if (item.livesIn(home)) item.leave();
  }
}

/** All items in memory of a state and of the changes that led to it; what selectors see of packed ones does not outlive a change of the type. */
export function* itemsOf(tree: ItemTree, history: TypeHistory): Generator<CachedItem, void, undefined> {
  for (const { leaf } of tree.segments(0, tree.size)) yield* leaf.held;
  for (let at = history.start; at < history.end; at++) {
    const change = history.changeAt(at);
    if (change?.current !== undefined) yield change.current;
    if (change?.previous !== undefined) yield change.previous;
  }
}
