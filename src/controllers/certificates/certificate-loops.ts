import { type KubeObject, nameOf } from '../../apimachinery/meta/meta.js';
import type { LoopbackClient } from '../../registry/rest/loopback-client.js';
import { type Clock, sleep } from '../../util/clock.js';
import { WorkQueue } from '../../util/work-queue.js';
import { isStale } from './certificates.js';
import { swallowIgnorableErrors } from '../errors.js';

const CLEANING_MILLIS = 3_600_000;

/** Calls `work` with each CertificateSigningRequest that is added or changed, as stored at that time; `work` may modify it. */
export function forEachRequest(
  client: LoopbackClient,
  clock: Clock,
  work: (request: KubeObject) => Promise<void>,
  onError: (name: string, error: unknown) => void,
  signal: AbortSignal,
): void {
  const queue = new WorkQueue({
    name: 'certificate',
    clock,
    reconcile: async (name) => {
      const request = await client.get('', name);
      if (request !== undefined) await swallowIgnorableErrors(() => work(request));
    },
    onError,
  });
  client.watch({ upsert: (request) => queue.add(nameOf(request)) }, signal);
  queue.stopOn(signal);
}

/** Deletes old requests, at once and then every hour. */
export async function cleanRequests(
  client: LoopbackClient,
  clock: Clock,
  onError: (name: string, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const request of await client.list('')) {
        if (isStale(request, clock.now())) {
          await swallowIgnorableErrors(() => client.delete('', nameOf(request), { uid: request.metadata.uid ?? '' }));
        }
      }
    } catch (error) {
      onError('', error);
    }
    await sleep(clock, CLEANING_MILLIS, signal);
  }
}
