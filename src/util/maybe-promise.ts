/** A result that is often there at once, and then costs no promise and no turn of the event loop. */
export type MaybePromise<T> = T | Promise<T>;

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return value instanceof Promise;
}

/** Goes on with a result: now where it is there. */
export function then<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Runs `work`; `failed` gets what it throws or rejects with, and answers, or throws, instead. */
export function rescue<T>(work: () => MaybePromise<T>, failed: (error: unknown) => T): MaybePromise<T> {
  let running: MaybePromise<T>;
  try {
    running = work();
  } catch (error) {
    return failed(error);
  }
  return running instanceof Promise ? running.catch(failed) : running;
}

/** Runs `work`; `ended` is called once when it is over, with what it threw, or undefined. */
export function whenOver<T>(work: () => MaybePromise<T>, ended: (error: unknown) => void): MaybePromise<T> {
  let running: MaybePromise<T>;
  try {
    running = work();
  } catch (error) {
    ended(error);
    throw error;
  }
  if (!(running instanceof Promise)) {
    ended(undefined);
    return running;
  }
  return running.then(
    (value) => {
      ended(undefined);
      return value;
    },
    (error: unknown) => {
      ended(error);
      throw error;
    },
  );
}
