import type { Clock } from '../../util/clock.js';
import type { Layer, Stopwatch } from '../../util/metrics/stopwatch.js';
import type { Span } from '../../util/tracing.js';

/** The span names of layers, as in kube-apiserver where it has them. Webhooks and the store create spans of their own. */
const SPANS: Readonly<Partial<Record<Layer, string>>> = {
  authorization: 'authorization',
  impersonation: 'impersonation',
  'apf-queue-wait': 'priorityandfairness',
  'request-read': 'Read request body',
  'decode-response-object': 'Convert objects',
  'transform-response-object': 'TransformObject',
  'serialize-response-object': 'SerializeObject',
};

/** The stopwatch of one request. */
export class Timings implements Stopwatch {
  /** The time spent in each layer, in milliseconds. */
  readonly layers = new Map<Layer, number>();
  /** The current span, if the request is traced. */
  span: Span | undefined;

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  monotonic(): number {
    return this.clock.monotonic();
  }

  record(layer: Layer, millis: number): void {
    const { span } = this;
    const name = span?.recording === true ? SPANS[layer] : undefined;
    if (name !== undefined) span?.start(name, undefined, performance.timeOrigin + performance.now() - millis).end();
    this.layers.set(layer, (this.layers.get(layer) ?? 0) + millis);
  }
}
