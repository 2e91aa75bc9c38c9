/** Reports whether a recursion ran out of stack: a value is nested more deeply than this thread can handle. */
export const isStackOverflow = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  (error as Partial<Error>).name === 'RangeError' &&
  (error as Partial<Error>).message === 'Maximum call stack size exceeded';
