import { FakeClock } from '../../../../test/fakes/util/clock.js';
import type { Change } from './events.js';
import { History, TypeHistory } from './history.js';
import type { State } from '../tree/page.js';

const LIMITS = { maxEvents: 100, maxBytes: 1_000, snapshotMillis: 1_000, changeMillis: 10_000 };
const change = (revision: number): Change =>
  ({ revision, bytes: 10, dropEncoded: () => undefined }) as unknown as Change;
const state = (revision: number): State => ({ revision }) as State;

function setUp(): { clock: FakeClock; history: History; a: TypeHistory; b: TypeHistory } {
  const clock = new FakeClock();
  const history = new History(LIMITS, clock);
  const [a, b] = [new TypeHistory(0), new TypeHistory(0)];
  for (let revision = 1; revision <= 6; revision++) {
    history.add(revision % 2 === 0 ? a : b, change(revision), state(revision - 1));
  }
  return { clock, history, a, b };
}

test('drops the changes of a removed type at once, and keeps those of other types', () => {
  const { history, a, b } = setUp();
  history.forget(a);
  expect(history.size().bytes).toBe(30);
  expect([a.start, a.end, a.changeAt(a.start)]).toEqual([a.end, a.end, undefined]);
  expect([b.changeAt(b.start)?.revision, b.since]).toEqual([1, 0]);
  a.push({ change: change(8), owner: a, time: 0, before: undefined });
  expect(a.start).toBe(a.end);
  for (let revision = 9; revision < 300; revision++) history.add(b, change(revision), state(revision - 1));
  expect(history.size()).toEqual({ events: 100, bytes: 1_000 });
});

test('changes expire by age, regardless of later changes', () => {
  const { clock, history, a, b } = setUp();
  clock.advance(6_000);
  history.add(b, change(7), state(6));
  clock.advance(4_000);
  history.expire(clock.monotonic());
  expect(history.size()).toEqual({ events: 1, bytes: 10 });
  expect([a.since, b.since, b.changeAt(b.start)?.revision]).toEqual([6, 5, 7]);
  clock.advance(6_000);
  history.expire(clock.monotonic());
  expect(history.size()).toEqual({ events: 0, bytes: 0 });
});

test('snapshots expire before their changes', () => {
  const { clock, history, a } = setUp();
  expect(a.stateAt(3, state(6))).toEqual({ revision: 3 });
  clock.advance(1_000);
  history.expire(clock.monotonic());
  expect(a.stateAt(3, state(6))).toBeUndefined();
});
