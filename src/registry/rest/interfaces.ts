import type { ApiError } from '../../apimachinery/meta/errors.js';
import type { FieldError } from '../../apimachinery/meta/field-error.js';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import type { NameValidator } from '../../apimachinery/validation/names.js';
import type { FieldManager } from '../../managedfields/field-manager.js';
import type { RequestContext } from '../../request/context.js';
import type { Attributes, CachedObject, Representation } from '../../storage/cacher/interfaces.js';

/** A column of a Table (meta/v1 TableColumnDefinition). */
export interface TableColumn extends JsonObject {
  name: string;
  type: string;
  format: string;
  description: string;
  /** 0 is always shown, higher values only with `-o wide`. */
  priority: number;
}

/** An age within a text that contains nothing JSON would escape. */
export interface AgeText {
  readonly since: number;
  readonly before: string;
  readonly after: string;
}

/** Converts the objects of a type to the rows of a Table. */
export interface TableConvertor {
  readonly columns: readonly TableColumn[];
  /** Returns the cells of one object in the order of the columns. `now` is in milliseconds, for ages. */
  cells(object: KubeObject, now: number): JsonValue[];
  /** True if cells depend on `now` (ages printed by the server). Rows can then be cached only with `since`. */
  readonly timeDependent: boolean;
  /** True if cells show state that is neither in the object nor available to worker threads. */
  readonly mainThreadOnly?: boolean;
  /** True if an empty list has null rows, as kube-apiserver writes for types without a table of their own. */
  readonly emptyIsNull?: boolean | undefined;
  /**
   * Returns for each cell that shows an age the time (milliseconds since the epoch) from which it counts, and undefined for cells
   * that do not depend on `now`. Such a cell is `humanDuration(now - since)`, with text around it if it is an AgeText. With
   * `since`, rows are cached and only the ages are printed again.
   */
  since?(object: KubeObject): readonly (number | AgeText | undefined)[];
  /** Returns the conditions of an object's row, which give clients more detail than the cells; undefined if there are none. */
  conditions?(object: KubeObject): JsonValue | undefined;
}

/** Prepares and validates the objects of a kind before they are stored (apiserver, registry/rest). The functions modify `object` in place. */
export interface Strategy {
  /**
   * Checks before any other step the permissions beyond the request's own that the object would give away, as RBAC and policies with params
   * do; throws ApiError. `old` is undefined for a create.
   */
  checkEscalation?(context: RequestContext, object: KubeObject, old: KubeObject | undefined): Promise<void>;
  /** Clears the fields that a client may not set on creation, such as status. */
  prepareForCreate?(context: RequestContext, object: KubeObject): void;
  validateCreate(context: RequestContext, object: KubeObject): readonly FieldError[];
  warningsOnCreate?(context: RequestContext, object: KubeObject): readonly string[];
  prepareForUpdate?(context: RequestContext, object: KubeObject, old: KubeObject): void;
  validateUpdate(context: RequestContext, object: KubeObject, old: KubeObject): readonly FieldError[];
  warningsOnUpdate?(context: RequestContext, object: KubeObject, old: KubeObject): readonly string[];
  /** True if a PUT or apply to a name that does not exist creates the object. */
  readonly allowCreateOnUpdate: boolean;
  /** True if an update without resourceVersion is accepted. */
  readonly allowUnconditionalUpdate: boolean;
  /** Normalizes the object after validation. */
  canonicalize?(object: KubeObject): void;
  /** The fields that writes through this strategy reset and therefore cannot own: field paths like `status`, by apiVersion or `*`. */
  readonly resetFields?: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** True if objects have metadata.generation: it starts at 1 and grows when anything but metadata and status changes. */
  readonly hasGeneration?: boolean;
}

/** A subresource that writes the object it belongs to. */
export interface ServedSubresource {
  readonly strategy: Strategy;
  readonly fieldManager: FieldManager;
}

/** The treatment of dependents that a deletion asks for. */
export interface Propagation {
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: string | undefined;
}

/** Grace periods, additional steps and conditions of deletion, for types that have them (namespaces, CRDs, pods). */
export interface DeletionStrategy {
  /** Called before an object is removed. Returns the object to store if the removal has to wait, or undefined to remove it now. */
  beforeDelete?(context: RequestContext, object: KubeObject, propagation: Propagation): KubeObject | undefined;
  /** Returns the type's own error for a failed precondition. If absent, the common error is used. */
  preconditionFailed?(object: KubeObject, field: 'UID' | 'ResourceVersion', wanted: string, actual: string): ApiError;
  /** Returns the grace period in seconds, or undefined if the type has no graceful deletion. */
  gracePeriodSeconds?(object: KubeObject, asked: number | undefined): number | undefined;
  /**
   * Reports whether an update that leaves a deleted object without finalizers may remove it. A type may have more to wait for, such
   * as a namespace's own finalizers. If absent, it has not.
   */
  shouldDeleteDuringUpdate?(object: KubeObject): boolean;
  /** 'unsupported' means that such objects have no dependents, so that propagation policies have no effect. */
  readonly defaultGarbageCollection?: 'background' | 'orphan' | 'unsupported';
}

/** A create-only subresource with a kind of its own, such as the token of a service account. */
export interface CreateOnlySubresource {
  readonly gvk: GroupVersionKind;
  /** Sets defaults in place whenever an object is decoded. */
  applyDefaults?(object: KubeObject): void;
  /**
   * Creates the object, which has been decoded and has passed mutating admission. Its namespace is the request's; the rest of its
   * metadata is as sent. Calls `validate` (validating admission) after its own validation. Resolves with the response, or throws
   * ApiError.
   */
  create(
    context: RequestContext,
    object: KubeObject,
    parent: { readonly namespace: string; readonly name: string },
    validate: () => Promise<void>,
  ): Promise<KubeObject>;
}

