import type { Document, Timestamp } from 'mongodb';

/** Seconds of MongoDB's cluster time, which never goes back. NaN: unknown, so that no age is certainly short or long. */
export type Moment = number;

/** The difference of two times in whole seconds may be off by one second in either direction. */
const BLUR_SECONDS = 1;

export function momentOf(time: Timestamp | undefined): Moment {
  return time?.t ?? NaN;
}

/** Returns the time of a reply to a majority read, which includes everything committed by then. */
export function readAt(reply: Document): Moment {
  return momentOf(reply['operationTime'] as Timestamp | undefined);
}

/** Reports whether `to` is certainly less than `millis` after `from`. */
export function isWithin(from: Moment, to: Moment, millis: number): boolean {
  return (to - from + BLUR_SECONDS) * 1_000 < millis;
}

/** Reports whether `to` is certainly at least `millis` after `from`. */
export function isAfter(from: Moment, to: Moment, millis: number): boolean {
  return (to - from - BLUR_SECONDS) * 1_000 >= millis;
}

export function laterOf(one: Moment, other: Moment): Moment {
  return Number.isNaN(other) || one > other ? one : other;
}
