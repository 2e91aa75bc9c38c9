import { hasYieldPoint, reachYieldPoint } from './yield-point.js';

/** Thrown if an evaluation exceeds its cost limit. An expression cannot absorb it. */
export class CostExceeded extends Error {}

/** Thrown where cel-go panics. The evaluation ends; an expression cannot absorb it. */
export class InternalError extends Error {}

/**
 * The units of work that one evaluation may do in addition to its cost. By the rules of costs, many steps are free or
 * nearly so (`size()` of a large map, filtering out every element, comparing long keys), and they must not block the event loop.
 * A unit is about 25 ns. Ordinary expressions use a few thousand units.
 */
const LIMIT = 2_000_000;

/** The units of work after which an evaluation reaches a yield point, if one is set. */
const WORK_SLICE = 20_000;
/** The cost after which an evaluation reaches a yield point. The cost can rise faster than the units of work. */
const COST_SLICE = 2_000;
/** The number of evaluations after which the next one starts with a yield point: most are too short to reach one otherwise. */
const EVALUATIONS = 16;

// Evaluations do not overlap, but they may nest, so one meter serves all of them. No work is counted outside of an evaluation.
let remaining = Infinity;
/** The units of work left of the limit after the next yield point. */
let reserve = 0;
let evaluations = 0;
const chargedSubjects = new Set<string>();
const keyLists = new Map<object, readonly string[]>();
let hasCachedState = false;

/** Reports whether an evaluation is running. A nested one is charged to it. */
export const isEvaluating = (): boolean => remaining !== Infinity;

export function startWork(): void {
  if (!hasYieldPoint()) {
    remaining = LIMIT;
    return;
  }
  if (++evaluations % EVALUATIONS === 0) reachYieldPoint();
  remaining = WORK_SLICE;
  reserve = LIMIT - WORK_SLICE;
}

/** Returns the cost at which an evaluation must call this again. `cost` is its current cost. Reaches a yield point unless `cost` is 0. */
export function nextCheckpoint(cost: number, limit: number): number {
  if (!hasYieldPoint()) return limit;
  if (cost > 0) reachYieldPoint();
  return Math.min(limit, cost + COST_SLICE);
}

export function endWork(): void {
  remaining = Infinity;
  reserve = 0;
  if (!hasCachedState) return;
  hasCachedState = false;
  chargedSubjects.clear();
  keyLists.clear();
}

/** Charges units of work. Ends the evaluation if the limit is exceeded. */
export function chargeWork(units: number): void {
  remaining -= units;
  if (remaining < 0) refill();
}

function refill(): void {
  const rest = remaining + reserve;
  if (rest < 0) throw new CostExceeded();
  reachYieldPoint();
  remaining = Math.min(rest, WORK_SLICE);
  reserve = rest - remaining;
}

/** Charges work that is done once per subject and evaluation, even if an earlier evaluation has cached the result. True the first time. */
export function chargeOnce(subject: string, units: number): boolean {
  if (remaining === Infinity || chargedSubjects.has(subject)) return false;
  chargeWork(units);
  chargedSubjects.add(subject);
  hasCachedState = true;
  return true;
}

/** Charges work on the characters of a string. */
export function chargeText(length: number): void {
  if (length > 256) chargeWork(length >>> 6);
}

/** Objects with more members than this are hash tables, which are slow to enumerate: their keys are cached during the evaluation. */
const HASHED_MEMBERS = 1000;
const PER_KEY = 5;

/** Returns the keys of an object, and charges for enumerating them. */
export function keysOf(subject: object): readonly string[] {
  const known = hasCachedState ? keyLists.get(subject) : undefined;
  if (known !== undefined) return known;
  const keys = Object.keys(subject);
  if (keys.length <= HASHED_MEMBERS) {
    chargeWork(keys.length >>> 1);
    return keys;
  }
  chargeWork(keys.length * PER_KEY);
  if (remaining === Infinity) return keys;
  keyLists.set(subject, keys);
  hasCachedState = true;
  return keys;
}

/** The maximum length of the lists that `lists.range` makes. Such a list costs as much as one call may. */
export const MAX_RANGE = 1_000_000;
