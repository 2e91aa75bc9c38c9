/** The phases of handling a request, with the names under which the audit log reports their latency (it omits `request-read`). */
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

/** Records how long the phases of one piece of work took. A phase that occurs several times adds up. */
export interface Stopwatch {
  /** Monotonic milliseconds. */
  monotonic(): number;
  record(layer: Layer, millis: number): void;
}

/** Runs some work and records its duration; asynchronous work ends when its promise settles. Without a stopwatch it only runs the work. */
export function timed<T>(watch: Stopwatch | undefined, layer: Layer, work: () => T): T {
  if (watch === undefined) return work();
  const began = watch.monotonic();
  const done = (): void => watch.record(layer, watch.monotonic() - began);
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
