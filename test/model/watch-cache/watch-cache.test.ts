import { Random, seedsOf } from '../random.js';
import { Explorer } from './explorer.js';

const SCHEDULES = 500;
const STEPS = 150;

test('whatever happens in whatever order, what is shown under a revision holds everything up to it', async () => {
  for (const seed of seedsOf('ANNEX_MODEL_SEED', SCHEDULES)) {
    const explorer = new Explorer(new Random(seed));
    try {
      await explorer.run(STEPS);
    } catch (error) {
      const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Error(`ANNEX_MODEL_SEED=${seed}: ${why}\nlast steps:\n${explorer.trace.slice(-30).join('\n')}`);
    }
  }
});
