import type { DetailedJson } from '../../apimachinery/json/decode.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { GroupResource, GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import type { FieldNames } from '../../apimachinery/selectors/field-selectors.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { FieldManager } from '../../managedfields/interfaces.js';
import type { AttributeVersions, VersionedResource } from '../../admission/interfaces.js';
import type { ApiResourceEntry, CreatedSubresource, Strategy, VersionView } from './interfaces.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

export interface DecodedObject {
  readonly object: KubeObject;
  /** `duplicate field "spec.a"`, `unknown field "spec.foo"`, in kube-apiserver's order. Empty unless asked for. */
  readonly strictErrors: readonly string[];
}

export { DecodeError } from '../../apimachinery/decode-error.js';

/** How a subresource writes the object it belongs to. */
export interface ServedSubresource {
  readonly strategy: Strategy;
  readonly fieldManager: FieldManager;
}

/** A subresource that is only created, with what its handler needs. */
export interface ServedCreation extends Pick<ServedVersion, 'gvk' | 'groupVersion' | 'decode' | 'fieldManager'> {
  readonly subresource: CreatedSubresource;
}

/** Where the scale subresource finds its values in an object: paths without the leading dot. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  readonly labelSelector: readonly string[] | undefined;
  /** The same, as written in the definition. */
  readonly specReplicasPath: string;
  /** Where each version of the type (`group/version`) has its replicas; null: it has no scale. */
  readonly byVersion: Readonly<Record<string, readonly string[] | null>>;
  /** Field manager of autoscaling/v1 Scale objects. */
  readonly fieldManager: FieldManager;
}

/** What it takes to serve a definition in another thread. */
export interface OffloadableDefinition {
  /** Another one for each state of the definition. */
  readonly id: string;
  /** The Definition, by node:v8. */
  serialized(): Uint8Array;
  /** Aborts when the definition has changed or is gone: what was prepared under it must not be written. */
  readonly retired: AbortSignal;
  /** Asks the webhook that converts between versions, where there is one: the body of a ConversionReview, and that of the answer. */
  readonly review: ((body: string) => Promise<string>) | undefined;
}

/** A type as webhooks and policies see it, which may speak another version of it than the request. */
export interface AdmissionView {
  /** All versions of the type that have the subresource, in the order of its definition. */
  equivalents(subresource: string): readonly VersionedResource[];
  /** See AttributeVersions. */
  readonly convert: AttributeVersions['convert'];
  readonly complete: AttributeVersions['complete'];
  readonly exchanged: AttributeVersions['exchanged'];
  readonly mergeType: AttributeVersions['mergeType'];
  /** A copy of an object goes on in its place. */
  /** The schema of the kind's objects; that of a custom one says nothing of its metadata. */
  schemaOf(kind: GroupVersionKind): JsonObject | undefined;
}

/** How the objects of a version come in, and go into the store. */
export interface ObjectForm {
  /**
   * Makes an object of this version from a decoded body, which it may change: types checked, unknown fields dropped, defaults
   * set. apiVersion and kind are the version's already, or absent. Throws DecodeError.
   */
  decode(body: DetailedJson, strict: boolean): DecodedObject;
  /** How many values defaults may add to an object in which there are so many objects; 0: few. */
  mostDefaults(objects: number): number;
  /** The stored form of an object of this version. May share parts with it. A promise where conversion must be waited for. */
  toStorage(object: KubeObject): MaybePromise<JsonObject>;
  /** What a dry run answers: the object as if it had been stored and read. */
  dryRunResult(object: KubeObject): MaybePromise<KubeObject>;
  /**
   * Where conversions must be waited for: resolves when all these objects can be shown without. What comes out of the version's own
   * store needs it no more. Absent: nothing has to wait.
   */
  readonly prepare?: ((objects: Iterable<CachedObject>) => Promise<void>) | undefined;
}

export interface ServedSubresources {
  readonly subresources: Readonly<Record<string, ServedSubresource>>;
  /** Subresources that are only created, by name. */
  readonly created: Readonly<Record<string, ServedCreation>>;
  readonly scale: ScalePaths | undefined;
}

/** What only a version has that a definition describes. */
interface DefinedVersion {
  /** For another thread, which can do its writes. */
  readonly offloadable: OffloadableDefinition;
  readonly openApiSchema: JsonObject | undefined;
  /** Aborts when watches must end, because the type is now served in another way. */
  readonly watchesEnd: AbortSignal;
}

/**
 * One version of a type with everything that handlers need to serve it. Strategies and schemas belong to the version,
 * because defaults, pruning and validation follow the version that the client speaks.
 */
export interface ServedVersion extends VersionView, ObjectForm, ServedSubresource, ServedSubresources {
  readonly gvk: GroupVersionKind;
  readonly groupResource: GroupResource;
  /** Patch content types taken, in the order in which 415 lists them. */
  readonly patchTypes: readonly string[];
  /** Strategic merge patch for built-in types; throws ApiError, and JsonError where the result doesn't fit the type. */
  readonly strategicMerge?: (current: JsonObject, patch: JsonObject) => JsonObject;
  /** The verbs that discovery shows and handlers take. */
  readonly verbs: readonly string[];
  /** The resource and its subresources, as discovery lists them. */
  readonly discovery: readonly ApiResourceEntry[];
  /** What admission does with objects of this type in other versions. */
  readonly admission: AdmissionView;
  /** Which field selectors this version takes. */
  readonly fieldNames: FieldNames;
  readonly definition: DefinedVersion | undefined;
}

/** Why watches of a type end: another server is about to serve it, and clients have to list there. */
export class ServedElsewhere {
  constructor(
    /** Lists show no newer revision: the other server knows none of later. */
    readonly since: number,
  ) {}
}

/** Where a type is about to be served elsewhere, as the reason of `watchesEnd`. */
export function elsewhereOf(watchesEnd: AbortSignal | undefined): ServedElsewhere | undefined {
  const reason: unknown = watchesEnd?.reason;
  return reason instanceof ServedElsewhere ? reason : undefined;
}
