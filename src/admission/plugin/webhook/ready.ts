import type { ApiError } from '../../../apimachinery/meta/errors.js';
import { type Clock, sleep } from '../../../util/clock.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { refusal } from '../../refusal.js';
import type { Hooks } from './hooks.js';

/** A request waits this long for the configurations to be known. */
const PATIENCE_MILLIS = 10_000;

export async function whenReady(hooks: Hooks, clock: Clock): Promise<boolean> {
  const over = new AbortController();
  try {
    await Promise.race([hooks.whenReady(), sleep(clock, PATIENCE_MILLIS, over.signal)]);
  } catch {
    // The source is not there; whether it has ever been is asked below.
  } finally {
    over.abort();
  }
  return hooks.ready();
}

export const notReady = (attributes: AdmissionAttributes): ApiError =>
  refusal(attributes, 'not yet ready to handle request');
