import { hasYieldPoint, reachYieldPoint } from './yield-point.js';

/** The evaluation went over its cost limit. Nothing in an expression can absorb it. */
export class CostExceeded extends Error {}

/** What makes the reference implementation panic: the evaluation ends, and nothing in the expression can absorb it. */
export class InternalError extends Error {}

/**
 * What one evaluation may do on top of what its cost pays for: many steps are free or nearly so by the rules of costs
 * (`size()` of a large map, filtering everything away, comparing long keys), and an event loop must not wait for them.
 * A unit is worth about 25 ns. Ordinary expressions use a few thousand.
 */
const LIMIT = 2_000_000;

/** Work after which an evaluation comes to a yield point, if anybody wants that. */
const WORK_SLICE = 20_000;
/** The same for cost, which can be higher. */
const COST_SLICE = 2_000;
/** Short evaluations come to one only every so often. */
const EVALUATIONS = 16;

// Evaluations do not overlap, except for those within another, so one meter serves them all. Outside of one nothing is counted.
let left = Infinity;
/** What is left of the limit beyond the next yield point. */
let reserve = 0;
let evaluations = 0;
const once = new Set<string>();
const keyLists = new Map<object, readonly string[]>();
let noted = false;

/** Whether an evaluation is under way, so that one within it is on its account. */
export const isWorking = (): boolean => left !== Infinity;

export function startWork(): void {
  if (!hasYieldPoint()) {
    left = LIMIT;
    return;
  }
  if (++evaluations % EVALUATIONS === 0) reachYieldPoint();
  left = WORK_SLICE;
  reserve = LIMIT - WORK_SLICE;
}

/** The cost at which an evaluation that has come to `cost` is to ask again, which is a yield point. */
export function nextStop(cost: number, limit: number): number {
  if (!hasYieldPoint()) return limit;
  if (cost > 0) reachYieldPoint();
  return Math.min(limit, cost + COST_SLICE);
}

export function endWork(): void {
  left = Infinity;
  reserve = 0;
  if (!noted) return;
  noted = false;
  once.clear();
  keyLists.clear();
}

/** Notes work; ends the evaluation that has done too much. */
export function work(units: number): void {
  left -= units;
  if (left < 0) refill();
}

function refill(): void {
  const rest = left + reserve;
  if (rest < 0) throw new CostExceeded();
  reachYieldPoint();
  left = Math.min(rest, WORK_SLICE);
  reserve = rest - left;
}

/** The same for work that is done once for a subject, whatever is remembered from earlier evaluations. True the first time. */
export function workOnce(subject: string, units: number): boolean {
  if (left === Infinity || once.has(subject)) return false;
  work(units);
  once.add(subject);
  noted = true;
  return true;
}

/** Work on the characters of a text. */
export function workOnText(length: number): void {
  if (length > 256) work(length >>> 6);
}

/** Objects of more members are hash tables, which are slow to walk: their keys are kept while the evaluation lasts. */
const HASHED_MEMBERS = 1000;
const PER_KEY = 5;

/** The keys of an object. */
export function keysOf(subject: object): readonly string[] {
  const known = noted ? keyLists.get(subject) : undefined;
  if (known !== undefined) return known;
  const keys = Object.keys(subject);
  if (keys.length <= HASHED_MEMBERS) {
    work(keys.length >>> 1);
    return keys;
  }
  work(keys.length * PER_KEY);
  if (left === Infinity) return keys;
  keyLists.set(subject, keys);
  noted = true;
  return keys;
}

/** The longest list that `lists.range` makes: it costs as much as one call may. */
export const MAX_RANGE = 1_000_000;
