import { explore } from '../schedules.js';
import { Explorer } from './explorer.js';

test('in any order of events, the state shown at a revision holds everything up to it', async () => {
  await explore((random) => new Explorer(random), { schedules: 500, steps: 150 });
});
