import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as SdkTracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import { ATTR_SERVICE_INSTANCE_ID, ATTR_SERVICE_NAME } from '@opentelemetry/semantic-conventions/incubating';
import type { RequestTracer, TracedRequest } from '../../request/tracer.js';
import { messageOf } from '../../util/error-message.js';
import { setCurrentSpanSource, type Span, type SpanAttributes } from '../../util/tracing.js';
import type { TracingConfiguration } from './configuration.js';

/** The service name that kube-apiserver uses for itself. */
const SERVICE = 'apiserver';
const MILLION = 1_000_000;
/** The default endpoint of OTLP over gRPC. */
const DEFAULT_ENDPOINT = 'localhost:4317';

const now = (): number => performance.timeOrigin + performance.now();

/** Parses the header of W3C Trace Context; undefined if it is absent or invalid. */
function spanContextOf(traceparent: string | undefined) {
  const parts = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(traceparent?.trim() ?? '');
  if (parts === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = parts;
  const context = { traceId, spanId, traceFlags: parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}

/** Returns the URL of the collector. As in kube-apiserver, the connection does not use TLS. */
function urlOf(endpoint = DEFAULT_ENDPOINT): string {
  if (endpoint.startsWith('unix:')) return endpoint;
  return `http://${endpoint.replace(/^dns:\/\/[^/]*\//, '')}`;
}

/** A Span backed by a span of the SDK. */
class OpenTelemetrySpan implements Span {
  constructor(
    private readonly span: SdkSpan,
    private readonly tracer: SdkTracer,
    private readonly current: AsyncLocalStorage<Span>,
  ) {}

  get sampled(): boolean {
    return (this.span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
  }

  get recording(): boolean {
    return this.span.isRecording();
  }

  get traceId(): string {
    return this.span.spanContext().traceId;
  }

  get spanId(): string {
    return this.span.spanContext().spanId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`;
  }

  start(name: string, attributes?: SpanAttributes, began = now()): Span {
    const options = { startTime: began, attributes: attributes ?? {} };
    const child = this.tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, this.span));
    return new OpenTelemetrySpan(child, this.tracer, this.current);
  }

  setAttributes(attributes: SpanAttributes): void {
    this.span.setAttributes(attributes);
  }

  end(error?: unknown, at = now()): void {
    if (error !== undefined) this.span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
    this.span.end(at);
  }

  run<T>(work: () => T): T {
    return this.current.run(this, work);
  }
}

/** Traces requests with the OpenTelemetry SDK, which exports spans in batches. The only file that uses the SDK. */
export class OpenTelemetryTracer implements RequestTracer {
  private readonly provider: NodeTracerProvider;
  private readonly tracer: SdkTracer;
  private readonly current = new AsyncLocalStorage<Span>();

  constructor({ endpoint, samplingRatePerMillion = 0 }: TracingConfiguration, instance: string) {
    const root =
      samplingRatePerMillion > 0
        ? new TraceIdRatioBasedSampler(samplingRatePerMillion / MILLION)
        : new AlwaysOffSampler();
    const exporter = new OTLPTraceExporter({ url: urlOf(endpoint) });
    this.provider = new NodeTracerProvider({
      sampler: new ParentBasedSampler({ root }),
      spanProcessors: [new BatchSpanProcessor(exporter)],
      resource: resourceFromAttributes({ [ATTR_SERVICE_NAME]: SERVICE, [ATTR_SERVICE_INSTANCE_ID]: instance }),
    });
    this.tracer = this.provider.getTracer('annex');
    setCurrentSpanSource(() => this.current.getStore());
  }

  begin({ name, traceparent, isTrusted, attributes, began }: TracedRequest): Span {
    const remote = spanContextOf(traceparent);
    const parent: Context =
      remote !== undefined && isTrusted ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
    const links = remote !== undefined && !isTrusted ? [{ context: remote }] : [];
    const span = this.tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: began, attributes, links }, parent);
    return new OpenTelemetrySpan(span, this.tracer, this.current);
  }

  /** Exports the remaining spans. */
  async close(): Promise<void> {
    setCurrentSpanSource(() => undefined);
    await this.provider.shutdown();
  }
}
