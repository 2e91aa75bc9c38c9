import { yieldNow } from '../../scheduling/slicer.js';
import { OFFLOAD_WRITE_BYTES, RULES_MILLIS, RULES_UNITS, RULES_YIELD_POINTS } from '../../scheduling/thresholds.js';
import type { Offload, RequestScope } from './scope.js';
import { weightOf } from './request/weight.js';
import { isStackOverflow } from '../../util/stack-overflow.js';

/** Offloads a write that weighs too much. Returns undefined if it does not, or if it cannot be offloaded. */
export function offloadLarge(scope: RequestScope, body: Buffer): Promise<void> | undefined {
  const { offload } = scope.environment;
  if (offload === undefined) return undefined;
  const weight = weightOf(scope, body, OFFLOAD_WRITE_BYTES);
  if (weight < OFFLOAD_WRITE_BYTES || !offload.takes(scope, weight)) return undefined;
  return offload.run(scope, body);
}

/** Offloads a write that is large or whose validation rules are predicted to take long. Runs any other write on this thread. */
export function offloadOrRun(scope: RequestScope, body: Buffer, write: () => Promise<void>): Promise<void> {
  const { offload } = scope.environment;
  if (offload === undefined) return write();
  const weight = weightOf(scope, body, OFFLOAD_WRITE_BYTES);
  const isLarge = weight >= OFFLOAD_WRITE_BYTES;
  if (isLarge ? offload.takes(scope, weight) : takesLongRules(scope, offload, weight)) return offload.run(scope, body);
  return runOnMainThread(scope, offload, { body, weight, write });
}

function takesLongRules(scope: RequestScope, offload: Offload, weight: number): boolean {
  return offload.expensive.isLikelyExpensive(scope.served, weight) && offload.takes(scope, Infinity);
}

class SlowRulesError extends Error {}

/**
 * Runs a write on this thread. The run time of the type's validation rules cannot be predicted from the size of the write alone:
 * a write whose rules take long is abandoned before it has changed anything, and a worker runs it from the start. This is the
 * only place where a write restarts for that reason (docs/design/offload.md explains why it must exist); later writes of the type
 * that weigh as much go to a worker at once.
 */
async function runOnMainThread(
  scope: RequestScope,
  offload: Offload,
  { body, weight, write }: { readonly body: Buffer; readonly weight: number; readonly write: () => Promise<void> },
): Promise<void> {
  const { clock } = scope.environment;
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
      if (offload.takes(scope, Infinity)) throw new SlowRulesError();
    };
  };
  try {
    await write();
  } catch (error) {
    if (isStackOverflow(error)) {
      if (!offload.takes(scope, Infinity)) throw error;
    } else if (error instanceof SlowRulesError) offload.expensive.observe(scope.served, weight);
    else throw error;
    await yieldNow();
    await offload.run(scope, body);
  }
}
