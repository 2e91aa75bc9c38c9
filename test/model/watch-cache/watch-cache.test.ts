import { explore } from '../schedules.js';
import { Explorer } from './explorer.js';

test('whatever happens in whatever order, what is shown under a revision holds everything up to it', async () => {
  await explore((random) => new Explorer(random), { schedules: 500, steps: 150 });
});
