import type { KubeObject } from '../../apimachinery/meta/meta.js';
import { ConversionPending } from '../../managedfields/interfaces.js';
import type { StoredObject } from '../../storage/interfaces.js';
import { type Stopwatch, timed } from '../../util/metrics/stopwatch.js';
import type { ServedVersion } from '../rest/served.js';
import { decodedSliced, DetachedObject } from '../../storage/detached-object.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

/** The maximum number of attempts: a step can need the conversions of all versions that an object's managers ever used, and some more. */
const MAX_ATTEMPTS = 50;

/** Runs a step that may have to wait for conversions, and reruns it after each; it must be rerunnable. Most steps never wait. */
export function retryOnPendingConversion<T>(step: () => T): MaybePromise<T> {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof ConversionPending)) throw error;
    return again(step, error);
  }
}

async function again<T>(step: () => T, first: ConversionPending): Promise<T> {
  let pending = first;
  for (let attempt = 1; ; attempt++) {
    await pending.ready();
    try {
      return step();
    } catch (error) {
      if (!(error instanceof ConversionPending) || attempt >= MAX_ATTEMPTS) throw error;
      pending = error;
    }
  }
}

/**
 * Decodes a stored object in a version, converting it where needed, and over several turns of the event loop if it is large.
 * `watch` records the duration of the conversion.
 */
export function decodeInVersion(
  served: ServedVersion,
  stored: StoredObject,
  watch?: Stopwatch,
): MaybePromise<KubeObject> {
  if (served.prepare === undefined) {
    const decoded = decodedSliced(stored);
    if (decoded !== undefined) return decoded.then((object) => served.toObject(object));
  }
  const object = new DetachedObject(stored);
  const prepared = prepare(served, object, watch);
  return prepared === undefined ? served.toObject(object) : prepared.then(() => served.toObject(object));
}

/** Returns what must finish before the object can be shown in the version, or undefined if nothing must. */
function prepare(
  served: ServedVersion,
  object: DetachedObject,
  watch: Stopwatch | undefined,
): Promise<void> | undefined {
  if (served.prepare === undefined) return undefined;
  return timed(watch, 'decode-response-object', async () => served.prepare?.([object]));
}
