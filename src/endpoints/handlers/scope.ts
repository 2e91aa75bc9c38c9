import type { AdmissionChain } from '../../admission/interfaces.js';
import type { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { GroupResource } from '../../apimachinery/meta/meta.js';
import type { ServedSubresource } from '../../registry/rest/interfaces.js';
import type { ServedKind, ServedVersion } from '../../registry/rest/served.js';
import type { OffloadableWriter, StandardStorage } from '../../registry/rest/storage.js';
import type { RequestContext } from '../../request/context.js';
import type { ExpensiveWrites } from '../../scheduling/expensive-writes.js';
import type { FeatureGates } from '../../util/feature-gates.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { StoredObject } from '../../storage/interfaces.js';
import type { Clock } from '../../util/clock.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import type { Description } from '../openapi/parts.js';
import type { OpenApiGroupVersion } from '../openapi/source.js';
import type { ItemForm } from '../responsewriters/sink.js';
import type { Codec } from './codec/codec.js';
import type { ListParameter } from './request/list-parameters.js';
import type { WatchTracker } from './watch-tracker.js';

/** The dependencies of all handlers; created once by the composition root. */
export interface HandlerEnvironment {
  readonly admission: AdmissionChain;
  readonly authorizer: Authorizer;
  readonly features: FeatureGates;
  readonly clock: Clock;
  /** The maximum size of a request body, in bytes. */
  readonly maxRequestBodyBytes: number;
  /** The minimum duration of a watch without timeoutSeconds, in seconds. It lasts up to twice as long. */
  readonly minRequestTimeoutSeconds: number;
  readonly metrics: HandlerMetrics;
  readonly watches: WatchTracker;
  /** The parameters of lists and watches that put conditions on their objects. */
  readonly listParameters: readonly ListParameter[];
  /** The Protobuf codec of the built-in types. */
  readonly protobuf: ProtobufCodec;
  /** What reads may show while the store does not answer. Absent if the store is local. */
  readonly outage?: OutageReads | undefined;
  /** If absent, every write runs on this thread. */
  readonly offload?: Offload | undefined;
}

interface DeprecatedApi {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** The release that no longer serves the version; empty if unknown. */
  readonly removedRelease: string;
}

/** The metrics that only handlers can record. */
export interface HandlerMetrics {
  requestBodySize(group: string, resource: string, verb: string, bytes: number): void;
  watchEvents(group: string, version: string, resource: string, count: number, bytes: number): void;
  /** Records a request for a deprecated version. */
  deprecatedRequested(asked: DeprecatedApi): void;
  /** Records the start of a watch. Call the returned function when it ends. */
  watchStarted(context: RequestContext): () => void;
}

/** What reads may show while the store does not answer (docs/design/outage.md). */
export interface OutageReads {
  /** How long the store has not answered, in milliseconds; undefined while it does. */
  readonly age: number | undefined;
  /** Says that the store does not answer, and for how long. */
  readonly reason: string;
  /** True if gets and lists without a resourceVersion show what memory has. */
  readonly staleReads: boolean;
  /** Returns the type whose objects tell of the outage; undefined if there is none, or if the outage may be a failover. */
  telling?(): TellingOfOutage | undefined;
  /** Reports whether the cluster is deleting a namespace, so that no object can be created in it. */
  isTerminating(namespace: string): boolean;
  /** Remembers that memory had no object of a type in a namespace, to check that once the store answers. False if there is no room. */
  shownEmpty(namespace: string, type: GroupResource): boolean;
}

/** A type whose objects tell of an outage that lasts: its gets and lists without a resourceVersion show what memory has. */
export interface TellingOfOutage {
  readonly type: GroupResource;
  /** Returns the object with a condition that tells of the outage. */
  shown(object: CachedObject): CachedObject;
}

/** Runs large writes, and the expensive part of large reads, on worker threads. */
export interface Offload {
  /** Writes whose validation rules took too long on the main thread. */
  readonly expensive: ExpensiveWrites<ServedVersion>;
  /** Reports whether to offload a request for this type with the given weight, in bytes. */
  takes(scope: OffloadScope, weight: number): boolean;
  /** Does all the work of the handler and writes the response. Throws what the handler would throw. */
  run(scope: OffloadScope, body: Buffer): Promise<void>;
  /** Writes the response to a request for an object that was read. */
  read(scope: OffloadScope, object: StoredObject): Promise<void>;
  /** Encodes an item of a list in the requested form. */
  item(scope: OffloadScope, object: StoredObject, form: ItemForm): Promise<Uint8Array>;
  /** Builds a description of a group version for OpenAPI. */
  describe(what: Description, gv: OpenApiGroupVersion): Promise<Uint8Array>;
}

/** A request on its way through a router. */
export interface RoutedRequest {
  readonly environment: HandlerEnvironment;
  readonly context: RequestContext;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/** A request for a kind, once a router has accepted it. `S` is what its handler asks of the kind's storage. */
export interface KindScope<S> extends RoutedRequest {
  readonly served: ServedKind;
  readonly storage: S;
  readonly subresource: string;
  readonly codec: Codec;
}

/** A request whose work may be offloaded to a worker thread. */
export interface OffloadScope extends KindScope<OffloadableWriter> {
  readonly served: ServedVersion;
}

/** A request for a stored resource, or for a subresource that writes the same object. */
export interface RequestScope extends KindScope<StandardStorage>, ServedSubresource {
  readonly served: ServedVersion;
}

/** Reports whether work for a request may be offloaded: only stored kinds are known to workers. */
export const isOffloadable = (scope: KindScope<object>): scope is OffloadScope => 'backend' in scope.storage;

/** Builds the scope of a request for a type, or for a subresource with a strategy and a field manager of its own. */
export function requestScope(
  { served, storage }: Pick<RequestScope, 'served' | 'storage'>,
  { strategy, fieldManager }: ServedSubresource,
  codec: Codec,
  { environment, context, request, response }: RoutedRequest,
): RequestScope {
  // Use one literal with all members: V8 gives every object built by spreading and adding members a hidden class of its own,
  // which slows every later access.
  return {
    environment,
    context,
    request,
    response,
    served,
    storage,
    subresource: context.info.subresource,
    strategy,
    fieldManager,
    codec,
  };
}
