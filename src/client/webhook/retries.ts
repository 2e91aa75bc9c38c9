import type { Cancellation } from '../../util/cancellation.js';
import { type Clock, sleep } from '../../util/clock.js';
import { ResponseError, type WebhookResponse, type WebhookTransport } from './connection.js';

const MAX_RETRIES = 10;
const MILLIS = 1000;

/**
 * Retries after the delay that a 429 or a 5xx asks for, like Kubernetes' client, within the timeout of the whole call. Transport errors are
 * not retried: the webhook may already have received the review.
 */
export async function postRetrying(
  transport: WebhookTransport,
  body: string,
  timeoutMillis: number,
  clock: Clock,
  cancellation: Cancellation,
): Promise<WebhookResponse> {
  const end = clock.monotonic() + timeoutMillis;
  for (let attempt = 0; ; attempt++) {
    // If no time is left, the transport reports it in its own words.
    const left = Math.max(0, Math.ceil(end - clock.monotonic()));
    const response = await transport.post(body, left, cancellation);
    const { status, retryAfterSeconds } = response;
    const again = (status === 429 || status >= 500) && retryAfterSeconds !== undefined && attempt < MAX_RETRIES;
    if (!again) return response;
    await sleep(clock, Math.min(retryAfterSeconds * MILLIS, end - clock.monotonic()), cancellation);
  }
}

const BACKOFF = { attempts: 5, firstMillis: 500, factor: 1.5, jitter: 0.2 };

/** Repeats a call that fails for a passing reason, with growing delays: the webhooks of authentication and authorization are called this way. */
export async function withBackoff<T>(
  call: () => Promise<T>,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
  signal: AbortSignal,
): Promise<T> {
  let wait = BACKOFF.firstMillis;
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const again = error instanceof ResponseError && error.transient && attempt < BACKOFF.attempts;
      if (!again || signal.aborted) throw error;
      await sleep(clock, wait * (1 + BACKOFF.jitter * random()), signal);
      wait *= BACKOFF.factor;
    }
  }
}
