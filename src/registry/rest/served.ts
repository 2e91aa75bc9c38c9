import type { DetailedJson } from '../../apimachinery/json/decode.js';
import type { JsonObject } from '../../apimachinery/json/json.js';
import type { GroupResource, GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import type { FieldNames } from '../../apimachinery/selectors/field-selectors.js';
import type { CachedObject } from '../../storage/cacher/interfaces.js';
import type { FieldManager } from '../../managedfields/field-manager.js';
import type { AttributeVersions, VersionedResource } from '../../admission/interfaces.js';
import type { ApiResourceEntry, ResourceType, ServedSubresource, VersionView } from './interfaces.js';
import type { Creater, Getter, Patcher, Updater } from './storage.js';
import type { MaybePromise } from '../../util/maybe-promise.js';

export interface DecodedObject {
  readonly object: KubeObject;
  /** `duplicate field "spec.a"`, `unknown field "spec.foo"`, in kube-apiserver's order. Empty unless decoding is strict. */
  readonly strictErrors: readonly string[];
}

/** A create-only subresource with what its handler needs. */
export interface ServedCreateOnlySubresource extends Pick<
  ServedVersion,
  'gvk' | 'groupVersion' | 'decode' | 'fieldManager'
> {
  readonly storage: Creater;
}

/** The paths of the scale subresource's values in an object, as lists of keys. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  readonly labelSelector: readonly string[] | undefined;
  /** `specReplicas` as written in the definition. */
  readonly specReplicasPath: string;
  /** The path of the replicas in each version of the type (`group/version`), or null if the version has no scale. */
  readonly byVersion: Readonly<Record<string, readonly string[] | null>>;
  /** The field manager of autoscaling/v1 Scale objects. */
  readonly fieldManager: FieldManager;
}

/** A definition in the form that another thread needs to serve it. */
export interface OffloadableDefinition {
  /** Unique for each state of the definition. */
  readonly id: string;
  /** The type's name in the store. */
  readonly resource: string;
  /** Returns the Definition, serialized by node:v8. */
  serialized(): Uint8Array;
  /** Aborts when the definition has changed or is gone: writes prepared under it must not be committed. */
  readonly retired: AbortSignal;
  /**
   * Sends the body of a ConversionReview to the conversion webhook and resolves with the body of its response; undefined if there
   * is no webhook.
   */
  readonly review: ((body: string) => Promise<string>) | undefined;
}

/** A type as webhooks and policies see it. They may use another version of it than the request. */
export interface AdmissionView {
  /** Returns all versions of the type that have the subresource, in the order of its definition. */
  equivalents(subresource: string): readonly VersionedResource[];
  /** See AttributeVersions. */
  readonly convert: AttributeVersions['convert'];
  readonly complete: AttributeVersions['complete'];
  readonly exchanged: AttributeVersions['onContentsReplaced'];
  readonly mergeType: AttributeVersions['mergeType'];
  /** Returns the schema of the kind's objects. That of a custom kind does not describe metadata. */
  schemaOf(kind: GroupVersionKind): JsonObject | undefined;
}

/** Decodes objects of a version, and converts them for the store. */
export interface StorageCodec {
  /**
   * Decodes a body, which it may modify, into an object of this version: checks types, drops unknown fields, sets defaults.
   * apiVersion and kind are the version's already, or absent. Throws DecodeError.
   */
  decode(body: DetailedJson, strict: boolean): DecodedObject;
  /** Returns the maximum number of values that defaults may add to an object that contains this many objects; 0 means few. */
  maxDefaultedValues(objects: number): number;
  /** Returns the stored form of an object of this version, which may share parts with it. Returns a promise if conversion has to wait. */
  toStorage(object: KubeObject): MaybePromise<JsonObject>;
  /** Returns the response of a dry run: the object as if it had been stored and read. */
  dryRunResult(object: KubeObject): MaybePromise<KubeObject>;
  /**
   * Resolves when all these objects can be shown without waiting for conversion. Objects read from the version's own store do not
   * need it. Absent if no conversion has to wait.
   */
  readonly prepare?: ((objects: Iterable<CachedObject>) => Promise<void>) | undefined;
}

export interface ServedSubresources {
  readonly subresources: Readonly<Record<string, ServedSubresource>>;
  /** The create-only subresources by name. */
  readonly createOnlySubresources: Readonly<Record<string, ServedCreateOnlySubresource>>;
  readonly scale: ScalePaths | undefined;
}

/** The additional properties of a version that comes from a definition. */
interface DefinedVersion {
  /** The definition for a worker thread, which can execute writes of the version. */
  readonly offloadable: OffloadableDefinition;
  /** Aborts when watches must end because the type is now served in another way. */
  readonly watchCancellation: AbortSignal;
}

/** One version of a kind with everything that reads, discovery and OpenAPI need: all that a computed kind has. */
export interface ServedKind extends VersionView {
  readonly gvk: GroupVersionKind;
  readonly groupResource: GroupResource;
  /** The verbs that discovery lists and handlers accept. */
  readonly verbs: readonly string[];
  /** The resource and its subresources, as discovery lists them. */
  readonly discovery: readonly ApiResourceEntry[];
  /** The field selectors that this version accepts. */
  readonly fieldNames: FieldNames;
  /** The schema of a custom kind; undefined for built-in ones, whose schemas are published, and for custom ones without a schema. */
  readonly openApiSchema: JsonObject | undefined;
}

/**
 * One version of a type with everything that handlers need to serve it. Strategies and schemas belong to the version, because
 * defaults, pruning and validation follow the version that the client uses.
 */
export interface ServedVersion extends ServedKind, StorageCodec, ServedSubresource, ServedSubresources {
  readonly type: ResourceType;
  /** The accepted content types of patches, in the order in which a 415 lists them. */
  readonly patchTypes: readonly string[];
  /** Runs a strategic merge patch, for built-in types. Throws ApiError, or JsonError if the result does not fit the type. */
  readonly strategicMerge?: (current: JsonObject, patch: JsonObject) => JsonObject;
  /** The type in its other versions, for admission. */
  readonly admission: AdmissionView;
  readonly definition: DefinedVersion | undefined;
}

/** The scale subresource of a version. */
export interface ServedScale {
  /** The version with the type Scale, for bodies, patches and responses. */
  readonly served: ServedVersion;
  /** Reads and writes Scales; a result is never stored as such. */
  readonly storage: Getter<KubeObject> & Updater & Patcher;
}
