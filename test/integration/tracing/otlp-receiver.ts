import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

/** The part of opentelemetry/proto/trace/v1/trace.proto and its imports that the tests read. */
const PROTO = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Link links = 13; Status status = 15;
}
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { string message = 2; int32 code = 3; }
`;
const { root } = protobuf.parse(PROTO);
const REQUEST = root.lookupType('Request');

interface Attributes {
  readonly [key: string]: string | number | undefined;
}

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly links: readonly string[];
  readonly attributes: Attributes;
  readonly resource: Attributes;
  /** In milliseconds. */
  readonly began: number;
  readonly ended: number;
}

interface RawSpan {
  readonly name?: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly RawAttribute[];
  readonly links?: readonly { readonly traceId: string }[];
}

interface RawAttribute {
  readonly key: string;
  readonly value?: { readonly stringValue?: string; readonly intValue?: string };
}

interface RawRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly RawAttribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly RawSpan[] }[];
  }[];
}

const hex = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('hex');

const attributesOf = (list: readonly RawAttribute[] = []): Attributes =>
  Object.fromEntries(
    list.map(({ key, value }) => [key, value?.intValue === undefined ? value?.stringValue : Number(value.intValue)]),
  );

/** A collector: OTLP over gRPC without TLS. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Everything received, as text. */
  text = '';
  private readonly sessions = new Set<ServerHttp2Session>();

  private constructor(private readonly server: Http2Server) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('session', (session) => receiver.sessions.add(session));
    server.on('stream', (stream, headers) => {
      void receiver.receive(stream, String(headers[':path']));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  /** The value of `endpoint` in a TracingConfiguration. */
  get endpoint(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const session of this.sessions) session.destroy();
    this.server.close();
  }

  private async receive(stream: ServerHttp2Stream, path: string): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    if (path === '/opentelemetry.proto.collector.trace.v1.TraceService/Export') this.keep(Buffer.concat(chunks));
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': '0' });
    });
    // An empty, uncompressed message.
    stream.end(Buffer.alloc(5));
  }

  private keep(frame: Buffer): void {
    this.text += frame.toString('latin1');
    const message = REQUEST.decode(frame.subarray(5));
    const request = REQUEST.toObject(message, { bytes: String, longs: String }) as RawRequest;
    for (const { resource, scopeSpans = [] } of request.resourceSpans ?? []) {
      for (const { spans = [] } of scopeSpans) {
        for (const span of spans) {
          this.spans.push({
            name: span.name ?? '',
            traceId: hex(span.traceId),
            spanId: hex(span.spanId),
            parentId: hex(span.parentSpanId),
            links: (span.links ?? []).map(({ traceId }) => hex(traceId)),
            attributes: attributesOf(span.attributes),
            resource: attributesOf(resource?.attributes),
            began: Number(span.startTimeUnixNano) / 1e6,
            ended: Number(span.endTimeUnixNano) / 1e6,
          });
        }
      }
    }
  }
}
