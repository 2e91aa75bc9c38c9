export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A span of a trace. Times are milliseconds since the epoch, possibly fractional; the default is now. */
export interface Span {
  /** False if the trace is not exported: the span only propagates the trace. */
  readonly sampled: boolean;
  /** True if the span is sampled and has not ended. */
  readonly recording: boolean;
  readonly traceId: string;
  readonly spanId: string;
  /** The value of the `traceparent` header for calls that are part of the work. */
  readonly traceparent: string;
  /** Starts a child span. */
  start(name: string, attributes?: SpanAttributes, began?: number): Span;
  setAttributes(attributes: SpanAttributes): void;
  /** Ends the span. `error` is what the work threw, if it failed. */
  end(error?: unknown, at?: number): void;
  /** Runs `work` with this span as the current one, also in everything that it awaits. */
  run<T>(work: () => T): T;
}

let source: () => Span | undefined = () => undefined;

/** The current span, or undefined if the request is not traced. */
export const currentSpan = (): Span | undefined => source();

/** Sets the function that returns the current span. Called by the tracer of the process. */
export function setCurrentSpanSource(of: () => Span | undefined): void {
  source = of;
}

/**
 * The spans of writes that wait for the store, in order. A store commits many writes in one command, which it sends outside of any
 * request's context: the span of that command becomes a child of the first one.
 */
export const waitingWrites = new Set<Span>();

/** Runs some work in a child of the current span. Asynchronous work ends when its promise settles. */
export function withSpan<T>(name: string, attributes: SpanAttributes | undefined, work: () => Promise<T>): Promise<T> {
  const span = currentSpan()?.start(name, attributes);
  if (span === undefined) return work();
  return span.run(work).then(
    (value) => {
      span.end();
      return value;
    },
    (error: unknown) => {
      span.end(error);
      throw error;
    },
  );
}
