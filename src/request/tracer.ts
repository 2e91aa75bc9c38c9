import type { Span, SpanAttributes } from '../util/tracing.js';

/** A request that is about to be traced. */
export interface TracedRequest {
  readonly name: string;
  /** The header of that name. */
  readonly traceparent: string | undefined;
  /** Its sender may decide what is traced: the header names the parent. Otherwise it is linked to. */
  readonly isTrusted: boolean;
  readonly attributes: SpanAttributes;
  /** Milliseconds since the epoch. */
  readonly began: number;
}

/** Where traces begin. */
export interface RequestTracer {
  begin(request: TracedRequest): Span;
}
