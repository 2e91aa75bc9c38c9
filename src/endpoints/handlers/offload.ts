import { yieldNow } from '../../scheduling/slicer.js';
import { OFFLOAD_WRITE_BYTES, RULES_MILLIS, RULES_UNITS, RULES_YIELD_POINTS } from '../../scheduling/thresholds.js';
import type { RequestScope } from '../router/scope.js';
import { weightOf } from './request/weight.js';

/** Offloads a write that weighs too much; undefined: it does not, or it cannot be offloaded. */
export function offloadLarge(scope: RequestScope, body: Buffer): Promise<void> | undefined {
  const { offload } = scope.environment;
  if (offload === undefined) return undefined;
  const weight = weightOf(scope, body, OFFLOAD_WRITE_BYTES);
  if (weight < OFFLOAD_WRITE_BYTES || !offload.takes(scope, weight)) return undefined;
  return offload.run(scope, body);
}

/** Offloads a write that is large; does it here where it is not. */
export function offloadOrRun(scope: RequestScope, body: Buffer, write: () => Promise<void>): Promise<void> {
  return offloadLarge(scope, body) ?? runHere(scope, body, write);
}

class RulesTakeLong extends Error {}

/**
 * Does a write here. How long the rules of its type take cannot be told from its size: one whose rules take long is given up
 * before it has changed anything, and a worker does it from the start. The only place where a write begins anew for that
 * (docs/design/offload.md says why there has to be one).
 */
async function runHere(scope: RequestScope, body: Buffer, write: () => Promise<void>): Promise<void> {
  const { offload } = scope.environment;
  if (offload === undefined) return write();
  const { clock } = scope.store;
  scope.context.ruleYieldPoint = () => {
    const since = clock.monotonic();
    let offered = false;
    let count = 0;
    let work = 0;
    const isOver = (): boolean => ++count >= RULES_YIELD_POINTS && clock.monotonic() - since >= RULES_MILLIS;
    return (units) => {
      work += units;
      if (offered || (work < RULES_UNITS && !isOver())) return;
      offered = true;
      if (offload.takes(scope, Infinity)) throw new RulesTakeLong();
    };
  };
  try {
    await write();
  } catch (error) {
    if (!(error instanceof RulesTakeLong)) throw error;
    await yieldNow();
    await offload.run(scope, body);
  }
}
