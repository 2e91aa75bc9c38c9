/** A result that is often there at once, and then costs no promise and no turn of the event loop. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a result: now where it is there. */
export function then<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Goes on with what came of `work`: its result, or what it threw. */
export function settle<T, U>(
  work: () => MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
  failed: (error: unknown) => MaybePromise<U>,
): MaybePromise<U> {
  let result: MaybePromise<T>;
  try {
    result = work();
  } catch (error) {
    return failed(error);
  }
  return result instanceof Promise ? result.then(next, failed) : next(result);
}

/** Does something with each item, one after the other. */
export function inTurn<T>(items: readonly T[], work: (item: T) => MaybePromise<void>, from = 0): MaybePromise<void> {
  for (let i = from; i < items.length; i++) {
    const pending = work(items[i] as T);
    if (pending instanceof Promise) return pending.then(() => inTurn(items, work, i + 1));
  }
}

/** The result of `work`; `failed` answers, or throws, in place of what it throws. */
export const rescue = <T>(work: () => MaybePromise<T>, failed: (error: unknown) => MaybePromise<T>): MaybePromise<T> =>
  settle(work, (value) => value, failed);

/** The result of `work`; `ended` is called once when it is over, with what it threw, or undefined. */
export const whenOver = <T>(work: () => MaybePromise<T>, ended: (error: unknown) => void): MaybePromise<T> =>
  settle(
    work,
    (value) => {
      ended(undefined);
      return value;
    },
    (error) => {
      ended(error);
      throw error;
    },
  );
