import type { Presence } from '../storage/interfaces.js';
import { FakeClock } from '../../test/fakes/util/clock.js';
import { ReplicaStages, type Stages } from './replica-stages.js';

class FakePresence implements Presence {
  words = new Map<string, string>();
  away = false;

  of(id: string): Presence {
    return {
      publish: (what) => {
        if (this.away) return Promise.reject(new Error('away'));
        this.words.set(id, what);
        return Promise.resolve();
      },
      all: () => this.all(),
      leave: () => {
        this.words.delete(id);
        return Promise.resolve();
      },
    };
  }

  publish = (): Promise<void> => Promise.resolve();
  all = (): Promise<string[]> => Promise.resolve([...this.words.values()]);
  leave = (): Promise<void> => Promise.resolve();
}

function replica(presence: FakePresence, clock: FakeClock, id: string) {
  const state: { stages: Stages; failures: number } = { stages: {}, failures: 0 };
  const stop = new AbortController();
  const options = { presence: presence.of(id), clock, stages: () => state.stages };
  const stages = new ReplicaStages({ ...options, onError: () => (state.failures += 1) });
  return { state, stop, stages };
}

/** Advances the clock in steps of 100 ms, and lets pending work run after each. */
async function pass(clock: FakeClock, millis: number): Promise<void> {
  for (let gone = 0; gone <= millis; gone += 100) {
    if (gone > 0) clock.advance(100);
    await new Promise(setImmediate);
  }
}

const serves = (stages: Stages): boolean => stages['widgets.example.com'] !== undefined;

test('a step waits for every replica that is present, and for no other', async () => {
  const [presence, clock] = [new FakePresence(), new FakeClock()];
  const [one, two] = [replica(presence, clock, 'one'), replica(presence, clock, 'two')];
  for (const { stages, stop } of [one, two]) await stages.start(stop.signal);
  one.state.stages = { 'widgets.example.com': 'Copying' };
  const waiting = { over: false };
  const done = one.stages.everywhere('serving', serves, 60_000, one.stop.signal).then(() => (waiting.over = true));
  await pass(clock, 10_000);
  expect(waiting.over).toBe(false);
  two.state.stages = { 'widgets.example.com': 'Copying' };
  await pass(clock, 1_000);
  await done;
  two.state.stages = {};
  await pass(clock, 1_000);
  const late = one.stages.everywhere('serving', serves, 5_000, one.stop.signal).catch((error: unknown) => error);
  await pass(clock, 6_000);
  expect(await late).toEqual(new Error('serving: 1 of 2 replicas of Annex have not reached this step'));
  two.stop.abort();
  await pass(clock, 1_000);
  await one.stages.everywhere('serving', serves, 1_000, one.stop.signal);
  one.stop.abort();
  await pass(clock, 1_000);
  expect(presence.words.size).toBe(0);
});

test('a replica that cannot publish its presence does not start; presence is published periodically', async () => {
  const [presence, clock] = [new FakePresence(), new FakeClock()];
  const { stages, state, stop } = replica(presence, clock, 'one');
  presence.away = true;
  const started = { over: false };
  void stages.start(stop.signal).then(() => (started.over = true));
  await pass(clock, 3_000);
  expect([started.over, state.failures]).toEqual([false, 4]);
  presence.away = false;
  await pass(clock, 1_000);
  expect(started.over).toBe(true);
  presence.words.clear();
  await pass(clock, 5_000);
  expect(presence.words.get('one')).toBe('{}');
  stop.abort();
  await pass(clock, 1_000);
});
