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

/** A resource in one of its versions, with its kind in that version. */
export interface VersionedResource {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
}

interface CompletionOptions {
  /** The literals of the numbers, if known. */
  readonly floats?: FloatLiterals;
  /** Invalid metadata of a custom resource is dropped, as when a stored object is read, instead of refused. */
  readonly dropsInvalidMetadata?: boolean;
  /** Unknown fields of a built-in type are refused instead of dropped. */
  readonly strict?: boolean;
}

/** The versions of a request's objects. */
export interface AttributeVersions {
  /** All versions in which the type has the request's subresource, including the request's own, in kube-apiserver's order. */
  readonly equivalents: readonly VersionedResource[];
  /**
   * Converts an object to another version. The input is not modified, but the result may share parts of it. Throws
   * ApiError if a conversion webhook fails.
   */
  convert(object: KubeObject, kind: GroupVersionKind): MaybePromise<KubeObject>;
  /**
   * Turns the result of a mutation into an object of the kind: checks the types of built-in fields, drops unknown
   * fields, sets defaults. Takes ownership of `changed`. Throws ApiError.
   */
  complete(changed: JsonObject, kind: GroupVersionKind, how?: CompletionOptions): KubeObject;
  /** Called after the request's object has received the result of a mutation, which may have fields that must not be stored. */
  onContentsReplaced(object: KubeObject): void;
  /** Returns the merge schema of the kind; undefined if the kind is unknown. */
  mergeType(kind: GroupVersionKind): Type | undefined;
}

/** The attributes of a request to admit (apiserver, admission.Attributes). */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  /** The kind of `object` and `oldObject`: the one of the request, as are `resource` and `subresource`. */
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Undefined for DELETE. Mutating plugins modify it in place. */
  readonly object: KubeObject | undefined;
  /** Undefined for CREATE. Must not be modified. */
  readonly oldObject: KubeObject | undefined;
  /** CreateOptions, UpdateOptions or DeleteOptions with kind and apiVersion: those of the operation, even if the request is a patch. */
  readonly options: JsonObject;
  readonly dryRun: boolean;
  readonly user: UserInfo;
  readonly cancellation: Cancellation;
  /** Returns a signal for consumers that cannot use `cancellation`. It is created on first use, which is expensive. */
  readonly signal: () => AbortSignal;
  /** See RequestContext. */
  readonly deadline?: number | undefined;
  /** Absent if the kind has only one version and its objects are never mutated. */
  readonly versions?: AttributeVersions | undefined;
  /** Records the milliseconds that webhooks took, which do not count as the server's own latency. */
  recordWebhookDuration?(layer: 'mutating-webhook' | 'validating-webhook', millis: number): void;
  warn(text: string): void;
  /** `level`: the lowest audit level at which the annotation is recorded; absent: every level. */
  annotate(key: string, value: string, level?: AuditLevel): void;
}

/** An admission plugin. Methods throw ApiError to refuse a request; they may return synchronously. */
export interface AdmissionPlugin {
  readonly name: string;
  handles(operation: AdmissionOperation): boolean;
  /** Reports whether the plugin reads the objects of a resource, not only the other attributes. Absent: it always reads them. */
  readsObjects?(resource: GroupResource): boolean;
  /** Mutates the object. The chain passes `reinvocation`, and may call the plugin a second time with the same one. */
  admit?(attributes: AdmissionAttributes, reinvocation?: Reinvocation): MaybePromise<void>;
  validate?(attributes: AdmissionAttributes): MaybePromise<void>;
}

/** All plugins in order: first every mutation, then (after validation of the object) every check. */
export interface AdmissionChain {
  mutates(operation: AdmissionOperation): boolean;
  /** Reports whether any plugin reads the object of such a request. If none does, the object need not be loaded. */
  readsObjects(operation: AdmissionOperation, resource: GroupResource): boolean;
  admit(attributes: AdmissionAttributes): MaybePromise<void>;
  validate(attributes: AdmissionAttributes): MaybePromise<void>;
}
