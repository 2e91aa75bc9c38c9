import { explore } from '../schedules.js';
import { Explorer } from './explorer.js';

const SCHEDULES = 120;

test('a process that reuses the file of an earlier one always shows the state of the store', async () => {
  let resumed = 0;
  await explore((random) => new Explorer(random), {
    schedules: SCHEDULES,
    steps: 80,
    done: (explorer) => {
      resumed += explorer.resumed;
    },
  });
  expect(resumed).toBeGreaterThan(SCHEDULES / 4);
});
