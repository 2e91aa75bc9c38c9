/** A range of costs or sizes. Values stop at the largest 64-bit number. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** 2^64 stands for the largest unsigned 64-bit number and whatever is beyond it. */
export const UNBOUNDED = 2 ** 64;

export const UNKNOWN: Range = { min: 0, max: UNBOUNDED };
export const NOTHING: Range = { min: 0, max: 0 };

const cap = (value: number): number => Math.min(value, UNBOUNDED);

export const fixed = (value: number): Range => ({ min: value, max: value });

export const add = (a: Range, b: Range): Range => ({ min: cap(a.min + b.min), max: cap(a.max + b.max) });

export const multiply = (a: Range, b: Range): Range => ({ min: cap(a.min * b.min), max: cap(a.max * b.max) });

/** Rounds up. */
export const scale = (a: Range, factor: number): Range => ({
  min: cap(Math.ceil(a.min * factor)),
  max: cap(Math.ceil(a.max * factor)),
});

export const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });
