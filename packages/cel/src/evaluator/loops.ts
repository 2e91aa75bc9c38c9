import { ArrayList, CelError, CelList, CelMap, EntryMap, NO_SUCH_OVERLOAD, type Value } from '../values/value.js';
import type { Frame, Run } from './frame.js';
import type { Insert } from './literals.js';
import { goType } from '../cost/runtime.js';
import { chargeWork } from '../work.js';

/** The slots of the variables of a loop. */
export interface LoopSlots {
  readonly first: number;
  /** The slot of the second variable; -1 if the loop has only one. */
  readonly second: number;
}

/** Units of work per list element and per map entry. */
const PER_ITEM = 3;
const PER_KEY = 12;

type Visit = (first: Value, second: Value) => boolean;

/** Calls `visit` for every element or entry until it returns false. Returns an error if the range is not iterable. */
function iterate(range: Value, two: boolean, visit: Visit): CelError | undefined {
  if (range instanceof CelList) {
    const { size } = range;
    chargeWork(size * PER_ITEM);
    for (let i = 0; i < size; i++) {
      const item = range.get(i);
      if (!visit(two ? i : item, item)) break;
    }
    return undefined;
  }
  if (range instanceof CelMap) {
    chargeWork(range.size * PER_KEY);
    for (const key of range.keys()) if (!visit(key, two ? (range.find(key) ?? null) : null)) break;
    return undefined;
  }
  return range instanceof CelError ? range : new CelError(`got '${goType(range)[0]}', expected iterable type`);
}

function set(frame: Frame, slots: LoopSlots, first: Value, second: Value): void {
  frame.slots[slots.first] = first;
  if (slots.second >= 0) frame.slots[slots.second] = second;
  frame.check();
}

/** The intermediate result of a quantifier. */
class QuantifierState {
  decided = false;
  error: CelError | undefined;

  /** Records the result for the next element. An error counts only if no result is decisive. */
  take(value: Value, stop: boolean): void {
    if (value === stop) this.decided = true;
    else if (typeof value !== 'boolean') this.error ??= value instanceof CelError ? value : NO_SUCH_OVERLOAD;
  }
}

/** `all` (`stop` is false) and `exists` (`stop` is true). */
export function quantifier(range: Run, body: Run, slots: LoopSlots, stop: boolean): Run {
  // The cost of checking whether the accumulator is decisive, and of combining it with the next result.
  const question = stop ? 3 : 2;
  const two = slots.second >= 0;
  return (frame) => {
    const over = range(frame);
    if (over instanceof CelList && !two) return quantifyList(frame, over, body, slots.first, stop, question);
    const verdict = new QuantifierState();
    const failed = iterate(over, two, (first, second) => {
      frame.cost += question;
      if (verdict.decided) return false;
      set(frame, slots, first, second);
      frame.cost++;
      verdict.take(body(frame), stop);
      return true;
    });
    if (failed !== undefined) return failed;
    frame.cost++;
    return verdict.decided ? stop : (verdict.error ?? !stop);
  };
}

/** A quantifier over the elements of a list, by far the most common case. */
function quantifyList(frame: Frame, list: CelList, body: Run, slot: number, stop: boolean, question: number): Value {
  const size = list.size;
  const { slots } = frame;
  let error: CelError | undefined;
  let item: Value | undefined;
  for (let i = 0; i < size; i++) {
    // The body keeps no reference to the element, so that the value can be reused for the next one.
    item = list.next(i, item);
    slots[slot] = item;
    frame.cost += question + 1;
    frame.check();
    const value = body(frame);
    if (value === stop) {
      // The loop condition is evaluated once more if there is a next element.
      frame.cost += i + 1 < size ? question + 1 : 1;
      return stop;
    }
    if (typeof value !== 'boolean') error ??= value instanceof CelError ? value : NO_SUCH_OVERLOAD;
  }
  frame.cost++;
  return error ?? !stop;
}

/** `exists_one`: errors are not absorbed. */
export function existsOne(range: Run, body: Run, slots: LoopSlots): Run {
  return (frame) => {
    let count = 0;
    let error: CelError | undefined;
    const failed = iterate(range(frame), slots.second >= 0, (first, second) => {
      set(frame, slots, first, second);
      const value = body(frame);
      if (value === true) {
        count++;
        frame.cost += 2;
      } else if (typeof value !== 'boolean') error = value instanceof CelError ? value : NO_SUCH_OVERLOAD;
      return true;
    });
    if (failed !== undefined) return failed;
    frame.cost += 2;
    return error ?? count === 1;
  };
}

/** `filter` and `map` over the elements of a list, by far the most common cases. */
function collectFromList(
  frame: Frame,
  list: CelList,
  filter: Run | undefined,
  item: Run | undefined,
  slot: number,
): Value {
  const { size } = list;
  const { slots } = frame;
  chargeWork(size * PER_ITEM);
  const items: Value[] = [];
  let error: CelError | undefined;
  let element: Value | undefined;
  let kept = true;
  for (let i = 0; i < size; i++) {
    element = list.next(i, kept ? undefined : element);
    slots[slot] = element;
    frame.check();
    const accepted = filter === undefined ? true : filter(frame);
    kept = accepted !== false;
    if (accepted === true) {
      frame.cost += item === undefined ? KEPT + 1 : KEPT;
      const value = item === undefined ? element : item(frame);
      if (value instanceof CelError) error ??= value;
      else items.push(value);
    } else if (kept) error = accepted instanceof CelError ? accepted : NO_SUCH_OVERLOAD;
  }
  frame.cost++;
  return error ?? new ArrayList(items);
}

/** The cost of an accepted element: the accumulator, a list of one element, and the concatenation. */
const KEPT = 12;

/**
 * Plans `map`, `filter` and `transformList`. With a filter, only accepted elements are collected. Without `item`, the
 * value of the variable itself is collected.
 */
export function collectList(range: Run, filter: Run | undefined, item: Run | undefined, slots: LoopSlots): Run {
  const two = slots.second >= 0;
  return (frame) => {
    const over = range(frame);
    if (over instanceof CelList && !two) return collectFromList(frame, over, filter, item, slots.first);
    const items: Value[] = [];
    let error: CelError | undefined;
    const failed = iterate(over, two, (first, second) => {
      set(frame, slots, first, second);
      const accepted = filter === undefined ? true : filter(frame);
      if (accepted === false) return true;
      if (accepted !== true) {
        error = accepted instanceof CelError ? accepted : NO_SUCH_OVERLOAD;
        return true;
      }
      frame.cost += item === undefined ? KEPT + 1 : KEPT;
      const value = item === undefined ? first : item(frame);
      if (value instanceof CelError) error ??= value;
      else items.push(value);
      return true;
    });
    if (failed !== undefined) return failed;
    frame.cost++;
    return error ?? new ArrayList(items);
  };
}

/** Plans `transformMap` and `transformMapEntry`. */
export function collectMap(range: Run, filter: Run | undefined, insert: Insert, slots: LoopSlots): Run {
  return (frame) => {
    const map = new EntryMap();
    let error: CelError | undefined;
    const failed = iterate(range(frame), slots.second >= 0, (first, second) => {
      set(frame, slots, first, second);
      const accepted = filter === undefined ? true : filter(frame);
      if (accepted === false) return true;
      if (accepted !== true) error = accepted instanceof CelError ? accepted : NO_SUCH_OVERLOAD;
      else {
        const problem = insert(frame, map, error !== undefined);
        error ??= problem;
      }
      return true;
    });
    if (failed !== undefined) return failed;
    frame.cost++;
    return error ?? map;
  };
}
