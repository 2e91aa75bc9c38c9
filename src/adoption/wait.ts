import { type Clock, sleep } from '../util/clock.js';

/** Waits until `look` returns '', which means that nothing is missing. Throws what it returned last after `millis`, or when the signal aborts. */
export async function waitUntil(
  look: () => Promise<string>,
  { clock, millis, pollMillis }: { readonly clock: Clock; readonly millis: number; readonly pollMillis: number },
  signal: AbortSignal,
): Promise<void> {
  const end = clock.monotonic() + millis;
  for (;;) {
    const missing = await look();
    if (missing === '') return;
    if (signal.aborted || clock.monotonic() >= end) throw new Error(missing);
    await sleep(clock, pollMillis, signal);
  }
}
