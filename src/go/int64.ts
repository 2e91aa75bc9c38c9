export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

export const isInt64 = (value: bigint): boolean => value >= MIN_INT64 && value <= MAX_INT64;
