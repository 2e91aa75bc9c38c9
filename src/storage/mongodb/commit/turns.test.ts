import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { Turns } from './turns.js';

/** Returns the turns of a replica at revision 7, and records its waits and claims in milliseconds. */
function replica(claimed = 0) {
  const clock = new FakeClock();
  const waits: number[] = [];
  const claims: number[] = [];
  const follower = {
    revision: 7,
    lastForeign: -Infinity,
    lastForeignEntries: 0,
    progress: (_: number, millis: number) => {
      waits.push(millis);
      clock.advance(millis);
      return Promise.resolve();
    },
  };
  const writers = {
    claim: (millis: number) => {
      claims.push(millis);
      return Promise.resolve();
    },
    claimed: () => Promise.resolve(claimed),
  };
  return { clock, waits, claims, follower, turns: new Turns({ clock, follower, writers }) };
}

test('a single replica never waits', async () => {
  const { turns, waits, clock } = replica();
  for (let i = 0; i < 100; i++) {
    turns.won();
    await turns.giveWay(7);
    clock.advance(10);
  }
  expect(waits).toEqual([]);
});

test('a replica that keeps losing claims a turn of a few appends, and claims again later', () => {
  const { turns, claims, clock } = replica();
  for (let i = 0; i < 60; i++) {
    turns.lost(15);
    clock.advance(10);
  }
  expect(claims).toEqual([60, 60]);
  turns.won();
  for (let i = 0; i < 20; i++) {
    turns.lost(15);
    clock.advance(10);
  }
  expect(claims).toEqual([60, 60]);
  clock.advance(1_000);
  turns.lost(10_000);
  expect(claims).toEqual([60, 60, 500]);
});

test('a replica that commits back to back yields a claimed turn, rarely if it is not used', async () => {
  const { turns, waits, clock } = replica(60);
  for (let i = 0; i < 100; i++) {
    turns.won();
    await turns.giveWay(7);
    await Promise.resolve();
    clock.advance(10);
  }
  // It yields 60 of every 300 ms.
  expect(waits.length).toBeGreaterThan(2);
  expect(waits.length).toBeLessThan(8);
  expect(new Set(waits)).toEqual(new Set([60]));
});
