import { sleep, type Clock } from '../../../util/clock.js';

/** Waits for an answer with a time limit, and throws if it is exceeded; an answer that arrives later is passed to `late`. */
export async function withTimeout<T>(
  clock: Clock,
  millis: number,
  answer: Promise<T>,
  late?: (answer: T) => void,
): Promise<T> {
  const answered = new AbortController();
  const end = sleep(clock, millis, answered.signal).then(() => undefined);
  const wrapped = answer.then((value) => ({ value }));
  try {
    const first = await Promise.race([wrapped, end]);
    if (first !== undefined) return first.value;
    wrapped.then(({ value }) => late?.(value)).catch(() => undefined);
    throw new Error(`timed out after ${millis / 1_000} s`);
  } finally {
    answered.abort();
  }
}
