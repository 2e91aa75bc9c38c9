import type { Cancellation } from '../../util/cancellation.js';
import { type Clock, sleep } from '../../util/clock.js';
import type { WebhookResponse, WebhookTransport } from './connection.js';

const MAX_RETRIES = 10;
const MILLIS = 1000;

/**
 * Posts again after the time that a 429 or a 5xx names, as Kubernetes' client does, as long as the time for the whole call lasts.
 * What went wrong on the way is not tried again: a webhook may have had the review already.
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
    // Without time left the transport says so in its own words.
    const left = Math.max(0, Math.ceil(end - clock.monotonic()));
    const response = await transport.post(body, left, cancellation);
    const { status, retryAfterSeconds } = response;
    const again = (status === 429 || status >= 500) && retryAfterSeconds !== undefined && attempt < MAX_RETRIES;
    if (!again) return response;
    await sleep(clock, Math.min(retryAfterSeconds * MILLIS, end - clock.monotonic()), cancellation);
  }
}
