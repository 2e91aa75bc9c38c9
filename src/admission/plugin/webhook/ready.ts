import type { ApiError } from '../../../apimachinery/meta/errors.js';
import { type Clock, sleep } from '../../../util/clock.js';
import type { AdmissionAttributes } from '../../interfaces.js';
import { refusal } from '../../refusal.js';
import type { Hooks } from './hooks.js';

/** How long a request waits until the configurations have been listed, in milliseconds. */
const READY_TIMEOUT_MILLIS = 10_000;

export async function whenReady(hooks: Hooks, clock: Clock): Promise<boolean> {
  const over = new AbortController();
  try {
    await Promise.race([hooks.whenReady(), sleep(clock, READY_TIMEOUT_MILLIS, over.signal)]);
  } catch {
    // The source is unavailable. It may have synced before, so the return value decides.
  } finally {
    over.abort();
  }
  return hooks.ready();
}

export const notReady = (attributes: AdmissionAttributes): ApiError =>
  refusal(attributes, 'not yet ready to handle request');
