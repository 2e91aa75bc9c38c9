import type { Document, Timestamp } from 'mongodb';

/** Seconds of MongoDB's cluster time, which never goes back. NaN: it was not told; no age by it is short or long. */
export type Moment = number;

/** Two readings of whole seconds may be a second further apart, or closer, than they say. */
const BLUR_SECONDS = 1;

export function momentOf(time: Timestamp | undefined): Moment {
  return time?.t ?? NaN;
}

/** Of a reply to a majority read: everything that was committed by then is in it. */
export function readAt(reply: Document): Moment {
  return momentOf(reply['operationTime'] as Timestamp | undefined);
}

/** Whether one moment is surely less than this after another one. */
export function isWithin(from: Moment, to: Moment, millis: number): boolean {
  return (to - from + BLUR_SECONDS) * 1_000 < millis;
}

/** Whether one moment is surely at least this after another one. */
export function isAfter(from: Moment, to: Moment, millis: number): boolean {
  return (to - from - BLUR_SECONDS) * 1_000 >= millis;
}

export function laterOf(one: Moment, other: Moment): Moment {
  return Number.isNaN(other) || one > other ? one : other;
}
