import type { AdmissionAttributes, AdmissionChain, AdmissionOperation } from '../../admission/interfaces.js';
import type { ProtobufCodec } from '../../apimachinery/protobuf/protobuf.js';
import type { KubeObject } from '../../apimachinery/meta/meta.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { Authorizer } from '../../authorization/authorizer/interfaces.js';
import type { FieldManager } from '../../managedfields/interfaces.js';
import type { ResourceStore } from '../../registry/generic/store/resource-store.js';
import type { Strategy } from '../../registry/rest/interfaces.js';
import type { ServedVersion } from '../../registry/rest/served.js';
import { admissionVersions } from '../../registry/generic/admission-versions.js';
import type { RequestContext } from '../../request/context.js';
import type { FeatureGates } from '../../util/feature-gates.js';
import type { StoredObject } from '../../storage/interfaces.js';
import type { Clock } from '../../util/clock.js';
import type { HttpRequest, HttpResponse } from '../http.js';
import type { Description } from '../openapi/parts.js';
import type { OpenApiGroupVersion } from '../openapi/source.js';
import type { ItemForm } from '../responsewriters/options.js';
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
  /** Of the built-in types. */
  readonly protobuf: ProtobufCodec;
  /** Absent: every write is done here. */
  readonly largeWrites?: LargeWrites | undefined;
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

/** Does large writes, and what large reads take, in another thread, so that the event loop has no long stretch of work. */
export interface LargeWrites {
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

/** One request for a stored resource, or a subresource of it that writes the same object. */
export interface RequestScope {
  readonly environment: HandlerEnvironment;
  readonly context: RequestContext;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly served: ServedVersion;
  readonly store: ResourceStore;
  readonly subresource: string;
  /** The type's strategy, or the subresource's. */
  readonly strategy: Strategy;
  readonly fieldManager: FieldManager;
}

/** The attributes of a change for admission. */
export function admissionAttributes(
  scope: RequestScope,
  operation: AdmissionOperation,
  name: string,
  object: KubeObject | undefined,
  oldObject: KubeObject | undefined,
  options: JsonObject,
): AdmissionAttributes {
  const { context, served } = scope;
  return {
    operation,
    kind: served.gvk,
    resource: { version: served.version.name, ...served.groupResource },
    subresource: scope.subresource,
    namespace: admissionNamespace(scope, name),
    name,
    object,
    oldObject,
    options,
    dryRun: context.dryRun,
    user: context.user,
    signal: context.signal,
    deadline: context.deadline,
    versions: admissionVersions(served, scope.subresource),
    warn: (text) => {
      context.warn(text);
    },
    annotate: (key, value, level) => {
      context.annotate(key, value, level);
    },
    waited: (layer, millis) => context.waitedForWebhook?.(layer, millis),
  };
}

/** A namespace is in itself, as far as admission is concerned. */
function admissionNamespace(scope: RequestScope, name: string): string {
  const { group, resource } = scope.served.groupResource;
  return group === '' && resource === 'namespaces' ? name : scope.context.info.namespace;
}
