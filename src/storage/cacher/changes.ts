import type { LogEvent } from '../interfaces.js';
import type { ItemLeaf } from './tree/leaf-data.js';
import { cachedItem, type CachedItem, type BlockBuffer, type ItemSource } from './tree/cached-item.js';
import { Change } from './watch/events.js';
import type { TypeHistory } from './watch/history.js';
import type { ItemTree } from './tree/page.js';

/** Returns the change that an event of the backend's log makes. */
export function loggedChange(event: LogEvent, source: ItemSource): Change {
  const current = event.type === 'DELETED' ? undefined : cachedItem(event.object, source);
  const previous = event.previous === undefined ? undefined : cachedItem(event.previous, source);
  return new Change(event.key, event.revision, current, previous);
}

/** Detaches an object that was replaced: it gets its own copy of its bytes, and its derived bytes are dropped. */
export function supersede(item: CachedItem, leaves: readonly ItemLeaf[]): void {
  item.dropDerived();
  const home = item.leaveBlock();
  if (home !== undefined && home.live * 2 < home.bytes.length) vacate(home, leaves);
}

/** Moves the remaining items out of a block that is mostly unused. */
function vacate(home: BlockBuffer, leaves: readonly ItemLeaf[]): void {
  for (const leaf of leaves) {
    for (const item of leaf.held) if (item.isInBlock(home)) item.leaveBlock();
  }
}

/** Yields the items in memory of a state and of its history. Packed items are left out: their packed attributes expire when the type changes. */
export function* itemsOf(tree: ItemTree, history: TypeHistory): Generator<CachedItem, void, undefined> {
  for (const { leaf } of tree.segments(0, tree.size)) yield* leaf.held;
  for (let at = history.start; at < history.end; at++) {
    const change = history.changeAt(at);
    if (change?.current !== undefined) yield change.current;
    if (change?.previous !== undefined) yield change.previous;
  }
}
