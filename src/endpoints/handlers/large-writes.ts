import { yieldNow } from '../../scheduling/slicer.js';
import type { RequestScope } from '../router/scope.js';
import { weightOf } from './request/weight.js';

/** Bodies and objects that are at least this large together (see `weightOf`) are worked on outside of the thread that answers everybody. */
const LARGE = 64 * 1024;

/** Hands a write over to another thread if it is large; undefined: it is not, or cannot be handed over. */
export function elsewhere(scope: RequestScope, body: Buffer): Promise<void> | undefined {
  const { largeWrites } = scope.environment;
  if (largeWrites === undefined) return undefined;
  const weight = weightOf(scope, body, LARGE);
  if (weight < LARGE || !largeWrites.takes(scope, weight)) return undefined;
  return largeWrites.run(scope, body);
}

/** Does a write here or, if it is large, has another thread do it. */
export function hereOrElsewhere(scope: RequestScope, body: Buffer, write: () => Promise<void>): Promise<void> {
  return elsewhere(scope, body) ?? here(scope, body, write);
}

/** How long the rules of one write may keep the thread that answers everybody. */
const PATIENCE_MILLIS = 15;
/** Pauses by then that tell rules at work, which pause every millisecond, from a thread that did not get its turn on a busy machine. */
const PATIENCE_PAUSES = 5;
/** Work of about 5 ms is not done here where it is told of; code that is new to the engine takes several times as long. */
const MAX_UNITS = 200_000;

class TakesLong extends Error {}

/**
 * Does a write here. How long the rules of its type take cannot be told from its size: one whose rules take long is given up
 * before it has changed anything, and done by another thread from the beginning.
 */
async function here(scope: RequestScope, body: Buffer, write: () => Promise<void>): Promise<void> {
  const { largeWrites } = scope.environment;
  if (largeWrites === undefined) return write();
  const { clock } = scope.store;
  scope.context.patience = () => {
    const since = clock.monotonic();
    let offered = false;
    let pauses = 0;
    let work = 0;
    const isOver = (): boolean => ++pauses >= PATIENCE_PAUSES && clock.monotonic() - since >= PATIENCE_MILLIS;
    return (units) => {
      work += units;
      if (offered || (work < MAX_UNITS && !isOver())) return;
      offered = true;
      if (largeWrites.takes(scope, Infinity)) throw new TakesLong();
    };
  };
  try {
    await write();
  } catch (error) {
    if (!(error instanceof TakesLong)) throw error;
    await yieldNow();
    await largeWrites.run(scope, body);
  }
}
