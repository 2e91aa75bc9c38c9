import { sleep, type Clock } from './clock.js';

/** Waits for an answer with a time limit, and throws the error from `late` if it is exceeded. */
export async function withTimeout<T>(
  clock: Clock,
  millis: number,
  answer: Promise<T>,
  late = (): Error => new Error(`timed out after ${millis / 1_000} s`),
): Promise<T> {
  const answered = new AbortController();
  const end = sleep(clock, millis, answered.signal).then(() => undefined);
  const wrapped = answer.then((value) => ({ value }));
  try {
    const first = await Promise.race([wrapped, end]);
    if (first !== undefined) return first.value;
    // Nobody waits for the answer any more, nor for its error.
    wrapped.catch(() => undefined);
    throw late();
  } finally {
    answered.abort();
  }
}
