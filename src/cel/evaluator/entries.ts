import type { Value } from '../values/value.js';
import { CelError, CelMap, type EntryMap, NO_SUCH_OVERLOAD, typeName } from '../values/value.js';
import { shown } from './access.js';
import type { Frame, Run } from './frame.js';

/** Adds to a map and pays; it is told whether something failed before. */
export type Insert = (frame: Frame, map: EntryMap, failed: boolean) => CelError | undefined;

/** Both sides are always evaluated: the accumulator, the entries, and the call. */
export function insertEntries(entries: Run): Insert {
  return (frame, map) => {
    frame.cost += 2;
    const value = entries(frame);
    return value instanceof CelError ? value : mergeInto(map, value);
  };
}

/** The first argument that fails, be it the accumulator, ends the call; it is paid for if all were looked at. */
export function insertPair(key: Run, value: Run): Insert {
  return (frame, map, failed) => {
    frame.cost++;
    if (failed) return undefined;
    const left = key(frame);
    if (left instanceof CelError) return left;
    const right = value(frame);
    frame.cost++;
    return right instanceof CelError ? right : insertInto(map, left, right);
  };
}

export function insertInto(map: EntryMap, key: Value, value: Value, repeated?: string): CelError | undefined {
  const inserted = map.insert(key, value);
  if (inserted === true) return undefined;
  if (inserted === undefined) return new CelError(`unsupported key type: ${typeName(key)}`);
  return new CelError(repeated ?? `insert failed: key ${shown(key)} already exists`);
}

function mergeInto(map: EntryMap, entries: Value): CelError | undefined {
  if (!(entries instanceof CelMap)) return NO_SUCH_OVERLOAD;
  for (const key of entries.keys()) {
    const problem = insertInto(map, key, entries.find(key) ?? null);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
