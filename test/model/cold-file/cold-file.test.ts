import { Random, seedsOf } from '../random.js';
import { Explorer } from './explorer.js';

const SCHEDULES = 120;
const STEPS = 80;

test('a process that goes on with the file of another one shows what the store has, whatever happened in between', async () => {
  let resumed = 0;
  for (const seed of seedsOf('ANNEX_MODEL_SEED', SCHEDULES)) {
    const explorer = new Explorer(new Random(seed));
    try {
      await explorer.run(STEPS);
    } catch (error) {
      const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Error(`ANNEX_MODEL_SEED=${seed}: ${why}\nlast steps:\n${explorer.trace.slice(-40).join('\n')}`);
    }
    resumed += explorer.resumed;
  }
  expect(resumed).toBeGreaterThan(SCHEDULES / 4);
});
