import { FakeClock } from '../../../test/fakes/util/clock.js';
import type { WebhookResponse } from './connection.js';
import { postRetrying } from './retries.js';

const answer = (status: number, retryAfterSeconds?: number): WebhookResponse => ({
  status,
  body: '',
  contentType: '',
  retryAfter: retryAfterSeconds !== undefined,
  retryAfterSeconds,
});

const flush = (): Promise<void> => new Promise(setImmediate);

async function run(answers: readonly WebhookResponse[], timeoutMillis = 10_000) {
  const clock = new FakeClock();
  const timeouts: number[] = [];
  let at = 0;
  const transport = {
    post: (_body: string, timeout: number) => {
      timeouts.push(timeout);
      return Promise.resolve(answers[Math.min(at++, answers.length - 1)] ?? answer(200));
    },
  };
  const result = postRetrying(transport, 'body', timeoutMillis, clock, new AbortController().signal);
  // Longer than all attempts take.
  for (let i = 0; i < 40; i++) {
    await flush();
    clock.advance(500);
  }
  return { status: (await result).status, timeouts };
}

test.each([
  [200, undefined],
  [200, 1],
  [404, 1],
  [429, undefined],
  [503, undefined],
])('%d with Retry-After %p is not retried', async (status, seconds) => {
  expect(await run([answer(status, seconds)])).toEqual({ status, timeouts: [10_000] });
});

test.each([429, 500, 503])('%d is retried after Retry-After, within the total timeout', async (status) => {
  const { status: last, timeouts } = await run([answer(status, 1), answer(status, 2), answer(200)]);
  expect(last).toBe(200);
  expect(timeouts).toEqual([10_000, 9000, 7000]);
});

test('an attempt that is due after the timeout has no time left', async () => {
  const { timeouts } = await run([answer(429, 60), answer(200)], 2000);
  expect(timeouts).toEqual([2000, 0]);
});

test('retries at most ten times', async () => {
  const { status, timeouts } = await run([answer(429, 0)]);
  expect(status).toBe(429);
  expect(timeouts).toHaveLength(11);
});
