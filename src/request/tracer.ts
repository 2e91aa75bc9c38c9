import type { Span, SpanAttributes } from '../util/tracing.js';

/** A request to be traced. */
export interface TracedRequest {
  readonly name: string;
  /** The traceparent header. */
  readonly traceparent: string | undefined;
  /** True if the sender may decide what is traced, so that the header names the parent. Otherwise the trace is linked to it. */
  readonly isTrusted: boolean;
  readonly attributes: SpanAttributes;
  /** The start in milliseconds since the epoch. */
  readonly began: number;
}

/** Starts traces. */
export interface RequestTracer {
  begin(request: TracedRequest): Span;
}
