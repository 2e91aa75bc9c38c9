import { compareUtf8 } from '../../../apimachinery/meta/meta.js';
import type { Clock } from '../../../util/clock.js';
import type { Undecodable } from '../../errors.js';
import type { Revision, StoredList } from '../../interfaces.js';
import { Slicer } from '../../../scheduling/slicer.js';
import { describeUndecodable, undecodable } from '../../undecodable.js';
import { compressNow, joinItems, joinSegment, knownGzip, makeGzip, type ItemSegment } from './blocks.js';
import type { Tree } from './btree.js';
import type { ItemLeaf, LeafData } from './leaf-data.js';
import type { Budget } from '../budget.js';
import type { CachedItem } from './cached-item.js';
import type { CachedList, CacheListOptions, Failures, Representation } from '../interfaces.js';
import { type Collected, collectorFor, selectFrom } from '../collect.js';
import { LeafKeys } from '../leaf-keys.js';
import { Selector, selects } from '../selections.js';

export type ItemTree = Tree<CachedItem, LeafData>;

/** The state of a type at a revision. */
export interface State {
  readonly tree: ItemTree;
  readonly revision: Revision;
  /** The number of items in the tree whose bytes cannot be decoded. */
  readonly undecodable: number;
}

/** The approximate number of selected items that are compressed at once. */
const PIECE = 100;
/**
 * Makes a page of a state. `attributes` is the version of the selector attributes, which a change of the type increments. Throws
 * StorageError 'corrupt' if an object on the page cannot be decoded.
 */
export async function makePage(
  state: State,
  options: CacheListOptions,
  budget: Budget,
  clock: Clock,
  attributes: number,
): Promise<CachedList> {
  const { tree } = state;
  const { prefix, from, limit, predicate, order } = options;
  const range = rangeOf(tree, prefix);
  const start =
    from === '' || order !== undefined
      ? range.from
      : Math.max(
          range.from,
          tree.rank((key) => compareUtf8(key, from) < 0),
        );
  const end = Math.max(start, range.to);
  if (state.undecodable > 0) checkDecodable(itemsBetween(tree, start, end), options);
  if (predicate.everything && order === undefined) {
    const length = limit > 0 ? Math.min(limit, end - start) : end - start;
    return new RangePage(state, start, start + length, end, budget);
  }
  const selector = new Selector(predicate, attributes, budget);
  const selected = await select(state, options, { start, end }, selector, clock);
  return new SelectedPage(state.revision, selected, selector.failures);
}

/** The maximum number of objects that one error names. */
const MAX_UNDECODABLE = 101;

/**
 * Fails if an object before the end of a page cannot be decoded, whether the predicate would select it or not, as in kube-apiserver. The
 * error names all such objects up to where the page would be full.
 */
function checkDecodable(items: Iterable<CachedItem>, options: CacheListOptions): void {
  const { predicate, order } = options;
  // Conditions are not evaluated for this: all objects have to be decodable then.
  const limit = predicate.condition === undefined && order === undefined ? options.limit : Infinity;
  const single = singleKey(options);
  const found: Undecodable[] = [];
  let good = 0;
  for (const item of items) {
    if (single !== undefined && item.key !== single) continue;
    if (item.undecodable) {
      found.push(describeUndecodable(item));
      if (found.length === MAX_UNDECODABLE) break;
    } else if (limit > 0 && limit < Infinity && selects(predicate, item)) {
      good++;
      if (good === limit) break;
    }
  }
  if (found.length > 0) throw undecodable(found);
}

function* itemsBetween(tree: ItemTree, from: number, to: number): Generator<CachedItem, void, undefined> {
  for (const { leaf, start, end } of tree.segments(from, to)) {
    for (let i = start; i < end; i++) {
      const item = leaf.items[i];
      if (item !== undefined) yield item;
    }
  }
}

