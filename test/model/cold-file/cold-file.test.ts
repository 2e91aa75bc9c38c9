import { explore } from '../schedules.js';
import { Explorer } from './explorer.js';

const SCHEDULES = 120;

test('a process that goes on with the file of another one shows what the store has, whatever happened in between', async () => {
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
