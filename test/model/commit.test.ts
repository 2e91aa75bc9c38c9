import { ALL, explore, type Explored, type Guards } from './commit.js';

const SCHEDULES = 2_000;
/** Schedules that show the same. */
const ENOUGH = 10;

/** Some of the schedules that go wrong, and how. */
function failures(guards: Guards): { readonly count: number; readonly told: string } {
  const told: string[] = [];
  let count = 0;
  for (let seed = 1; seed <= SCHEDULES && count < ENOUGH; seed++) {
    const { violations } = explore(seed, guards);
    if (violations.length === 0) continue;
    count++;
    told.push(...violations);
  }
  return { count, told: told.join('\n') };
}

describe('the commit protocol on MongoDB, whatever stops wherever', () => {
  test('an acknowledged write is there once, a refused one never, and readers miss nothing', () => {
    expect(failures(ALL)).toEqual({ count: 0, told: '' });
  });

  test('these schedules have writes that are acknowledged, and some that are refused', () => {
    const explored = Array.from({ length: 100 }, (_, seed) => explore(seed + 1, ALL));
    const sum = (of: (one: Explored) => number): number => explored.reduce((all, one) => all + of(one), 0);
    expect(sum(({ acknowledged }) => acknowledged)).toBeGreaterThan(500);
    expect(sum(({ refused }) => refused)).toBeGreaterThan(50);
  });

  test.each<[string, Partial<Guards>, RegExp]>([
    [
      'without the fence, writes go into the past',
      { fence: false },
      /revision \d+ was taken by write \d+, then by \d+/,
    ],
    [
      'where not knowing counts as not committed, writes are applied and refused',
      { admitsIgnorance: false },
      /was (applied at \d+ and again|refused, and appeared)/,
    ],
    [
      'where the floor is not durable before entries go, writes go into the past',
      { floorFirst: false },
      /revision \d+ was taken/,
    ],
    [
      'where only the first entry is checked, readers miss events',
      { contiguous: false },
      /a reader was shown \d+ without all before it/,
    ],
    [
      'where the present is read by majority, an election shows the past',
      { linearizable: false },
      /was told to be the newest after|was refused, and it fitted all the time/,
    ],
  ])('%s', (_, missing, expected) => {
    const { count, told } = failures({ ...ALL, ...missing });
    expect(count).toBeGreaterThan(0);
    expect(told).toMatch(expected);
  });
});
