/** Parts of the work on a request, by the names under which the audit log tells how long they took (it leaves out `request-read`). */
export type Layer =
  | 'authentication'
  | 'authorization'
  | 'impersonation'
  | 'apf-queue-wait'
  | 'request-read'
  | 'mutating-webhook'
  | 'validating-webhook'
  | 'etcd'
  | 'decode-response-object'
  | 'transform-response-object'
  | 'serialize-response-object'
  | 'response-write';

/** Takes down how long the parts of one piece of work took; what takes place several times adds up. */
export interface Stopwatch {
  /** Monotonic milliseconds. */
  monotonic(): number;
  spent(layer: Layer, millis: number): void;
}

/** Does some work under the watch; a promise counts until it settles. Without a watch it is only done. */
export function timed<T>(watch: Stopwatch | undefined, layer: Layer, work: () => T): T {
  if (watch === undefined) return work();
  const began = watch.monotonic();
  const done = (): void => {
    watch.spent(layer, watch.monotonic() - began);
  };
  let result: T;
  try {
    result = work();
  } catch (error) {
    done();
    throw error;
  }
  if (result instanceof Promise) return result.finally(done) as T;
  done();
  return result;
}