/** Returns the ranks of the keys with a prefix: `from` (inclusive) to `to` (exclusive). */
export function rangeOf(tree: ItemTree, prefix: string): { readonly from: number; readonly to: number } {
  if (prefix === '') return { from: 0, to: tree.size };
  return {
    from: tree.rank((key) => compareUtf8(key, prefix) < 0),
    to: tree.rank((key) => compareUtf8(key, prefix) < 0 || key.startsWith(prefix)),
  };
}

async function select(
  state: State,
  options: CacheListOptions,
  range: { start: number; end: number },
  selector: Selector,
  clock: Clock,
): Promise<Collected<CachedItem>> {
  const { prefix, from, flow, signal, order } = options;
  const { tree } = state;
  const collector = collectorFor(options, tree.get(from));
  const single = singleKey(options);
  if (single !== undefined) {
    const item = single.startsWith(prefix) ? tree.get(single) : undefined;
    if (item !== undefined && selector.selects(item)) collector.take(item);
    return collector.finish(true);
  }
  const slicer = new Slicer(clock, flow);
  let rank = range.start;
  for (const segment of tree.segments(range.start, range.end)) {
    const { leaf } = segment;
    const keys = order && new LeafKeys(leaf, order, selector.budget);
    for (const place of selector.examine(segment)) {
      if (place !== undefined && !collector.skips(keys?.at(place))) {
        const item = leaf.at(place);
        if (item !== undefined && collector.take(item, keys?.at(place) ?? keys?.make(place, item)))
          return collector.finish(rank + place + 1 - segment.start === range.end);
      }
      if (slicer.isExhausted) {
        await slicer.yield();
        signal?.throwIfAborted();
      }
    }
    keys?.save();
    rank += segment.end - segment.start;
    if (slicer.isExhausted) await slicer.yield();
  }
  return collector.finish(true);
}

/** Returns the only key that the predicate's name can match, if the namespace is certain. */
function singleKey({ prefix, predicate, clusterScoped, from }: CacheListOptions): string | undefined {
  // A continued list is not looked up but walked, as in kube-apiserver: objects that follow the matching one count as more.
  if (predicate.name === undefined || from !== '') return undefined;
  if (clusterScoped === true) return predicate.name;
  if (prefix.endsWith('/')) return `${prefix}${predicate.name}`;
  return predicate.namespace === undefined || predicate.namespace === ''
    ? undefined
    : `${predicate.namespace}/${predicate.name}`;
}

/** A page without a selector: a range of ranks, served from whole leaves where possible. */
class RangePage implements CachedList {
  private readonly unpacked = new Map<ItemLeaf, readonly CachedItem[]>();
  readonly revision: Revision;
  readonly length: number;
  readonly remaining: number;
  readonly lastKey: string | undefined;

  constructor(
    private readonly state: State,
    private readonly start: number,
    private readonly end: number,
    total: number,
    private readonly budget: Budget,
  ) {
    this.revision = state.revision;
    this.length = end - start;
    this.remaining = total - end;
    this.lastKey = this.remaining > 0 ? state.tree.at(end - 1)?.key : undefined;
  }

  /** Yields the items. The page keeps unpacked items, because data derived from an item is kept with it. */
  *items(): Generator<CachedItem, void, undefined> {
    for (const { leaf, start, end } of this.segments()) {
      const items = this.unpacked.get(leaf) ?? leaf.items;
      if (leaf.packedForm !== undefined) this.unpacked.set(leaf, items);
      for (let i = start; i < end; i++) {
        const item = items[i];
        if (item !== undefined) yield item;
      }
    }
  }

  *chunks(representation: Representation): Generator<Uint8Array, void, undefined> {
    let skip = Buffer.byteLength(representation.separator);
    for (const segment of this.segments()) {
      const items = this.unpackedItems(segment.leaf);
      const bytes =
        items === undefined
          ? joinSegment(segment, representation, this.budget)
          : joinItems(items, segment.start, segment.end, representation);
      yield skip === 0 ? bytes : bytes.subarray(skip);
      skip = 0;
    }
  }