/** The minor versions of Kubernetes 1 that introduced, deprecated and removed a version of a built-in type. */
export interface ApiLifecycle {
  readonly introduced?: number;
  readonly deprecated?: number;
  readonly removed?: number;
  /** The group, version and kind to use instead. */
  readonly replacement?: string;
}

/** One version of a served type. */
export interface ResourceVersion {
  readonly name: string;
  readonly served: boolean;
  readonly deprecated: boolean;
  /** The text of the Warning header for a deprecated version; undefined for the default text. */
  readonly deprecationWarning?: string | undefined;
  /** The release that no longer serves a deprecated version, such as 1.36; undefined if none is announced. */
  readonly removedRelease?: string | undefined;
  readonly lifecycle?: ApiLifecycle | undefined;
  readonly table: TableConvertor;
  /** The fields of the version that selectors may use besides name and namespace: `.spec.color` as `spec.color`. */
  readonly selectableFields: readonly string[];
}

/** The names of a kind, and what responses depend on. */
interface KindDescription {
  readonly group: string;
  /** The plural name, as in URLs. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** True if the kind comes with its schema at run time: from a definition, or computed. */
  readonly custom: boolean;
  /** True if Kubernetes has no Protobuf message for the type: custom types, and Annex's own built-in ones. */
  readonly noProtobuf?: boolean | undefined;
}

/**
 * A resource type: everything that handlers, discovery and OpenAPI need (DESIGN, Types). Built-in types are defined in
 * `registry/builtin/<group>/<resource>/`, all others by CustomResourceDefinitions at run time.
 */
export interface ResourceType extends KindDescription {
  readonly versions: readonly ResourceVersion[];
  readonly storageVersion: string;
  /** The path of the objects below `/registry` in kube-apiserver's messages; `group/resource` if absent. */
  readonly registryPath?: string | undefined;
  /** True if kube-apiserver reads the type without a watch cache: some errors differ, and no read waits for a future revision. */
  readonly uncached?: boolean | undefined;
  /** True for namespaces: for admission, each namespace is in itself. */
  readonly isNamespace?: boolean | undefined;
  /** Returns the labels and selectable fields of an object. */
  attributes(object: JsonObject): Attributes;
  validateName: NameValidator;
  readonly strategy: Strategy;
  /** The strategies of subresources that write the same object, such as `status`. */
  readonly subresources: Readonly<Record<string, Strategy>>;
  /** The create-only subresources of a built-in type, such as `token`. */
  readonly created?: Readonly<Record<string, CreateOnlySubresource>> | undefined;
  readonly deletion: DeletionStrategy;
  /** Sets the defaults of a built-in type in place, whenever an object is decoded. */
  applyDefaults?(object: KubeObject): void;
  /**
   * Set if a built-in type shares the objects of another one (events.k8s.io and core events): that type's name in the store, and
   * the conversions.
   */
  readonly storedAs?: StoredAs | undefined;
  /** The built-in type of another group with the same objects. Webhooks and policies that match one also apply to the other. */
  readonly twin?: Twin | undefined;
  /** True if a deletion returns the object instead of a Status. */
  readonly returnsDeletedObject?: boolean | undefined;
  /** The verbs of a built-in type in discovery's order, if it does not have all of them. */
  readonly verbs?: readonly string[] | undefined;
}

/** The type of the same name in another group. The results of conversions share parts with their arguments. */
interface Twin {
  readonly group: string;
  readonly version: string;
  toTwin(object: KubeObject): KubeObject;
  fromTwin(twin: KubeObject): KubeObject;
}

/** The conversions between the objects of one type and those of another as which they are stored. */
export interface StoredAs {
  readonly resource: string;
  /** Both conversions take ownership of their argument. */
  toStorage(object: KubeObject): KubeObject;
  fromStorage(stored: KubeObject): KubeObject;
}

/** An entry of discovery for a path below a group version. */
export interface ApiResourceEntry {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  /** Set only if they differ from the group version's (scale). */
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  readonly storageVersionHash?: string | undefined;
  /** The kind of the response, if it is not the resource's. */
  readonly responseKind?: { readonly group: string; readonly version: string; readonly kind: string } | undefined;
}

/** A served group with its versions in order of preference. Discovery and OpenAPI are built from it. */
export interface ApiGroup {
  readonly name: string;
  readonly preferredVersion: string;
  readonly versions: readonly ApiGroupVersion[];
}

export interface ApiGroupVersion {
  readonly version: string;
  readonly resources: readonly ApiResourceEntry[];
  /** True while a CRD's version was just added or is about to be removed (freshness in aggregated discovery). */
  readonly stale?: boolean;
  /** True if the types of this version come from definitions at run time; their discovery differs slightly. */
  readonly custom?: boolean;
}

/**
 * One version of a type. Created once per version and kept as long as the definition is unchanged. Handlers and response writers
 * build their representations on it; the ids of representations begin with `id`.
 */
export interface VersionView {
  readonly type: KindDescription;
  readonly version: ResourceVersion;
  readonly groupVersion: string;
  /** Distinguishes views of the same version under successive definitions. */
  readonly id: string;
  /** The whole object in this version (apiVersion, kind, …), for get responses and watch events. */
  readonly json: Representation;
  /** A list item: like `json`, but built-in types have no apiVersion and kind there, as in kube-apiserver. */
  readonly listItem: Representation;
  /** Returns the list item as a tree. */
  itemTree(object: CachedObject): JsonObject;
  /**
   * Returns a decoded copy in this version, with resourceVersion and defaults. Throws ConversionPending for an object that was not
   * read from the version's own store and must be converted remotely.
   */
  toObject(object: CachedObject): KubeObject;
}
