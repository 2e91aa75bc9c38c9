import type { UserInfo } from '../authentication/user/user.js';
import type { GroupResource, GroupVersionKind, GroupVersionResource, KubeObject } from '../apimachinery/meta/meta.js';
import type { JsonObject } from '../apimachinery/json/json.js';
import type { FloatLiterals } from '../apimachinery/json/parser.js';
import type { AuditLevel } from '../request/audit.js';
import type { Type } from '../structured-merge-diff/schema/schema.js';
import type { Reinvocation } from './reinvocation.js';
import type { Cancellation } from '../util/cancellation.js';
import type { MaybePromise } from '../util/maybe-promise.js';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** A resource in one of its versions, with the kind that it has there. */
export interface VersionedResource {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
}

interface CompletionOptions {
  /** The literals of the numbers, where they are known. */
  readonly floats?: FloatLiterals;
  /** What does not fit the metadata of a custom resource is dropped, as when a stored object is read, instead of refused. */
  readonly dropsInvalidMetadata?: boolean;
}

/** The versions in which the objects of a request exist. */
export interface AttributeVersions {
  /** All versions under which the type has the request's subresource, the request's own among them, in kube-apiserver's order. */
  readonly equivalents: readonly VersionedResource[];
  /** The object in another version; what was given is not changed, but may be shared. Throws ApiError where a conversion webhook fails. */
  convert(object: KubeObject, kind: GroupVersionKind): MaybePromise<KubeObject>;
  /**
   * What a mutation made, as an object of the kind: types of built-in fields checked, unknown ones dropped, defaults set. Takes over
   * what it is given. Throws ApiError.
   */
  complete(changed: JsonObject, kind: GroupVersionKind, how?: CompletionOptions): KubeObject;
  /** The request's object has got the contents of one that a mutation made, which may have fields that are not to be stored. */
  exchanged(object: KubeObject): void;
  /** How the objects of the kind merge; undefined: nothing is known of it. */
  mergeType(kind: GroupVersionKind): Type | undefined;
}

/** What a request wants to change (apiserver, admission.Attributes). */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  /** The kind of `object` and `oldObject`: that of the request, as are `resource` and `subresource`. */
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Undefined for DELETE. Mutating plugins change it in place. */
  readonly object: KubeObject | undefined;
  /** Undefined for CREATE. Not to be changed. */
  readonly oldObject: KubeObject | undefined;
  /** CreateOptions, UpdateOptions or DeleteOptions with kind and apiVersion: those of what is done, not those of a patch. */
  readonly options: JsonObject;
  readonly dryRun: boolean;
  readonly user: UserInfo;
  readonly cancellation: Cancellation;
  /** For what cannot do with `cancellation`: it is made when it is first asked for, which costs. */
  readonly signal: () => AbortSignal;
  /** See RequestContext. */
  readonly deadline?: number | undefined;
  /** Absent: the kind has one version, and nobody changes its objects. */
  readonly versions?: AttributeVersions | undefined;
  /** Takes down how long webhooks took (milliseconds): it is no time of the server's own. */
  waited?(layer: 'mutating-webhook' | 'validating-webhook', millis: number): void;
  warn(text: string): void;
  /** `level`: from which level of the audit log on the annotation is shown; absent: always. */
  annotate(key: string, value: string, level?: AuditLevel): void;
}

/** One admission plugin. Methods throw ApiError to refuse; they may answer at once. */
export interface AdmissionPlugin {
  readonly name: string;
  handles(operation: AdmissionOperation): boolean;
  /** Whether it looks at the objects of a resource, or only at what is asked for. Absent: it looks at all. */
  readsObjects?(resource: GroupResource): boolean;
  /** Mutates. The chain gives `reinvocation`; it may call the plugin a second time with the same one. */
  admit?(attributes: AdmissionAttributes, reinvocation?: Reinvocation): MaybePromise<void>;
  validate?(attributes: AdmissionAttributes): MaybePromise<void>;
}

/** All plugins in order: first every mutation, then (after validation) every check. */
export interface AdmissionChain {
  mutates(operation: AdmissionOperation): boolean;
  /** Whether any plugin looks at the object of such a change, which need not be there otherwise. */
  readsObjects(operation: AdmissionOperation, resource: GroupResource): boolean;
  admit(attributes: AdmissionAttributes): MaybePromise<void>;
  validate(attributes: AdmissionAttributes): MaybePromise<void>;
}