  gzipChunks(representation: Representation): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
    const known: Uint8Array[] = [];
    let first = true;
    for (const segment of this.segments()) {
      const member = knownGzip(segment, first, representation);
      if (member === undefined) return this.gzipAll(representation);
      known.push(member);
      first = false;
    }
    return known;
  }

  /** Compresses the next member while the current one is being written. */
  private async *gzipAll(representation: Representation): AsyncGenerator<Uint8Array, void, undefined> {
    let ahead: Promise<Uint8Array> | undefined;
    let first = true;
    for (const segment of this.segments()) {
      const member = this.gzipMember(segment, first, representation);
      // A failure is reported when the member's turn comes.
      member.catch(() => undefined);
      first = false;
      if (ahead !== undefined) yield await ahead;
      ahead = member;
    }
    if (ahead !== undefined) yield await ahead;
  }

  private gzipMember(segment: ItemSegment, first: boolean, representation: Representation): Promise<Uint8Array> {
    const known = knownGzip(segment, first, representation);
    if (known !== undefined) return Promise.resolve(known);
    const items = this.unpackedItems(segment.leaf);
    if (items === undefined) return makeGzip(segment, first, representation, this.budget);
    const bytes = joinItems(items, segment.start, segment.end, representation);
    return compressNow(first ? bytes.subarray(Buffer.byteLength(representation.separator)) : bytes);
  }

  /** Returns the unpacked items that the page keeps, if the leaf has been packed again. */
  private unpackedItems(leaf: ItemLeaf): readonly CachedItem[] | undefined {
    return leaf.packed === undefined ? undefined : this.unpacked.get(leaf);
  }

  private segments(): Generator<ItemSegment, void, undefined> {
    return this.state.tree.segments(this.start, this.end);
  }
}

/** A page of items that a selector chose or that were read from history. */
export class SelectedPage implements CachedList {
  readonly length: number;
  readonly lastKey: string | undefined;
  readonly remaining: number | undefined;

  private readonly selected: readonly CachedItem[];

  constructor(
    readonly revision: Revision,
    { items, rest, remaining }: Collected<CachedItem>,
    readonly failures?: Failures,
  ) {
    this.selected = items;
    this.length = items.length;
    this.lastKey = rest ? items.at(-1)?.key : undefined;
    this.remaining = rest ? remaining : 0;
  }

  items(): Iterable<CachedItem> {
    return this.selected;
  }

  /** Yields the items one by one: joined, they would take memory for this one response. */
  *chunks(representation: Representation): Generator<Uint8Array, void, undefined> {
    const separator = Buffer.from(representation.separator);
    let first = true;
    for (const item of this.selected) {
      if (!first && separator.length > 0) yield separator;
      first = false;
      yield item.render(representation);
    }
  }

  async *gzipChunks(representation: Representation): AsyncGenerator<Uint8Array, void, undefined> {
    for (let at = 0; at < this.selected.length; at += PIECE) {
      const bytes = joinItems(this.selected, at, Math.min(at + PIECE, this.selected.length), representation);
      yield await compressNow(at > 0 ? bytes : bytes.subarray(Buffer.byteLength(representation.separator)));
    }
  }
}

/** Makes the page of a list that the backend read from its history. With a predicate or an order, `items` are all from the page on. */
export async function historicPage(
  revision: Revision,
  items: readonly CachedItem[],
  options: CacheListOptions,
  { more, remaining }: Pick<StoredList, 'more' | 'remaining'>,
  clock: Clock,
): Promise<CachedList> {
  checkDecodable(items, options);
  const { predicate, order, from } = options;
  if (predicate.everything && order === undefined) return new SelectedPage(revision, { items, rest: more, remaining });
  const last = order === undefined ? undefined : items.find(({ key }) => key === from);
  const { selected, failures } = await selectFrom(items, options, {
    last,
    clock,
    more,
    attributes: (item) => item.attributes,
  });
  return new SelectedPage(revision, selected, failures);
}
