import { ALL, explore, type Explored, type Guards } from './log.js';

const SCHEDULES = 400;
/** The number of failing schedules after which exploration stops. */
const ENOUGH = 1;

/** Some guards are rarely needed. These are the seeds from which to search for schedules that need them. */
const RARE: Partial<Record<keyof Guards, number>> = { marks: 1_600, holdsFirst: 10_800, heldAfter: 2_500 };

/** Returns the violations of the first failing schedules. */
function failures(guards: Guards, from = 1): string[] {
  const reported: string[] = [];
  let count = 0;
  for (let seed = from; seed < from + SCHEDULES && count < ENOUGH; seed++) {
    const { violations } = explore(seed, guards);
    if (violations.length === 0) continue;
    count++;
    reported.push(`seed ${seed}: ${violations.slice(0, 4).join('; ')}`);
  }
  return reported;
}

describe('the log as the database, with any party stopping anywhere', () => {
  test('an acknowledged write exists once, a refused one never, and all readers see the same', () => {
    expect(failures(ALL)).toEqual([]);
  });

  test('the schedules acknowledge, refuse, leave outcomes unknown, and trim', () => {
    const explored = Array.from({ length: 100 }, (_, seed) => explore(seed + 1, ALL));
    const sum = (of: (one: Explored) => number): number => explored.reduce((all, one) => all + of(one), 0);
    expect(sum(({ acknowledged }) => acknowledged)).toBeGreaterThan(1_000);
    expect(sum(({ refused }) => refused)).toBeGreaterThan(100);
    expect(sum(({ unknown }) => unknown)).toBeGreaterThan(0);
    expect(sum(({ floor }) => floor)).toBeGreaterThan(500);
  });

  test.each<keyof Guards>([
    'fence',
    'admitsIgnorance',
    'projectedFirst',
    'floorFirst',
    'marks',
    'floorAfter',
    'onlyForward',
    'tombstones',
    'holds',
    'holdsFirst',
    'heldAfter',
    'settledFirst',
    'loadsAnew',
    'notFromThePast',
  ])('goes wrong without %s', (guard) => {
    expect(failures({ ...ALL, [guard]: false }, RARE[guard])).not.toEqual([]);
  });
});
