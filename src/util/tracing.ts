export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A piece of work in a trace. Times are milliseconds since the epoch, with fractions; absent: now. */
export interface Span {
  /** False: nothing of the trace is exported; it is there to be passed on. */
  readonly sampled: boolean;
  /** Sampled, and not over. */
  readonly recording: boolean;
  readonly traceId: string;
  readonly spanId: string;
  /** The header of that name for calls that are part of the work. */
  readonly traceparent: string;
  /** A part of the work begins. */
  start(name: string, attributes?: SpanAttributes, began?: number): Span;
  note(attributes: SpanAttributes): void;
  /** The work is over; `error`: what it threw. */
  end(error?: unknown, at?: number): void;
  /** Does some work in which, and in all that it waits for, the span is the current one. */
  run<T>(work: () => T): T;
}

let source: () => Span | undefined = () => undefined;

/** The span of the caller; undefined where requests are not traced. */
export const currentSpan = (): Span | undefined => source();

/** The process's tracer says from now on what the current span is. */
export function setCurrentSpanSource(of: () => Span | undefined): void {
  source = of;
}

/**
 * Spans of writes that wait for the store, in their order. A store commits many in one command, which it sends in nobody's context: that
 * command is a part of the first one.
 */
export const waitingWrites = new Set<Span>();

/** Does some work as a part of the current span; a promise counts until it settles. */
export function spanned<T>(name: string, attributes: SpanAttributes | undefined, work: () => Promise<T>): Promise<T> {
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
