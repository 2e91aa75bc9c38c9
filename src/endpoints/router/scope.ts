import type { AdmissionChain } from '../../admission/interfaces.js';
import type { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import type { ServedSubresource, ServedVersion } from '../../registry/rest/served.js';
import type { StoredApi } from '../../registry/generic/store/api-registry.js';
import type { RequestContext } from '../../request/context.js';
import type { ExpensiveWrites } from '../../scheduling/expensive-writes.js';
import type { FeatureGates } from '../../util/feature-gates.js';
import type { StoredObject } from '../../storage/interfaces.js';
import type { Clock } from '../../util/clock.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import type { Description } from '../openapi/parts.js';
import type { OpenApiGroupVersion } from '../openapi/source.js';
import type { ItemForm } from '../responsewriters/sink.js';
import type { Codec } from '../handlers/codec/codec.js';
import type { WatchTracker } from '../handlers/watch-tracker.js';

/** What all handlers share; made once by the composition root. */
export interface HandlerEnvironment {
  readonly admission: AdmissionChain;
  readonly authorizer: Authorizer;
  readonly features: FeatureGates;
  readonly clock: Clock;
  /** Bytes. */
  readonly maxRequestBodyBytes: number;
  /** Seconds that a watch without timeoutSeconds lasts at least; it lasts up to twice as long. */
  readonly minRequestTimeoutSeconds: number;
  readonly metrics: HandlerMetrics;
  readonly watches: WatchTracker;
  /** Protobuf of the built-in types. */
  readonly protobuf: ProtobufCodec;
  /** Absent: every write is done here. */
  readonly offload?: Offload | undefined;
}

interface DeprecatedApi {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty where no release is known. */
  readonly removedRelease: string;
}

/** Hooks for the metrics that only handlers can count. */
export interface HandlerMetrics {
  requestBodySize(group: string, resource: string, verb: string, bytes: number): void;
  watchEvents(group: string, version: string, resource: string, count: number, bytes: number): void;
  /** A version that is to go away is served to somebody. */
  deprecatedRequested(asked: DeprecatedApi): void;
  /** A watch begins to be served; the result ends it. */
  watchStarted(context: RequestContext): () => void;
}

/** Has a worker thread do large writes, and what large reads take. */
export interface Offload {
  /** Writes whose rules took too long in the main thread. */
  readonly expensive: ExpensiveWrites<ServedVersion>;
  /** Whether a request for this type that weighs so much (bytes) is to be done there. */
  takes(scope: RequestScope, weight: number): boolean;
  /** Does all that the handler would do, and answers the request. Throws what the handler would throw. */
  run(scope: RequestScope, body: Buffer): Promise<void>;
  /** Answers a request for an object that was read. */
  read(scope: RequestScope, object: StoredObject): Promise<void>;
  /** An item of a list, in the form in which it is wanted. */
  item(scope: RequestScope, object: StoredObject, form: ItemForm): Promise<Uint8Array>;
  /** A description of a group version for OpenAPI. */
  describe(what: Description, gv: OpenApiGroupVersion): Promise<Uint8Array>;
}

/** A request on its way through a router. */
export interface Exchanged {
  readonly environment: HandlerEnvironment;
  readonly context: RequestContext;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/** One request for a stored resource, or a subresource of it that writes the same object, as a router has found it to be in order. */
export interface RequestScope extends Exchanged, ServedSubresource {
  readonly served: ServedVersion;
  readonly store: ResourceStore;
  readonly subresource: string;
  readonly codec: Codec;
}

/** The scope of a request for a type, or for a part of it that has a strategy and a field manager of its own. */
export function requestScope(
  { served, store }: Pick<StoredApi, 'served' | 'store'>,
  { strategy, fieldManager }: ServedSubresource,
  codec: Codec,
  { environment, context, request, response }: Exchanged,
): RequestScope {
  // One literal with all members: V8 gives each object that is spread and added to a hidden class of its own, which makes every later access slow.
  return {
    environment,
    context,
    request,
    response,
    served,
    store,
    subresource: context.info.subresource,
    strategy,
    fieldManager,
    codec,
  };
}
