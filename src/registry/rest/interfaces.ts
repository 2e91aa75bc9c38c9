import type { ApiError } from '../../apimachinery/meta/errors.js';
import type { FieldError } from '../../apimachinery/meta/field-error.js';
import type { JsonObject, JsonValue } from '../../apimachinery/json/json.js';
import type { GroupVersionKind, KubeObject } from '../../apimachinery/meta/meta.js';
import type { NameValidator } from '../../apimachinery/validation/names.js';
import type { RequestContext } from '../../request/context.js';
import type { Attributes, CachedObject, Representation } from '../../storage/cacher/interfaces.js';

/** A column of a Table (meta/v1 TableColumnDefinition). */
export interface TableColumn extends JsonObject {
  name: string;
  type: string;
  format: string;
  description: string;
  /** 0 is always shown, higher ones with `-o wide`. */
  priority: number;
}

/** How a type is shown as a Table. */
/** An age within a text, which has nothing that JSON would escape. */
export interface AgeText {
  readonly since: number;
  readonly before: string;
  readonly after: string;
}

export interface TableConvertor {
  readonly columns: readonly TableColumn[];
  /** The cells of one object, in the order of the columns; `now` in milliseconds for ages. */
  cells(object: KubeObject, now: number): JsonValue[];
  /** Whether cells depend on `now` (ages printed by the server): then rows cannot be cached, unless there is `since`. */
  readonly timeDependent: boolean;
  /** Cells show what the object does not tell and worker threads do not know. */
  readonly mainThreadOnly?: boolean;
  /** kube-apiserver writes null for the rows of an empty list of types without a table of their own. */
  readonly emptyIsNull?: boolean | undefined;
  /**
   * For each cell that shows an age, the time (milliseconds since the epoch) from which it counts; undefined for the cells that
   * do not depend on `now`. Such a cell is `humanDuration(now - since)`, with texts around it where it is an AgeText. With it rows are
   * cached and only ages are printed again.
   */
  since?(object: KubeObject): readonly (number | AgeText | undefined)[];
  /** The conditions of an object's row, which tell clients more of it than the cells; undefined: there are none. */
  conditions?(object: KubeObject): JsonValue | undefined;
}

/** What a kind of object does on its way into the store (apiserver, registry/rest). Functions change `object` in place. */
export interface Strategy {
  /** Asks for permissions beyond the request's own (RBAC's escalation guard), before anything else; throws ApiError. `old` undefined: a create. */
  guard?(context: RequestContext, object: KubeObject, old: KubeObject | undefined): Promise<void>;
  /** Clears what a client may not set at creation (status, say). */
  prepareForCreate(context: RequestContext, object: KubeObject): void;
  validateCreate(context: RequestContext, object: KubeObject): readonly FieldError[];
  warningsOnCreate?(context: RequestContext, object: KubeObject): readonly string[];
  prepareForUpdate(context: RequestContext, object: KubeObject, old: KubeObject): void;
  validateUpdate(context: RequestContext, object: KubeObject, old: KubeObject): readonly FieldError[];
  warningsOnUpdate?(context: RequestContext, object: KubeObject, old: KubeObject): readonly string[];
  /** A PUT or apply to a name that does not exist creates it. */
  readonly allowCreateOnUpdate: boolean;
  /** An update without resourceVersion is taken. */
  readonly allowUnconditionalUpdate: boolean;
  /** Normalizes after validation. */
  canonicalize?(object: KubeObject): void;
  /** Fields that writes through this strategy reset and therefore cannot own: field paths like `status`, by apiVersion or `*`. */
  readonly resetFields?: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** Generates metadata.generation: starts at 1, grows when something but metadata and status changes. */
  readonly hasGeneration?: boolean;
}

/** What a deletion asks for the dependents. */
export interface Propagation {
  readonly orphanDependents: boolean | undefined;
  readonly propagationPolicy: string | undefined;
}

/** Grace, extra steps and conditions of deletion for types that have them (namespaces, CRDs, pods). */
export interface DeletionStrategy {
  /** Called instead of plain removal when the object should wait; returns the object to be stored, or undefined to remove. */
  beforeDelete?(context: RequestContext, object: KubeObject, propagation: Propagation): KubeObject | undefined;
  /** The type's own words for a precondition that fails; absent: the common ones. */
  preconditionFailed?(object: KubeObject, field: 'UID' | 'ResourceVersion', wanted: string, actual: string): ApiError;
  /** Seconds of grace wanted; undefined: the type has no graceful deletion. */
  gracePeriodSeconds?(object: KubeObject, asked: number | undefined): number | undefined;
  /**
   * An update that leaves a deleted object without finalizers removes it; a type may have more to wait for (a namespace's own
   * finalizers). Absent: nothing more.
   */
  mayDeleteDuringUpdate?(object: KubeObject): boolean;
  /** Name, in the store, of a type whose object of the same name goes with the object: nobody else would remove it. */
  readonly takesAlong?: string;
  /** 'unsupported': nothing depends on such objects, and no propagation policy has an effect. */
  readonly defaultGarbageCollection?: 'background' | 'orphan' | 'unsupported';
}

/** A subresource that is only created, and is an object of a kind of its own: a token of a service account. */
export interface CreatedSubresource {
  readonly gvk: GroupVersionKind;
  /** Sets defaults in place whenever an object is decoded. */
  applyDefaults?(object: KubeObject): void;
  /**
   * `object` was decoded and went through mutating admission; its namespace is that of the request, the rest of its metadata is
   * as sent. Calls `validate` (validating admission) when its own validation is done. Returns the answer, or throws ApiError.
   */
  create(
    context: RequestContext,
    object: KubeObject,
    parent: { readonly namespace: string; readonly name: string },
    validate: () => Promise<void>,
  ): Promise<KubeObject>;
}

