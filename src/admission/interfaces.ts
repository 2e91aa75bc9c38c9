import type { UserInfo } from '../authentication/user/user.js';
import type { GroupResource, GroupVersionKind, GroupVersionResource, KubeObject } from '../apimachinery/meta/meta.js';
import type { JsonObject } from '../apimachinery/json/json.js';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** What a request wants to change (apiserver, admission.Attributes). */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Undefined for DELETE. Mutating plugins change it in place. */
  readonly object: KubeObject | undefined;
  /** Undefined for CREATE. Not to be changed. */
  readonly oldObject: KubeObject | undefined;
  readonly options: JsonObject;
  readonly dryRun: boolean;
  readonly user: UserInfo;
  readonly signal: AbortSignal;
  warn(text: string): void;
  annotate(key: string, value: string): void;
}

/** One admission plugin. Methods throw ApiError to refuse; they may answer at once. */
export interface AdmissionPlugin {
  readonly name: string;
  handles(operation: AdmissionOperation): boolean;
  /** Whether it looks at the objects of a resource, or only at what is asked for. Absent: it looks at all. */
  readsObjects?(resource: GroupResource): boolean;
  admit?(attributes: AdmissionAttributes): Promise<void> | void;
  validate?(attributes: AdmissionAttributes): Promise<void> | void;
}

/** All plugins in order: first every mutation, then (after validation) every check. */
export interface AdmissionChain {
  mutates(operation: AdmissionOperation): boolean;
  /** Whether any plugin looks at the object of such a change, which need not be there otherwise. */
  readsObjects(operation: AdmissionOperation, resource: GroupResource): boolean;
  admit(attributes: AdmissionAttributes): Promise<void> | void;
  validate(attributes: AdmissionAttributes): Promise<void> | void;
}
