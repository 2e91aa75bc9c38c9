import type { Value } from '../values/value.js';
import { ArrayList, CelError, CelList, CelMap, EntryMap, NO_SUCH_OVERLOAD, typeName } from '../values/value.js';
import type { Frame, Run } from './frame.js';
import { CostExceeded, work } from '../work.js';

/** Where a loop keeps its variables. */
export interface LoopSlots {
  readonly first: number;
  /** -1: the loop has one variable. */
  readonly second: number;
  readonly accu: number;
}

/** Units of work for each turn of a loop. */
const PER_ITEM = 3;
const PER_KEY = 12;

type Visit = (first: Value, second: Value) => boolean;

/** Calls `visit` for every element or entry, as long as it returns true. Returns an error if there is nothing to iterate. */
function iterate(range: Value, two: boolean, visit: Visit): CelError | undefined {
  if (range instanceof CelList) {
    const { size } = range;
    work(size * PER_ITEM);
    for (let i = 0; i < size; i++) {
      const item = range.get(i);
      if (!visit(two ? i : item, item)) break;
    }
    return undefined;
  }
  if (range instanceof CelMap) {
    work(range.size * PER_KEY);
    for (const key of range.keys()) if (!visit(key, two ? (range.find(key) ?? null) : null)) break;
    return undefined;
  }
  return range instanceof CelError ? range : new CelError(`got '${typeName(range)}', expected iterable type`);
}

/** The same over the elements of a list, by far the commonest case. */
function eachItem(frame: Frame, list: CelList, slot: number, visit: () => void): void {
  const { size } = list;
  work(size * PER_ITEM);
  for (let i = 0; i < size; i++) {
    frame.slots[slot] = list.get(i);
    if (frame.cost > frame.limit) throw new CostExceeded();
    visit();
  }
}

function set(frame: Frame, slots: LoopSlots, first: Value, second: Value): void {
  frame.slots[slots.first] = first;
  if (slots.second >= 0) frame.slots[slots.second] = second;
  if (frame.cost > frame.limit) throw new CostExceeded();
}

/** What a quantifier has found so far. */
class Verdict {
  decided = false;
  error: CelError | undefined;

  /** Takes the next result; an error counts only if nothing decides. */
  take(value: Value, stop: boolean): void {
    if (value === stop) this.decided = true;
    else if (typeof value !== 'boolean') this.error ??= value instanceof CelError ? value : NO_SUCH_OVERLOAD;
  }
}

/** `all` (`stop` is false) and `exists` (`stop` is true). */
export function quantifier(range: Run, body: Run, slots: LoopSlots, stop: boolean): Run {
  // Asking whether the accumulator has decided, then joining the next result to it.
  const question = stop ? 3 : 2;
  const two = slots.second >= 0;
  return (frame) => {
    const over = range(frame);
    if (over instanceof CelList && !two) return quantifyList(frame, over, body, slots.first, stop, question);
    const verdict = new Verdict();
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

/** The same over the elements of a list, by far the commonest case. */
function quantifyList(frame: Frame, list: CelList, body: Run, slot: number, stop: boolean, question: number): Value {
  const size = list.size;
  const { slots } = frame;
  let error: CelError | undefined;
  for (let i = 0; i < size; i++) {
    slots[slot] = list.get(i);
    frame.cost += question + 1;
    if (frame.cost > frame.limit) throw new CostExceeded();
    const value = body(frame);
    if (value === stop) {
      // The next element, if there is one, finds that it is decided.
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

/** `map`, `filter` and `transformList`: with a filter, only what it accepts is gathered. */
export function gatherList(range: Run, filter: Run | undefined, item: Run, slots: LoopSlots): Run {
  const two = slots.second >= 0;
  return (frame) => {
    const items: Value[] = [];
    let error: CelError | undefined;
    const gather = (): void => {
      const accepted = filter === undefined ? true : filter(frame);
      if (accepted === false) return;
      if (accepted !== true) {
        error = accepted instanceof CelError ? accepted : NO_SUCH_OVERLOAD;
        return;
      }
      // The accumulator, a list of one, and the sum.
      frame.cost += 12;
      const value = item(frame);
      if (value instanceof CelError) error ??= value;
      else items.push(value);
    };
    const over = range(frame);
    let failed: CelError | undefined;
    if (over instanceof CelList && !two) eachItem(frame, over, slots.first, gather);
    else {
      failed = iterate(over, two, (first, second) => {
        set(frame, slots, first, second);
        gather();
        return true;
      });
    }
    if (failed !== undefined) return failed;
    frame.cost++;
    return error ?? new ArrayList(items);
  };
}

/** `transformMap` and `transformMapEntry`. `insert` adds to the map and pays; it is told whether something failed before. */
export function gatherMap(
  range: Run,
  filter: Run | undefined,
  insert: (frame: Frame, map: EntryMap, failed: boolean) => CelError | undefined,
  slots: LoopSlots,
): Run {
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
