import { type Clock, sleep } from '../../util/clock.js';
import type { AdmissionAttributes } from '../interfaces.js';
import { refusal } from '../refusal.js';
import type { ConfigurationSource } from '../sources.js';

/** How long a request waits until the configurations of a plugin have been listed, in milliseconds; the same as in kube-apiserver. */
const READY_TIMEOUT_MILLIS = 10_000;

/** Resolves when the configurations have been listed. Refuses the request if that takes too long. */
export async function whenReady(
  configurations: Pick<ConfigurationSource, 'synced' | 'whenSynced'>,
  attributes: AdmissionAttributes,
  clock: Clock,
): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([attributes.signal(), over.signal]);
  // If the source is unavailable, it may still have been listed before.
  const listed = configurations.whenSynced().catch(() => undefined);
  await Promise.race([listed, sleep(clock, READY_TIMEOUT_MILLIS, signal)]);
  over.abort();
  if (!configurations.synced()) throw refusal(attributes, 'not yet ready to handle request');
}
