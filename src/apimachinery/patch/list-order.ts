import { goFormat } from '../json/go-format.js';
import { isObject, type JsonObject, type JsonValue } from '../json/json.js';
import { DIRECTIVE, ORDER_PREFIX } from './directives.js';
import { badArgument, internal, noMergeKey } from './errors.js';

/** Throws unless the list of a patch is part of the order that the patch requests, in that order. */
export function validateOrder(list: JsonValue[], order: JsonValue[], mergeKey: string): void {
  if (list.length === 0 || order.length === 0) return;
  const kept = mergeKey === '' ? list : list.filter((item) => !isDeletion(item));
  let at = 0;
  let seen = 0;
  while (at < kept.length && seen < order.length) {
    const item = kept[at];
    if (isObject(item) && Object.hasOwn(item, DIRECTIVE)) {
      at++;
      continue;
    }
    if (sameElement(item, order[seen], mergeKey)) at++;
    seen++;
  }
  if (at >= kept.length || seen < order.length) return;
  throw internal(
    `The order in patch list:\n${goFormat(list)}\n doesn't match ${ORDER_PREFIX} list:\n${goFormat(order)}\n`,
  );
}

function isDeletion(item: JsonValue): boolean {
  if (!isObject(item)) throw badArgument('map[string]interface {}', item);
  return item[DIRECTIVE] === 'delete';
}

function sameElement(left: JsonValue | undefined, right: JsonValue | undefined, mergeKey: string): boolean {
  if (mergeKey === '') return left === right;
  return keyValue(left, mergeKey) === keyValue(right, mergeKey);
}

/** Returns the element's value of the merge key, which it must have. */
export function keyValue(item: JsonValue | undefined, mergeKey: string): JsonValue | undefined {
  if (!isObject(item)) throw badArgument('map[string]interface {}', item);
  if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  return item[mergeKey];
}

/**
 * Sorts elements by place as an insertion sort does in which an element without a place counts as smaller than everything before it,
 * and everything else as smaller than it: clients see that result. So an element without a place comes right before the smallest place
 * that precedes it in the list, later ones first.
 */
function sortByPlace(list: JsonValue[], place: (item: JsonValue) => number): JsonValue[] {
  let least = Infinity;
  const entries = list.map((item, i) => {
    const at = place(item);
    if (at < 0) return { item, at: least, order: -1 - i };
    least = Math.min(least, at);
    return { item, at, order: i };
  });
  // Two elements that follow all places would differ by NaN.
  return entries.sort((a, b) => (a.at === b.at ? a.order - b.order : a.at - b.at)).map(({ item }) => item);
}

/**
 * Returns a function that reports whether an order has an element. It reads the order from the start up to a match; everything it
 * reads must be an object.
 */
function membership(order: readonly JsonValue[], mergeKey: string): (value: JsonValue | undefined) => boolean {
  const odd = mergeKey === '' ? -1 : order.findIndex((item) => !isObject(item));
  const read = odd < 0 ? order : order.slice(0, odd);
  const values = new Set(read.map((item) => (mergeKey === '' ? item : (item as JsonObject)[mergeKey])));
  return (value) => {
    if (values.has(value)) return true;
    if (odd >= 0) throw internal(`value for key ${odd} is not a map`);
    return false;
  };
}

/** Orders a merged list: elements of the patch as in the patch, and elements that only the server has where they were, relative to the others. */
export function inOrder(
  merged: JsonValue[],
  patchOrder: JsonValue[],
  serverOrder: JsonValue[],
  mergeKey: string,
): JsonValue[] {
  const keyed = mergeKey !== '';
  const key = (item: JsonValue): JsonValue | undefined => (keyed ? keyValue(item, mergeKey) : item);
  const positions = (list: readonly JsonValue[]): Map<JsonValue | undefined, number> => {
    const places = new Map<JsonValue | undefined, number>();
    list.forEach((item, i) => {
      const value = key(item);
      if (!places.has(value)) places.set(value, i);
    });
    return places;
  };
  const isMember = membership(patchOrder, mergeKey);
  const isWanted = merged.map((item) => isMember(key(item)));
  const inPatch = positions(patchOrder);
  const onServer = positions(serverOrder);
  const place = (places: ReadonlyMap<JsonValue | undefined, number>, item: JsonValue): number =>
    places.get(key(item)) ?? -1;
  const sorted = (list: JsonValue[], places: ReadonlyMap<JsonValue | undefined, number>): JsonValue[] =>
    sortByPlace(list, (item) => place(places, item));
  const wanted = sorted(
    merged.filter((_, i) => isWanted[i]),
    inPatch,
  );
  const others = sorted(
    merged.filter((_, i) => !isWanted[i]),
    onServer,
  );
  const out: JsonValue[] = [];
  let next = 0;
  for (const item of wanted) {
    const limit = place(onServer, item);
    while (next < others.length && limit >= 0) {
      const at = place(onServer, others[next] ?? null);
      if (at < 0 || at >= limit) break;
      out.push(others[next++] ?? null);
    }
    out.push(item);
  }
  return out.concat(others.slice(next));
}
