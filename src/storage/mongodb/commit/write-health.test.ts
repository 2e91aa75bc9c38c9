import { FakeClock } from '../../../../test/fakes/util/clock.js';
import { WriteHealth } from './write-health.js';

const WELL = { ok: true, reason: '' };

test('writes that wait without success are unhealthy after 10 s, and stuck after 30 s', () => {
  const clock = new FakeClock();
  const health = new WriteHealth(clock);
  clock.advance(3_600_000);
  health.waits();
  clock.advance(9_000);
  expect(health.state()).toEqual(WELL);
  clock.advance(3_000);
  expect(health.state()).toEqual({ ok: false, reason: 'no write has succeeded for 12 s' });
  expect(health.isStuck()).toBe(false);
  clock.advance(18_000);
  expect([health.isStuck(), health.isStuck()]).toEqual([true, false]);
  clock.advance(30_000);
  expect(health.isStuck()).toBe(true);
  health.succeeded();
  expect([health.state(), health.isStuck()]).toEqual([WELL, false]);
});

test('a failure is remembered for a while without new writes', () => {
  const clock = new FakeClock();
  const health = new WriteHealth(clock);
  health.waits();
  clock.advance(20_000);
  health.gaveUp();
  health.idle();
  clock.advance(1_000);
  expect(health.state().ok).toBe(false);
  health.waits();
  clock.advance(9_000);
  expect(health.isStuck()).toBe(true);
  health.idle();
  clock.advance(40_000);
  expect(health.state()).toEqual(WELL);
  health.waits();
  expect(health.state()).toEqual(WELL);
});

test('writes fail while MongoDB is away, although none waits here', () => {
  const health = new WriteHealth(new FakeClock());
  expect(health.state(9_000)).toEqual(WELL);
  expect(health.state(40_000)).toEqual({ ok: false, reason: 'no write has succeeded for 40 s' });
});
