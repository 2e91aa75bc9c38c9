import { ALICE, MASTER, message, TestChain } from '../../../../test/fakes/endpoints/handler-chain.js';
import { WatchSeats } from './watch-seats.js';

test('long queries weigh more, and users without watches are forgotten', () => {
  const seats = new WatchSeats(5_000);
  const query = 'x'.repeat(99 * 1024);
  const releases = Array.from({ length: 50 }, () => seats.take('a', query));
  expect(releases.includes(undefined)).toBe(false);
  expect(seats.take('a', '')).toBeUndefined();
  seats.take('b', '')?.();
  expect([seats.users, seats.most]).toEqual([1, 5_000]);
  releases[0]?.();
  expect(seats.take('a', query)).toBeDefined();
  expect(seats.take('a', '')).toBeUndefined();
  for (const release of releases.slice(1)) release?.();
  expect(seats.users).toBe(1);
});

test('a user with too many watches gets 429 for the next; other users, other requests and system:masters do not', async () => {
  const stage = new TestChain();
  const ends: (() => void)[] = [];
  stage.handler = () => new Promise((resolve) => ends.push(resolve));
  const watch = { url: '/api/v1/pods?watch=1' };
  const open = Array.from({ length: 100 }, () => stage.start(watch));
  const refused = await stage.run(watch);
  expect(refused.statusCode).toBe(429);
  expect(refused.body).toContain('"retryAfterSeconds":1');
  expect(message(refused)).toBe(`user "${ALICE.user.name}" already has 100 watches on this server`);
  const expectServed = (given = watch): void => {
    const { response } = stage.start(given);
    expect(response.writableEnded).toBe(false);
  };
  expectServed({ url: '/api/v1/pods' });
  stage.authenticate = () => ({ user: { ...ALICE.user, name: 'bob' } });
  expectServed();
  stage.authenticate = () => MASTER;
  expectServed();
  stage.authenticate = () => ALICE;
  ends[0]?.();
  await open[0]?.running;
  expectServed();
  expect((await stage.run(watch)).statusCode).toBe(429);
});

test('a limit of 0 is none', () => {
  const seats = new WatchSeats(0);
  for (let i = 0; i < 10; i++) seats.take('a', 'x'.repeat(1 << 20));
  expect(seats.most).toBe(10 * 1025);
});
