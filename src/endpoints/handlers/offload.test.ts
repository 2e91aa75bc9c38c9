import { ExpensiveWrites } from '../../scheduling/expensive-writes.js';
import { RULES_UNITS } from '../../scheduling/thresholds.js';
import type { RequestScope } from './scope.js';
import { offloadOrRun } from './offload.js';

test('a write with expensive rules moves to a worker, and similar later writes start there', async () => {
  const done: string[] = [];
  const offload = {
    expensive: new ExpensiveWrites(),
    takes: () => true,
    run: () => Promise.resolve(void done.push('worker')),
  };
  const scope = {
    environment: { offload, clock: { monotonic: () => 0 } },
    request: { headers: {} },
    context: { info: { name: '' } },
    served: { maxDefaultedValues: () => 0 },
  } as unknown as RequestScope;
  const write = (units: number) => async (): Promise<void> => {
    done.push('begun');
    await Promise.resolve();
    scope.context.ruleYieldPoint?.()(units);
    done.push('here');
  };
  const body = Buffer.from('{"spec":{"list":[1,2,3]}}');
  await offloadOrRun(scope, body, write(1));
  expect(done.splice(0)).toEqual(['begun', 'here']);
  await offloadOrRun(scope, body, write(RULES_UNITS));
  expect(done.splice(0)).toEqual(['begun', 'worker']);
  await offloadOrRun(scope, body, write(RULES_UNITS));
  expect(done.splice(0)).toEqual(['worker']);
  await offloadOrRun(scope, Buffer.from('{}'), write(1));
  expect(done.splice(0)).toEqual(['begun', 'here']);
});
