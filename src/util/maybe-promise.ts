/** A result that is often available at once, and then costs neither a promise nor a turn of the event loop. */
export type MaybePromise<T> = T | Promise<T>;

/** Continues with a result, synchronously if it is available. */
export function then<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Continues with the outcome of `work`: its result, or the error that it threw. */
export function settle<T, U>(
  work: () => MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
  onError: (error: unknown) => MaybePromise<U>,
): MaybePromise<U> {
  let result: MaybePromise<T>;
  try {
    result = work();
  } catch (error) {
    return onError(error);
  }
  return result instanceof Promise ? result.then(next, onError) : next(result);
}

/** Processes the items one after the other. */
export function forEachSequentially<T>(
  items: readonly T[],
  work: (item: T) => MaybePromise<void>,
  from = 0,
): MaybePromise<void> {
  for (let i = from; i < items.length; i++) {
    const pending = work(items[i] as T);
    if (pending instanceof Promise) return pending.then(() => forEachSequentially(items, work, i + 1));
  }
}

/** Returns the result of `work`. If that throws, `onError` returns the result instead, or throws. */
export const rescue = <T>(work: () => MaybePromise<T>, onError: (error: unknown) => MaybePromise<T>): MaybePromise<T> =>
  settle(work, (value) => value, onError);

/** Returns the result of `work`. `onSettled` is called once when the work has ended, with the error that it threw, or with undefined. */
export const runFinally = <T>(work: () => MaybePromise<T>, onSettled: (error: unknown) => void): MaybePromise<T> =>
  settle(
    work,
    (value) => {
      onSettled(undefined);
      return value;
    },
    (error) => {
      onSettled(error);
      throw error;
    },
  );
