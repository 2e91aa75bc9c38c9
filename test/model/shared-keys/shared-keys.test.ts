import { explore } from '../schedules.js';
import { World } from './world.js';

/** `ANNEX_KEY_SCHEDULES` selects more. */
const SCHEDULES = Number(process.env['ANNEX_KEY_SCHEDULES'] ?? 400);

test('servers on one store never serve with different keys, and the store never has one in clear', async () => {
  const ends = new Map<string, number>();
  await explore((random) => new World(random), {
    schedules: SCHEDULES,
    steps: 120,
    done: ({ end }) => void ends.set(end, (ends.get(end) ?? 0) + 1),
  });
  const seen = [...ends.keys()].join('\n');
  // The schedules reach what the checks are about.
  for (const state of [
    'nothing serving',
    'nothing refused',
    'encryption serving',
    'encryption refused',
    'files serving',
  ])
    expect(seen).toContain(state);
}, 300_000);
