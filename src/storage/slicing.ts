/** Resolves in a later turn of the event loop, after the input that is waiting now was handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Longest stretch of synchronous work, in milliseconds, after which long work lets others have their turn. */
export const SLICE_MILLIS = 5;