/** Minor versions of Kubernetes 1 that brought, deprecated and removed a version of a built-in type. */
export interface ApiLifecycle {
  readonly introduced?: number;
  readonly deprecated?: number;
  readonly removed?: number;
  /** Group version and kind to use instead. */
  readonly replacement?: string;
}

/** One version of a served type. */
export interface ResourceVersion {
  readonly name: string;
  readonly served: boolean;
  readonly deprecated: boolean;
  /** The text of the Warning header for a deprecated version; undefined: the default text. */
  readonly deprecationWarning?: string | undefined;
  /** The release that does not serve a deprecated version any more, 1.36 for instance; undefined: nobody has said. */
  readonly removedRelease?: string | undefined;
  readonly lifecycle?: ApiLifecycle | undefined;
  readonly table: TableConvertor;
  /** The version's fields that selectors may use, beside name and namespace: `.spec.color` as `spec.color`. */
  readonly selectableFields: readonly string[];
}

/**
 * A resource type: everything that handlers, discovery and OpenAPI must know (DESIGN, Types). Built-in ones are made by
 * `registry/<group>/<resource>/`, the others by CustomResourceDefinitions at run time.
 */
export interface ResourceType {
  readonly group: string;
  /** Plural name, as in URLs. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly versions: readonly ResourceVersion[];
  readonly storageVersion: string;
  /** Where kube-apiserver's messages say that objects are, below `/registry`; absent: `group/resource`. */
  readonly registryPath?: string | undefined;
  /** kube-apiserver reads the type without a cache: some refusals differ, and nothing waits for a future version. */
  readonly uncached?: boolean | undefined;
  /** The version that discovery's storageVersionHash tells of, where kube-apiserver stores another one. */
  readonly announcedStorageVersion?: string | undefined;
  readonly custom: boolean;
  /** Its objects are the namespaces: to admission each is in itself. */
  readonly isNamespace?: boolean | undefined;
  /** Labels and selectable fields of an object. */
  attributes(object: JsonObject): Attributes;
  validateName: NameValidator;
  readonly strategy: Strategy;
  /** Strategies of subresources that write the same object: `status`. */
  readonly subresources: Readonly<Record<string, Strategy>>;
  /** Subresources of a built-in type that are only created: `token`. */
  readonly created?: Readonly<Record<string, CreatedSubresource>> | undefined;
  readonly deletion: DeletionStrategy;
  /** Sets the defaults of a built-in type in place, whenever an object is decoded. */
  applyDefaults?(object: KubeObject): void;
  /** A built-in type that shares another one's objects (events.k8s.io and core events): the store's name of that type, and how to convert. */
  readonly storedAs?: StoredAs | undefined;
  /** The built-in type of another group that has the same objects: webhooks and policies for one are about the other, too. */
  readonly twin?: Twin | undefined;
  /** Whether a deletion answers with the object instead of a Status. */
  readonly returnsDeletedObject?: boolean | undefined;
  /** A built-in type of Annex itself, for which Kubernetes has no Protobuf message. */
  readonly noProtobuf?: boolean | undefined;
  /** Verbs of a built-in type, in discovery's order, where they are not all. */
  readonly verbs?: readonly string[] | undefined;
}

/** A type of the same name in another group. Conversions share parts with what they are given. */
export interface Twin {
  readonly group: string;
  readonly version: string;
  toTwin(object: KubeObject): KubeObject;
  fromTwin(twin: KubeObject): KubeObject;
}

/** How the objects of one type are kept as those of another. */
export interface StoredAs {
  readonly resource: string;
  /** Both take over what they are given. */
  toStorage(object: KubeObject): KubeObject;
  fromStorage(stored: KubeObject): KubeObject;
}

/** `name` of what `categories`, discovery and `kubectl api-resources` show for a path below a group version. */
export interface ApiResourceEntry {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  /** Only where they differ from the group version's (scale). */
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  readonly storageVersionHash?: string | undefined;
  /** Kind of the answer where it is not the resource's. */
  readonly responseKind?: { readonly group: string; readonly version: string; readonly kind: string } | undefined;
}

/** A served group with its versions, in the order of preference; what discovery and OpenAPI are made of. */
export interface ApiGroup {
  readonly name: string;
  readonly preferredVersion: string;
  readonly versions: readonly ApiGroupVersion[];
}

export interface ApiGroupVersion {
  readonly version: string;
  readonly resources: readonly ApiResourceEntry[];
  /** False while a CRD's version was just added or is about to go (aggregated discovery's freshness). */
  readonly stale?: boolean;
  /** The types of this version are made by definitions at run time; discovery answers for them in slightly other ways. */
  readonly custom?: boolean;
}

/**
 * A type as one of its versions shows it. Made once per version and kept while the definition stands; handlers and response
 * writers build their representations on it. The ids of representations begin with `id`.
 */
export interface VersionView {
  readonly type: ResourceType;
  readonly version: ResourceVersion;
  readonly groupVersion: string;
  /** Distinguishes views of the same version under successive definitions. */
  readonly id: string;
  /** The whole object in this version (apiVersion, kind, …): answers to get, watch events. */
  readonly json: Representation;
  /** An item of a list: as `json`, but built-in types have no apiVersion and kind there, as in kube-apiserver. */
  readonly listItem: Representation;
  /** The same as a tree. */
  itemTree(object: CachedObject): JsonObject;
  /**
   * A decoded copy in this version, resourceVersion included, defaults applied. Throws ConversionPending for an object that did not
   * come out of the version's own store and must be converted remotely.
   */
  toObject(object: CachedObject): KubeObject;
}
